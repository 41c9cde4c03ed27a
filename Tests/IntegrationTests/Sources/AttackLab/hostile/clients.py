"""Clients that attack the server at --port."""
import select
import socket
import threading
import time

from hostile import Connection, Gone

CONNECTIONS = 64


def connect(peer):
    while True:
        try:
            return Connection(peer, socket.create_connection(("127.0.0.1", peer.victim_port)))
        except OSError:
            time.sleep(0.01)


def attacks(attack, width=1, measures=False):
    """Runs `attack(connection)` on `width` connections at once, and again whenever the server ends one.

    A bounded peer attacks once on each.
    """

    def run(peer):
        starts = set()

        def go():
            while True:
                connection = connect(peer)
                start = time.monotonic()
                starts.add(start)
                try:
                    attack(connection)
                except Gone:
                    pass
                starts.discard(start)
                connection.socket.close()
                if peer.is_bounded:
                    return

        def watch():
            while True:
                time.sleep(0.1)
                for start in list(starts):
                    peer.lived(start)

        if measures:
            threading.Thread(target=watch, daemon=True).start()
        peer.say("ready", 0)
        threads = [threading.Thread(target=go, daemon=True) for _ in range(width)]
        for thread in threads:
            thread.start()
        if peer.is_bounded:
            for thread in threads:
                thread.join(10)
            peer.say("done")

    return run


def wait_for_end(connection):
    """Waits until the server has closed its end, and reads nothing.

    The end of the stream follows unread bytes, so only the kernel's table shows it.
    """
    own = ":%04X" % connection.socket.getsockname()[1]
    established = "01"

    def is_held():
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(table) as lines:
                for line in lines:
                    words = line.split()
                    if words[2].endswith(own) and words[3] == established:
                        return True
        return False

    while is_held():
        time.sleep(0.1)


def drips(start, block):
    def attack(connection):
        connection.send(start)
        poll = select.poll()
        poll.register(connection.socket, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
        while True:
            for byte in block:
                connection.send(bytes([byte]))
                if poll.poll(50):
                    return

    return attack


def floods(start, block):
    def attack(connection):
        connection.send(start)
        connection.flood(block)

    return attack


def pipelines(connection):
    """Sends requests as fast as possible, and reads the responses."""

    def read():
        try:
            while connection.socket.recv(1 << 16):
                pass
        except OSError:
            pass

    threading.Thread(target=read, daemon=True).start()
    connection.flood(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")


def never_reads(connection):
    connection.send(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n" * 4)
    wait_for_end(connection)


def comes_and_goes(connection):
    for _ in range(100):
        other = connect(connection.peer)
        other.send(b"GET / HT")
        other.socket.close()


POST = b"POST / HTTP/1.1\r\nHost: a\r\n"

MODES = {
    "server-head-drip": attacks(drips(b"GET / HTTP/1.1\r\n", b"X-A: b\r\n"), CONNECTIONS, measures=True),
    "server-body-drip": attacks(drips(POST + b"Content-Length: 100000\r\n\r\n", b"x"), CONNECTIONS, measures=True),
    "server-handshake-drip": attacks(
        drips(b"", b"\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03" + bytes(16000)), CONNECTIONS, measures=True),
    "server-never-reads": attacks(never_reads, 16, measures=True),
    "server-fields": attacks(floods(b"GET / HTTP/1.1\r\n", b"X-A: b\r\n"), 4),
    "server-empty-lines": attacks(floods(b"", b"\r\n"), 4),
    "server-pipelining": attacks(pipelines, 2),
    "server-one-chunk-per-byte": attacks(
        floods(POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"), 2),
    "server-connections": attacks(comes_and_goes, 2),
}
