"""The servers of the fault lab: web servers, name servers, proxies, an FTP server, each with one fault.

    world.py CERTIFICATES

runs in the network of the servers. Which address and port has which fault, the tables below say. The last thing
that it does is to answer DNS at 198.51.100.60.
"""

import email.utils
import socket
import ssl
import struct
import sys
import threading

WEB, WEB6, PROXY = "198.51.100.7", "2001:db8:2::7", "198.51.100.99"
NAME, NAME6 = "www.peers.test", "six.peers.test"


def serve(address, port, handle, context=None):
    """Serves each connection on its own thread; an error in one does not affect the others."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(32)

    def talk(connection):
        try:
            with connection:
                if context:
                    connection = context.wrap_socket(connection, server_side=True)
                handle(connection)
        except OSError:
            pass

    def accept():
        while True:
            threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


# HTTP


def head_of(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
        if not data[:1].isalpha():  # not HTTP: a TLS or SOCKS client
            return answer(connection, "400 Bad Request")
    return data


PAGES = {
    "/": "200 OK",
    "/broken": "503 Service Unavailable",
    "/private": "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"lab\"",
    "/forbidden": "403 Forbidden",
    "/circle": "302 Found\r\nLocation: /round",
    "/round": "302 Found\r\nLocation: /circle",
    "/moved": "301 Moved Permanently\r\nLocation: https://www.example.com/",
    "/cookie": "302 Found\r\nSet-Cookie: seen=1\r\nLocation: /cookie",
}

# The decisions of proxy scripts.
SCRIPTS = {
    "/direct.pac": "return 'DIRECT';",
    "/proxy.pac": f"return 'PROXY {PROXY}:3128';",
    "/dead.pac": f"return 'PROXY {PROXY}:3199';",
    "/spare.pac": f"return 'PROXY {PROXY}:3199; PROXY {PROXY}:3128';",
    "/broken.pac": "return undefinedThing.name;",
    "/nonsense.pac": "return 'GOPHER somewhere';",
    "/endless.pac": "for (;;) {}",
}


def answer(connection, status, body=""):
    connection.sendall(f"HTTP/1.1 {status}\r\nDate: {email.utils.formatdate(usegmt=True)}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())


def web(connection):
    request = head_of(connection)
    if request:
        target = request.split()[1].decode()
        path = "/" + target.split("/", 3)[3] if "://" in target else target
        if path in SCRIPTS:
            answer(connection, "200 OK", f"function FindProxyForURL(url, host) {{ {SCRIPTS[path]} }}")
        else:
            answer(connection, PAGES.get(path, "404 Not Found"))


def always(status):
    return lambda connection: head_of(connection) and answer(connection, status)


def silent(connection):
    while connection.recv(65536):
        pass


def says(text):
    return lambda connection: (connection.sendall(text), silent(connection))


# Proxies


def relay(one, other):
    def copy(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    back = threading.Thread(target=copy, args=(other, one), daemon=True)
    back.start()
    copy(one, other)
    back.join()


def reach(host, port):
    known = {NAME: WEB, NAME6: WEB6}
    return socket.create_connection((known.get(host, host), port), timeout=5)


def http_proxy(connection):
    request = head_of(connection)
    if not request:
        return
    method, target, _ = request.decode().split(" ", 2)
    host, _, port = (target if method == "CONNECT" else target.split("/")[2] + ":80").partition(":")
    try:
        with reach(host, int(port.split(":")[0])) as other:
            if method == "CONNECT":
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                other.sendall(request)
            relay(connection, other)
    except OSError:
        answer(connection, "502 Bad Gateway")


def socks_proxy(connection):
    connection.recv(2)
    connection.recv(255)
    connection.sendall(b"\5\0")
    connection.recv(3)
    kind = connection.recv(1)[0]
    if kind == 3:
        host = connection.recv(connection.recv(1)[0]).decode()
    else:
        host = socket.inet_ntop(*((socket.AF_INET, connection.recv(4)) if kind == 1 else (socket.AF_INET6, connection.recv(16))))
    port, = struct.unpack("!H", connection.recv(2))
    try:
        with reach(host, port) as other:
            connection.sendall(b"\5\0\0\1" + bytes(6))
            relay(connection, other)
    except OSError:
        connection.sendall(b"\5\5\0\1" + bytes(6))


def socks_with_password(connection):
    connection.recv(255)
    connection.sendall(b"\5\xff")


# DNS

RIGHT = {NAME: (WEB, None), NAME6: (None, WEB6), "both.peers.test": (WEB, WEB6), "proxy.peers.test": (PROXY, None),
         "quiet.peers.test": (None, None)}
REFUSED, SERVFAIL = 5, 2


def zone(changes, others=None):
    """Answers from a table; `others` is the answer for names that do not exist."""
    table = RIGHT | changes
    return lambda name: table.get(name, others and (others, None))


def fails(code):
    return lambda name: code


SERVERS = {
    "198.51.100.53": zone({}),
    "198.51.100.54": zone({NAME: ("198.51.100.66", None)}),  # no listener there
    "198.51.100.55": fails(REFUSED),
    "198.51.100.56": fails(SERVFAIL),
    "198.51.100.57": zone({}, others="198.51.100.80"),  # a page of advertisements
    "198.51.100.59": zone({NAME: ("0.0.0.0", None)}),
    "198.51.100.60": zone({}),  # over UDP the answers for NAME are truncated, and there is no TCP
}


def reply(query, find, cut=False):
    end = 12
    labels = []
    while query[end]:
        labels.append(query[end + 1:end + 1 + query[end]].decode().lower())
        end += 1 + query[end]
    kind, = struct.unpack("!H", query[end + 1:end + 3])
    question = query[12:end + 5]
    found = find(".".join(labels))
    code, answers, flags = 0, b"", 0x8580
    if isinstance(found, int):
        code = found
    elif found is None:
        code = 3
    else:
        if cut and ".".join(labels) == NAME:
            flags |= 0x200
        elif kind == 1 and found[0]:
            answers = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton(found[0])
        elif kind == 28 and found[1]:
            answers = struct.pack("!HHHIH", 0xC00C, 28, 1, 60, 16) + socket.inet_pton(socket.AF_INET6, found[1])
    counts = struct.pack("!HHHH", 1, 1 if answers else 0, 0, 0)
    return query[:2] + struct.pack("!H", flags | code) + counts + question + answers


def name_server(address, find):
    cuts = address == "198.51.100.60"

    def over_tcp(connection):
        size, = struct.unpack("!H", connection.recv(2, socket.MSG_WAITALL))
        message = reply(connection.recv(size, socket.MSG_WAITALL), find)
        connection.sendall(struct.pack("!H", len(message)) + message)

    def over_udp():
        while True:
            query, client = udp.recvfrom(4096)
            udp.sendto(reply(query, find, cuts), client)

    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((address, 53))
    threading.Thread(target=over_udp, daemon=True).start()
    if not cuts:
        serve(address, 53, over_tcp)


# The tables


def certified(name, key=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{certificates}/{name}.pem", f"{certificates}/{key or name}.key")
    return context


certificates = sys.argv[1]

for place in WEB, WEB6:
    serve(place, 80, web)
    serve(place, 443, web, certified("good"))
for port, certificate in {8441: "expired", 8442: "not-yet-valid", 8443: "wrong-host", 8444: "unknown-root",
                          8445: "self-signed", 8449: "intercepted"}.items():
    serve(WEB, port, web, certified(certificate))
old = certified("good")
old.set_ciphers("ALL:@SECLEVEL=0")
old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1
serve(WEB, 8447, web, old)
choosy = certified("good")
choosy.verify_mode = ssl.CERT_REQUIRED
choosy.load_verify_locations(f"{certificates}/root.pem")
serve(WEB, 8448, web, choosy)
serve(WEB, 8450, silent)
serve(WEB, 8091, always("302 Found\r\nLocation: http://192.0.2.254/login?from=lab"))
serve(WEB, 8092, always("511 Network Authentication Required"))
serve(WEB, 8093, says(b"SSH-2.0-Lab\r\n"))
serve(WEB, 21, says(b"220 Lab\r\n"))
serve(WEB, 2121, says(b"421 Too many\r\n"))
serve("198.51.100.80", 80, always("200 OK"))

serve(PROXY, 3128, http_proxy)
serve(PROXY, 3129, always("407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"lab\""))
serve(PROXY, 3130, always("403 Forbidden"))
serve(PROXY, 3131, always("502 Bad Gateway"))
serve(PROXY, 80, always("405 Method Not Allowed"))
serve(PROXY, 1080, socks_proxy)
serve(PROXY, 1081, socks_with_password)

for address, find in SERVERS.items():
    name_server(address, find)

threading.Event().wait()
