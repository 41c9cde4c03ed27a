"""One hostile peer of the attack lab, at full speed, in a separate process.

usage: hostile.py MODE [--bytes N] [--port PORT]

Prints "ready PORT…" once it can be reached or is about to attack, then one line for each event that the lab judges:

    leaked WHAT      the victim sent what it must keep to itself
    lived SECONDS    the victim kept a connection of this peer for so long; printed when that is longer than before
    done             the budget of --bytes is used up

MODE is a name of one of the tables in http_peers.py, ftp_peers.py, datagram_peers.py, clients.py, http2_clients.py and http2_peers.py. --bytes bounds what one
connection is sent (the small rows of the tests); without it, only the victim ends the attack. --port is the victim's, for the
attacks on servers.
"""
import argparse
import os
import socket
import sys
import threading
import time

sys.dont_write_bytecode = True

PIECE = 1 << 16


class Gone(Exception):
    """The victim has closed the connection."""


class Budget:
    """The number of bytes that one connection may still send."""

    def __init__(self, limit):
        self.left = limit

    def take(self, count):
        self.left -= count
        if self.left <= 0:
            raise Gone


class Connection:
    """A connection with a victim."""

    def __init__(self, peer, connected):
        self.peer = peer
        self.socket = connected
        self.budget = Budget(peer.limit)
        self.received = b""
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            raise Gone from None
        self.budget.take(len(data))

    def flood(self, block):
        """Sends `block` repeatedly."""
        big = block * max(1, PIECE // len(block))
        while True:
            self.send(big)

    def drip(self, block, pause):
        """Sends `block` repeatedly, a byte at a time."""
        while True:
            for byte in block:
                self.send(bytes([byte]))
                time.sleep(pause)

    def read_until(self, end):
        while end not in self.received:
            self.read_more()
        part, self.received = self.received.split(end, 1)
        return part

    def read(self, count):
        while len(self.received) < count:
            self.read_more()
        part, self.received = self.received[:count], self.received[count:]
        return part

    def read_more(self):
        try:
            data = self.socket.recv(PIECE)
        except OSError:
            raise Gone from None
        if not data:
            raise Gone
        self.received += data


class Peer:
    """The operations of every mode."""

    def __init__(self, options):
        self.limit = options.bytes or 1 << 62
        self.is_bounded = options.bytes > 0
        self.victim_port = options.port
        self.longest = 0.0
        self.lock = threading.Lock()

    def say(self, *words):
        with self.lock:
            os.write(1, (" ".join(str(word) for word in words) + "\n").encode())

    def leaked(self, what):
        self.say("leaked", what)

    def lived(self, start):
        time_alive = time.monotonic() - start
        with self.lock:
            if time_alive <= self.longest:
                return
            self.longest = time_alive
        self.say("lived", f"{time_alive:.3f}")

    def listen(self, talk, host="127.0.0.1"):
        """Serves each connection with `talk(connection)` on a separate thread; returns the port."""
        listener = socket.create_server((host, 0), backlog=128)

        def serve(connected):
            try:
                talk(Connection(self, connected))
            except Gone:
                pass
            finally:
                connected.close()

        def accept():
            while True:
                connected, _ = listener.accept()
                threading.Thread(target=serve, args=(connected,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return listener.getsockname()[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode")
    parser.add_argument("--bytes", type=int, default=0)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    import clients
    import datagram_peers
    import ftp_peers
    import http2_clients
    import http2_peers
    import http_peers

    modes = {}
    for module in (http_peers, ftp_peers, datagram_peers, clients, http2_clients, http2_peers):
        modes.update(module.MODES)
    if options.mode not in modes:
        sys.exit(f"hostile.py: no mode '{options.mode}'")
    modes[options.mode](Peer(options))
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
