"""HTTP servers and proxies that attack their clients."""
import gzip
import socket
import struct
import threading
import zlib

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
GZIP = OK + b"Content-Encoding: gzip\r\n\r\n"
DEFLATE_START = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def zeros():
    """A piece of a deflate stream that decodes to 16 MiB of zeros and may be repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(bytes(16 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)


# The beginning of a response, and the block that is then repeated.
FLOODS = {
    "http-body": lambda: (OK + b"\r\n", b"x" * 65536),
    "http-body-one-chunk-per-byte": lambda: (CHUNKED, b"1\r\na\r\n"),
    "http-chunk-extension": lambda: (CHUNKED + b"1;a=", b"a" * 65536),
    "http-chunk-size": lambda: (CHUNKED, b"0" * 65536),
    "http-trailers": lambda: (CHUNKED + b"0\r\n", b"X-A: b\r\n"),
    "http-fields": lambda: (OK, b"X-A: b\r\n"),
    "http-line": lambda: (OK + b"X-A: ", b"a" * 65536),
    "http-empty-lines": lambda: (b"", b"\r\n"),
    "http-interim-responses": lambda: (b"", b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"),
    "gzip-empty-members": lambda: (GZIP, gzip.compress(b"")),
    "gzip-empty-blocks": lambda: (GZIP + DEFLATE_START, b"\x00\x00\x00\xff\xff"),
    "gzip-bomb": lambda: (GZIP + DEFLATE_START, zeros()),
    "gzip-of-gzip": lambda: (OK + b"Content-Encoding: " + b"gzip, " * 64 + b"gzip\r\n\r\n", gzip.compress(b"")),
    "login-body": lambda: (b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="r"\r\n\r\n', b"x" * 65536),
    "redirect-body": lambda: (b"HTTP/1.1 302 Found\r\nLocation: /next\r\n\r\n", b"x" * 65536),
    "proxy-head": lambda: (OK, b"X-A: b\r\n"),
    "proxy-login-body": lambda: (
        b'HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="r"\r\n\r\n', b"x" * 65536),
}

# The beginning of a response, and the block that is then sent a byte at a time.
DRIPS = {
    "http-head-drip": (OK, b"X-A: b\r\n"),
    "http-body-drip": (OK + b"\r\n", b"x"),
    "login-body-drip": (
        b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="r"\r\nContent-Length: 100000\r\n\r\n', b"x"),
    "redirect-body-drip": (b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 100000\r\n\r\n", b"x"),
}


def floods(start, block):
    def talk(connection):
        connection.read_until(b"\r\n\r\n")
        connection.send(start)
        connection.flood(block)

    return talk


def drips(start, block):
    def talk(connection):
        connection.read_until(b"\r\n\r\n")
        connection.send(start)
        connection.drip(block, 0.02)

    return talk


class Request:
    """A request that was read, with its body."""

    def __init__(self, connection):
        lines = connection.read_until(b"\r\n\r\n").split(b"\r\n")
        self.line = lines[0].decode("latin-1")
        self.fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            self.fields[name.decode("latin-1").lower()] = value.strip().decode("latin-1")
        self.body = connection.read(int(self.fields.get("content-length", 0)))


def answers(answer):
    """Serves requests until the victim disconnects; `answer(peer, request, number)` returns the response."""

    def talk(connection):
        number = 0
        while True:
            request = Request(connection)
            connection.send(answer(connection.peer, request, number))
            number += 1

    return talk


def response(status, *fields):
    lines = [f"HTTP/1.1 {status} X", *fields, "Content-Length: 0", "", ""]
    return "\r\n".join(lines).encode()


def redirects_for_ever(peer, request, number):
    return response(307, f"Location: /{number + 1}")


def challenges_for_ever(peer, request, number):
    return response(401, f'WWW-Authenticate: Digest realm="r{number}", nonce="{number}", qop="auth", algorithm=SHA-256')


def weakens_to_basic(peer, request, number):
    login = request.fields.get("authorization", "")
    if login.startswith("Basic"):
        peer.leaked("the password, as Basic after a Digest login")
        return response(200)
    scheme = 'Basic realm="r"' if login else 'Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256'
    return response(401, f"WWW-Authenticate: {scheme}")


def weakens_digest(peer, request, number):
    login = request.fields.get("authorization", "")
    strong = 'Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256'
    weak = 'Digest realm="r", nonce="m", stale=true'
    if "qop" not in login and login:
        peer.leaked("an MD5 response without qop after a SHA-256 login")
        return response(200)
    return response(401, f"WWW-Authenticate: {weak if login else strong}")


def asks_after_redirect(peer, request, number):
    if "authorization" in request.fields:
        peer.leaked("the default login of the netrc file, to a redirect's target")
        return response(200)
    return response(401, 'WWW-Authenticate: Basic realm="r"')


def requires_a_login(peer, request, number):
    return response(200 if "authorization" in request.fields else 401, 'WWW-Authenticate: Basic realm="r"')


SECRETS = ("authorization", "cookie", "cookie2", "x-api-key", "private-token", "proxy-authorization")


def looks_for_secrets(peer, request, number):
    for name in SECRETS:
        if name in request.fields:
            peer.leaked(f"the field {name}, to a redirect's target")
    if b"secret" in request.body:
        peer.leaked("the request's body, to a redirect's target")
    return response(200)


def looks_at_proxy_login(peer, request, number):
    if "proxy-authorization" in request.fields:
        peer.leaked("the proxy's password, before the proxy had asked")
    return response(200)


def socks_drip(connection):
    connection.read(3)
    connection.send(b"\x05\x00")
    connection.read(4)
    # A host name of 255 bytes, a byte at a time, forever.
    connection.drip(b"\x05\x00\x00\x03\xff" + b"a" * 10000, 0.2)


def honest(connection):
    """The server of the honest load: 64 KiB for each request."""
    body = bytes(65536)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    while True:
        connection.read_until(b"\r\n\r\n")
        try:
            connection.socket.sendall(head + body)
        except OSError:
            return


def listens(make_talk):
    def run(peer):
        peer.say("ready", peer.listen(make_talk()))

    return run


def redirects(target, first=response):
    """A first origin that redirects to a second one, which inspects the request."""

    def run(peer):
        second = peer.listen(answers(target))
        location = f"Location: http://localhost:{second}/"
        peer.say("ready", peer.listen(answers(lambda *_: response(307, location))), second)

    return run


MODES = {
    "honest": listens(lambda: honest),
    "redirect-loop": listens(lambda: answers(redirects_for_ever)),
    "login-open-prompt": listens(lambda: answers(requires_a_login)),
    "login-rounds": listens(lambda: answers(challenges_for_ever)),
    "login-weaker-scheme": listens(lambda: answers(weakens_to_basic)),
    "login-weaker-digest": listens(lambda: answers(weakens_digest)),
    "login-netrc-default": redirects(asks_after_redirect),
    "redirect-secrets": redirects(looks_for_secrets),
    "proxy-login-unasked": listens(lambda: answers(looks_at_proxy_login)),
    "socks-drip": listens(lambda: socks_drip),
}
for name, make in FLOODS.items():
    MODES[name] = listens(lambda make=make: floods(*make()))
for name, (start, block) in DRIPS.items():
    MODES[name] = listens(lambda start=start, block=block: drips(start, block))
