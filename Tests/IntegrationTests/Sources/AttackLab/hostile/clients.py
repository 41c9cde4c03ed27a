"""Clients that attack the server at --port."""
import resource
import select
import socket
import ssl
import threading
import time

from hostile import Connection, Gone

CONNECTIONS = 64
# More than the victim may have.
CROWD = 700


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


def discards_answers(connection):
    """Reads what comes back, in a thread of its own."""

    def read():
        try:
            while connection.socket.recv(1 << 16):
                pass
        except OSError:
            pass

    threading.Thread(target=read, daemon=True).start()


def reads_and_floods(connection, block):
    """Sends as fast as possible, and reads what comes back."""
    discards_answers(connection)
    connection.flood(block)


def pipelines(connection):
    reads_and_floods(connection, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")


def secured(attack):
    """The attack on a server with TLS, whose certificate does not matter here."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE

    def run(connection):
        try:
            connection.socket = context.wrap_socket(connection.socket, server_hostname="localhost")
        except OSError:
            raise Gone from None
        attack(connection)

    return run


def bursts(connection):
    """Sends requests in bursts, and reads some of the answers after each: no two threads may use one TLS connection."""
    while True:
        connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
        connection.read_more()
        connection.received = b""


def frames(*blocks):
    """A WebSocket client that sends the first frames once, and the last one as fast as possible."""

    def attack(connection):
        connection.send(
            b"GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
        for block in blocks[:-1]:
            connection.send(block)
        reads_and_floods(connection, blocks[-1])

    return attack


def frame(first, payload=b""):
    """A frame, masked with zeros. `first` is its first byte: the final bit and the opcode."""
    return bytes([first, 0x80 | len(payload)]) + bytes(4) + payload


def crowds(start):
    """Connects more often than the server can accept, sends `start`, and connects again whenever a connection ends."""

    def run(peer):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        peer.say("ready", 0)
        connections = []
        rounds = 1 if peer.is_bounded else 1 << 30
        for _ in range(rounds):
            while len(connections) < CROWD:
                connection = connect(peer)
                try:
                    connection.send(start)
                except Gone:
                    pass
                connection.socket.setblocking(False)
                connections.append(connection)
            time.sleep(0.05)
            connections = [connection for connection in connections if not has_ended(connection)]
        peer.say("done")

    return run


def has_ended(connection):
    try:
        return connection.socket.recv(1 << 16) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def requests_of_files(connection):
    """Requests a file, and reads it."""
    connection.send(
        b"GET /files/text.txt HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n")
    try:
        while connection.socket.recv(1 << 16):
            pass
    except OSError:
        pass


def many(attack):
    """As many connections as delay a loop that gives each of them a share of its own; two of a bounded peer."""

    def run(peer):
        attacks(attack, 2 if peer.is_bounded else 20)(peer)

    return run


def never_reads(connection):
    connection.send(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4)
    wait_for_end(connection)


def comes_and_goes(connection):
    for _ in range(100):
        other = connect(connection.peer)
        other.send(b"GET / HT")
        other.socket.close()


POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n"

MODES = {
    "server-head-drip": attacks(drips(b"GET / HTTP/1.1\r\n", b"X-A: b\r\n"), CONNECTIONS, measures=True),
    "server-body-drip": attacks(drips(POST + b"Content-Length: 100000\r\n\r\n", b"x"), CONNECTIONS, measures=True),
    "server-handshake-drip": attacks(
        drips(b"", b"\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03" + bytes(16000)), CONNECTIONS, measures=True),
    "server-never-reads": attacks(never_reads, 16, measures=True),
    "server-fields": attacks(floods(b"GET / HTTP/1.1\r\n", b"X-A: b\r\n"), 4),
    "server-empty-lines": attacks(floods(b"", b"\r\n"), 4),
    "server-pipelining": attacks(pipelines, 2),
    "server-pipelining-crowd": many(pipelines),
    "server-tls-pipelining-crowd": many(secured(bursts)),
    "server-one-chunk-per-byte": attacks(
        floods(POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"), 2),
    "server-one-chunk-per-byte-crowd": many(
        floods(POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n")),
    "server-websocket-pings": many(frames(frame(0x89))),
    "server-websocket-messages": many(frames(frame(0x82, b"a"))),
    "server-websocket-empty-frames": many(frames(frame(0x02), frame(0x00))),
    "server-silent": crowds(b""),
    "server-half-heads": crowds(b"GET / HT"),
    "server-no-bodies": crowds(POST + b"Content-Length: 1\r\n\r\n"),
    "server-event-streams": crowds(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "server-slow-disk": many(requests_of_files),
    "server-connections": attacks(comes_and_goes, 2),
}
