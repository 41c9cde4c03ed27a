"""The rows: their variants, placement and goals. This file is data only.

A goal is `METRIC <= NUMBER`, `METRIC <= NUMBER ns` or `METRIC <= NUMBER x VARIANT`. The metric is cpu, wall, memory (bytes per connection) or
instructions (of user code, per unit). Ratios compare medians of the same run.
"""

from dataclasses import dataclass, field

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@dataclass(frozen=True)
class Variant:
    name: str  # goals refer to it
    program: str
    row: str
    arguments: str = ""  # {size} and the placeholders of peers.py are replaced
    goals: tuple[str, ...] = ()
    system_authorities: bool = False  # trusts only the system's certificate file; ours is mounted over it for this run
    share: float = 1  # the part of the size that a slow rival processes; ratios are per unit


@dataclass(frozen=True)
class Group:
    id: str
    title: str
    unit: str
    size: int  # bytes if the unit is GiB, else operations
    quick_size: int
    variants: tuple[Variant, ...]
    placement: str = "free"  # split: client on one CPU, peers on the other; shared: all on one CPU; free: not pinned
    rounds: int = 7
    time_limit: int = 180  # seconds for one run; most take less than ten
    namespace: bool = False  # run with the name service of peers.NameService
    instruction_sizes: tuple[int, int] | None = None  # the slope between these two sizes is the cost per unit
    metrics: tuple[str, ...] = field(default=("cpu", "wall"))


OURS = "netkit-bench-ours"
FLOORS = "bench-floors"
TLS_FLOORS = "bench-floors-tls"
LIBCURL = "bench-libcurl"
FOUNDATION = "bench-foundation"
NIO = "bench-nio"
NIO_TLS = "bench-nio-tls"
AHC = "bench-ahc"
HUMMINGBIRD = "bench-hummingbird"
NGHTTP2 = "bench-nghttp2"
OURS_HTTP2 = "netkit-bench-http2"
NO_LOSS = "netkit-bench-no-loss"
LFTP = "lftp"
CFNETWORK = "bench-cfnetwork"

READ = "port={send} buffer=65536"
WRITE = "port={sink} buffer=65536 bytes={size}"
WRITE_QUEUED = "port={sink} buffer=1048576 bytes={size}"
PING = "port={echo} count={size} connections=1"
PING_32 = "port={echo} count={size} connections=32"
IDLE = "port={hold} connections={size}"
SCALE = "port={hold} echo={echo} connections={size}"
HTTP = "port={http} path=/1024 count={size}"
HTTP_URL = "url=http://127.0.0.1:{http}/1024 ca={ca} count={size}"
DIGEST_URL = "url=http://127.0.0.1:{digest}/%s/1024 ca={ca} count={size} user=bench password=open%%20sesame"
SERVING = "certificate={certificate} key={key} load-cpu={server-cpu} count={size}"
TLS_READ = "port={https} path={file} ca={ca}"
TLS_READ_URL = "url=https://localhost:{https}{file} ca={ca}"
HTTP2 = "port={http2} path=/1024 ca={ca} count={size}"
HTTP2_URL = "url=https://localhost:{http2}/1024 ca={ca} count={size}"
HTTP2_READ = "port={http2} path={file} ca={ca}"
HTTP2_READ_URL = "url=https://localhost:{http2}{file} ca={ca}"
HTTPS_URL = "url=https://localhost:{https}/1024 ca={ca} count={size}"
TLS_SHAKE = "port={https} path=/1024 ca={ca} count={size}"
TLS_SHAKE_URL = "url=https://localhost:{https}/1024 ca={ca} count={size}"
REQUEST = "file={data}/request.http count={size}"
RESPONSE = "file={data}/response.http count={size}"
REQUESTS = "file={requests} count={size}"
RESPONSES = "file={responses} count={size}"
HOSTS = "host={host-in-hosts} count={size}"
DNS = "host={host-in-dns} count={size}"
FTP_READ = "url=ftp://127.0.0.1:{ftp}{ftp-file} ca={ca} bytes={size}"
FTP_WRITE = "url=ftp://127.0.0.1:{ftp}/up/file ca={ca} bytes={size}"
FTP_FILES = "url=ftp://127.0.0.1:{ftp}/ ca={ca} count={size}"
FTP_LIST = "url=ftp://127.0.0.1:{ftp}/ ca={ca} count={ftp-many}"

BULK_INSTRUCTIONS = (64 * MIB, 192 * MIB)

GROUPS = (
    # 1. Socket throughput
    Group(
        "1a", "blocking read stream, plain TCP", "GiB", 4 * GIB, GIB // 2, placement="split", rounds=9,
        instruction_sizes=BULK_INSTRUCTIONS,
        variants=(
            Variant("C read", FLOORS, "read", READ),
            Variant("FileHandle", FOUNDATION, "read", READ),
            Variant("NIO handler", NIO, "read", READ),
            Variant("ours", OURS, "read", READ, goals=(
                "cpu <= 1.02 x C read", "wall <= 1.02 x C read", "instructions <= 1500")),
        ),
    ),
    Group(
        "1b", "async read stream, plain TCP", "GiB", 4 * GIB, GIB // 2, placement="split", rounds=9,
        instruction_sizes=BULK_INSTRUCTIONS,
        variants=(
            Variant("C read", FLOORS, "read", READ),
            Variant("NIO handler", NIO, "read", READ),
            Variant("NIOAsyncChannel", NIO, "read-async", READ),
            Variant("ours", OURS, "read-async", READ, goals=(
                "cpu <= 1.08 x C read", "cpu <= 0.90 x NIO handler", "cpu <= 0.70 x NIOAsyncChannel",
                "instructions <= 10000")),
        ),
    ),
    Group(
        "1c", "upload, plain TCP", "GiB", 4 * GIB, GIB // 2, placement="split", rounds=9,
        instruction_sizes=BULK_INSTRUCTIONS,
        variants=(
            Variant("C write", FLOORS, "write", WRITE),
            Variant("C writev 16", FLOORS, "writev", WRITE),
            Variant("NIO write and flush", NIO, "write", WRITE),
            Variant("ours", OURS, "write", WRITE, goals=("cpu <= 1.02 x C write",)),
            Variant("ours, async", OURS, "write-async", WRITE, goals=("cpu <= 1.02 x C write",)),
            Variant("ours, async, 1 MiB", OURS, "write-async", WRITE_QUEUED, goals=("cpu <= 0.90 x C write",)),
        ),
    ),
    # 2. Round trips and idle connections
    Group(
        "2a", "1-byte round trip, blocking", "round trip", 30_000, 10_000, placement="shared",
        instruction_sizes=(1_000, 4_000),
        variants=(
            Variant("C read and write", FLOORS, "ping", PING),
            Variant("ours", OURS, "ping", PING, goals=(
                "cpu <= 1.02 x C read and write", "wall <= 1.02 x C read and write")),
        ),
    ),
    Group(
        "2b", "1-byte round trip, async", "round trip", 30_000, 10_000, placement="shared",
        instruction_sizes=(1_000, 4_000),
        variants=(
            Variant("C read and write", FLOORS, "ping", PING),
            Variant("C epoll", FLOORS, "ping-epoll", PING),
            Variant("NIO handler", NIO, "ping", PING),
            Variant("NIOAsyncChannel", NIO, "ping-async", PING),
            Variant("ours", OURS, "ping-async", PING, goals=(
                "cpu <= 1.10 x C read and write", "cpu <= 0.95 x NIO handler", "cpu <= 0.40 x NIOAsyncChannel",
                "instructions <= 1500")),
        ),
    ),
    Group(
        "2c", "1-byte round trips, 32 connections at once", "round trip", 60_000, 20_000,
        instruction_sizes=(3_200, 12_800),
        variants=(
            Variant("C epoll", FLOORS, "ping-many", PING_32),
            Variant("NIO handler", NIO, "ping", PING_32),
            Variant("NIOAsyncChannel", NIO, "ping-async", PING_32),
            Variant("ours", OURS, "ping-async", PING_32, goals=("cpu <= 1.03 x C epoll",)),
        ),
    ),
    Group(
        "2d", "idle connections", "connection", 8_000, 1_000, rounds=3, metrics=("memory",),
        variants=(
            Variant("C epoll", FLOORS, "idle", IDLE),
            Variant("NIO handler", NIO, "idle", IDLE),
            Variant("NIOAsyncChannel and task", NIO, "idle-async", IDLE),
            Variant("ours", OURS, "idle", IDLE, goals=("memory <= 600",)),
            Variant("ours and suspended task", OURS, "idle-async", IDLE, goals=("memory <= 1638",)),
        ),
    ),
    Group(
        "scale", "10,000 idle connections and 1,000 active ones, two threads", "idle connection", 10_000, 1_000, rounds=3,
        metrics=("memory", "cpu", "wall"),
        variants=(
            Variant("ours", OURS, "scale", SCALE, goals=("memory <= 1638",)),
        ),
    ),
    # 3. TLS 1.3, AES-128-GCM, ECDSA P-256
    Group(
        "3a", "TLS 1.3 download from nginx", "GiB", GIB, GIB // 8, placement="split",
        instruction_sizes=(16 * MIB, 48 * MIB),
        variants=(
            Variant("C SSL_read", TLS_FLOORS, "read", TLS_READ + " buffer=65536 read-ahead=0"),
            Variant("C SSL_read, read-ahead", TLS_FLOORS, "read", TLS_READ + " buffer=65536 read-ahead=65536"),
            Variant("libcurl", LIBCURL, "read", TLS_READ_URL),
            Variant("NIOSSL handler", NIO_TLS, "read", TLS_READ),
            Variant("AHC delegate", AHC, "read-delegate", TLS_READ_URL),
            Variant("AHC async", AHC, "read-async", TLS_READ_URL),
            Variant("URLSession", FOUNDATION, "read-delegate", TLS_READ_URL, share=1 / 4, system_authorities=True),
            Variant("ours", OURS, "tls-read", TLS_READ, goals=(
                "cpu <= 1.00 x C SSL_read", "cpu <= 1.05 x C SSL_read, read-ahead", "cpu <= 0.90 x libcurl",
                "cpu <= 0.75 x AHC async", "cpu <= 0.25 x URLSession", "wall <= 1.00 x C SSL_read")),
            Variant("ours, async", OURS, "tls-read-async", TLS_READ, goals=("cpu <= 1.00 x C SSL_read",)),
        ),
    ),
    Group(
        "3b", "TLS 1.3 full handshake, GET of 1 KiB, close", "request", 500, 150, placement="split",
        instruction_sizes=(20, 60),
        variants=(
            Variant("C OpenSSL", TLS_FLOORS, "handshakes", TLS_SHAKE + " resume=0"),
            Variant("libcurl", LIBCURL, "handshakes", TLS_SHAKE_URL + " resume=0"),
            Variant("AHC", AHC, "handshakes", TLS_SHAKE_URL),
            Variant("ours", OURS, "tls-handshakes", TLS_SHAKE + " resume=0", goals=(
                "cpu <= 1.05 x C OpenSSL", "cpu <= 0.90 x AHC", "cpu <= 0.65 x libcurl")),
        ),
    ),
    Group(
        "3c", "TLS 1.3 resumed handshake, GET of 1 KiB, close", "request", 500, 150, placement="split",
        instruction_sizes=(20, 60),
        variants=(
            Variant("C OpenSSL", TLS_FLOORS, "handshakes", TLS_SHAKE + " resume=1"),
            Variant("libcurl", LIBCURL, "handshakes", TLS_SHAKE_URL + " resume=1"),
            Variant("AHC (cannot resume)", AHC, "handshakes", TLS_SHAKE_URL),
            Variant("ours", OURS, "tls-handshakes", TLS_SHAKE + " resume=1", goals=(
                "cpu <= 1.10 x C OpenSSL", "cpu <= 0.45 x libcurl", "cpu <= 0.42 x AHC (cannot resume)")),
        ),
    ),
    # 4. HTTP/1.1 requests
    Group(
        "4a", "keep-alive GET of 1 KiB from nginx, one at a time", "request", 10_000, 2_000, placement="split",
        instruction_sizes=(200, 1_000),
        variants=(
            Variant("C send and recv", FLOORS, "requests", HTTP),
            Variant("Swift send and recv", OURS, "bare-requests", HTTP),
            Variant("libcurl", LIBCURL, "requests", HTTP_URL),
            Variant("AHC", AHC, "requests", HTTP_URL + " connections=1", share=1 / 2),
            Variant("URLSession", FOUNDATION, "requests", HTTP_URL + " connections=1", share=1 / 5),
            Variant("ours", OURS, "requests", HTTP_URL, goals=(
                "cpu <= 1.12 x C send and recv", "cpu <= 0.85 x libcurl", "instructions <= 8000")),
            Variant("ours, async", OURS, "requests-async", HTTP_URL + " connections=1", goals=(
                "cpu <= 1.20 x C send and recv", "cpu <= 0.42 x AHC", "cpu <= 0.12 x URLSession",
                "instructions <= 8000")),
        ),
    ),
    Group(
        "4b", "keep-alive GET of 1 KiB from nginx, 32 at once", "request", 40_000, 8_000, placement="split",
        instruction_sizes=(320, 1_280),
        variants=(
            Variant("C epoll", FLOORS, "requests-many", HTTP + " connections=32"),
            Variant("Swift tasks", OURS, "bare-requests-async", HTTP + " connections=32"),
            Variant("libcurl multi", LIBCURL, "requests-many", HTTP_URL + " connections=32", share=1 / 2),
            Variant("AHC", AHC, "requests", HTTP_URL + " connections=32", share=1 / 4),
            Variant("URLSession", FOUNDATION, "requests", HTTP_URL + " connections=32", share=1 / 12),
            Variant("ours, async", OURS, "requests-async", HTTP_URL + " connections=32", goals=(
                "cpu <= 1.25 x C epoll", "cpu <= 0.80 x libcurl multi", "cpu <= 0.35 x AHC")),
        ),
    ),
    Group(
        "4c", "keep-alive GET of 1 KiB from lighttpd with Digest (SHA-256) and a known nonce, one at a time", "request",
        10_000, 2_000, placement="split", instruction_sizes=(200, 1_000),
        variants=(
            Variant("libcurl, no login", LIBCURL, "requests", DIGEST_URL % "open"),
            Variant("libcurl", LIBCURL, "digest", DIGEST_URL % "closed"),
            Variant("ours, no login", OURS, "session", DIGEST_URL % "open"),
            Variant("ours", OURS, "session", DIGEST_URL % "closed", goals=("cpu <= 1.00 x libcurl",)),
        ),
    ),
    # 5. HTTP messages
    Group(
        "5a", "parse a request head of 703 bytes, 9 fields, to an index of its parts", "message", 1_000_000, 200_000,
        instruction_sizes=(1_000, 5_000),
        variants=(
            Variant("C index", FLOORS, "parse-request", REQUEST),
            Variant("llhttp", NIO, "llhttp-request", REQUEST, share=1 / 2),
            Variant("NIOHTTP1", NIO, "parse-request", REQUEST, share=1 / 20),
            Variant("ours, index", OURS, "index-request", REQUEST, goals=(
                "cpu <= 1.00 x C index", "instructions <= 2700")),
        ),
    ),
    Group(
        "5b", "parse the same request head to a message that owns its bytes", "message", 1_000_000, 200_000,
        instruction_sizes=(1_000, 5_000),
        variants=(
            Variant("C index", FLOORS, "parse-request", REQUEST),
            Variant("NIOHTTP1", NIO, "parse-request", REQUEST, share=1 / 20),
            Variant("ours", OURS, "parse-request", REQUEST, goals=(
                "cpu <= 1.25 x C index", "cpu <= 0.0625 x NIOHTTP1")),
        ),
    ),
    Group(
        "5c", "parse a response head of 506 bytes, 12 fields", "message", 1_000_000, 200_000,
        instruction_sizes=(1_000, 5_000),
        variants=(
            Variant("C index", FLOORS, "parse-response", RESPONSE),
            Variant("llhttp", NIO, "llhttp-response", RESPONSE, share=1 / 2),
            Variant("NIOHTTP1", NIO, "parse-response", RESPONSE, share=1 / 40),
            Variant("ours, index", OURS, "index-response", RESPONSE, goals=("cpu <= 1.10 x C index",)),
            Variant("ours", OURS, "parse-response", RESPONSE, goals=("cpu <= 1.30 x C index",)),
        ),
    ),
    Group(
        "5d", "serialize a request head of 10 fields", "message", 1_000_000, 200_000,
        instruction_sizes=(1_000, 5_000),
        variants=(
            Variant("C memcpy", FLOORS, "serialize", "count={size}"),
            Variant("NIOHTTP1", NIO, "serialize", "count={size}", share=1 / 20),
            Variant("ours", OURS, "serialize", "count={size}", goals=(
                "cpu <= 2.50 x C memcpy", "cpu <= 0.05 x NIOHTTP1")),
        ),
    ),
    # 6. FTP, from and to vsftpd
    Group(
        "6a", "FTP download", "GiB", GIB, GIB // 8, placement="split",
        instruction_sizes=(16 * MIB, 48 * MIB),
        variants=(
            Variant("libcurl", LIBCURL, "read", FTP_READ),
            Variant("lftp", LFTP, "read", FTP_READ),
            Variant("ours", OURS, "ftp-read", FTP_READ, goals=("cpu <= 1.00 x libcurl", "cpu <= 1.00 x lftp")),
            Variant("ours, async", OURS, "ftp-read-async", FTP_READ, goals=("cpu <= 1.00 x libcurl",)),
        ),
    ),
    Group(
        "6b", "FTP upload", "GiB", GIB, GIB // 8, placement="split",
        instruction_sizes=(16 * MIB, 48 * MIB),
        variants=(
            Variant("libcurl", LIBCURL, "ftp-write", FTP_WRITE),
            Variant("lftp", LFTP, "write", FTP_WRITE),
            Variant("ours", OURS, "ftp-write", FTP_WRITE, goals=("cpu <= 1.00 x libcurl", "cpu <= 1.00 x lftp")),
        ),
    ),
    Group(
        "6c", "files of 1 KiB over FTP, one after the other on one session", "file", 2_000, 400, placement="split",
        variants=(
            Variant("libcurl", LIBCURL, "ftp-files", FTP_FILES),
            Variant("lftp", LFTP, "files", FTP_FILES),
            Variant("ours, async", OURS, "ftp-files", FTP_FILES, goals=(
                "cpu <= 1.00 x libcurl", "cpu <= 1.00 x lftp", "wall <= 1.00 x libcurl")),
        ),
    ),
    Group(
        "6d", "FTP listing of many entries (libcurl: its bytes only)", "entry", 50_000, 5_000, placement="split",
        variants=(
            Variant("libcurl, bytes", LIBCURL, "ftp-list", FTP_LIST),
            Variant("lftp", LFTP, "list", FTP_LIST),
            Variant("ours, async", OURS, "ftp-list", FTP_LIST, goals=("cpu <= 1.00 x lftp",)),
        ),
    ),
    Group(
        "6e", "parse lines of a listing to entries", "line", 50_000, 5_000,
        variants=(
            Variant("ours, ls", OURS, "ftp-parse", "format=unix count={size}"),
            Variant("ours, MLSD", OURS, "ftp-parse", "format=facts count={size}"),
        ),
    ),
    # 7. Host resolution
    Group(
        "7a", "resolve a name of /etc/hosts", "call", 10_000, 2_000, namespace=True,
        variants=(
            Variant("C getaddrinfo", FLOORS, "resolve", HOSTS + " threads=1 names=0 configured=0"),
            Variant("C, AI_ADDRCONFIG", FLOORS, "resolve", HOSTS + " threads=1 names=0 configured=1"),
            Variant("ours", OURS, "resolve", HOSTS, goals=("cpu <= 1.05 x C getaddrinfo",)),
        ),
    ),
    Group(
        "7b", "resolve a name by DNS (dnsmasq), blocking", "call", 5_000, 1_000, namespace=True,
        variants=(
            Variant("C getaddrinfo", FLOORS, "resolve", DNS + " threads=1 names=0 configured=0"),
            Variant("C, AI_ADDRCONFIG", FLOORS, "resolve", DNS + " threads=1 names=0 configured=1"),
            Variant("NIO", NIO, "resolve", DNS),
            Variant("ours", OURS, "resolve", DNS, goals=(
                "cpu <= 1.05 x C getaddrinfo", "wall <= 1.05 x C getaddrinfo")),
        ),
    ),
    Group(
        "7c", "resolve names by DNS (dnsmasq), many at once", "call", 6_400, 1_280, namespace=True,
        variants=(
            Variant("C getaddrinfo, 16 threads", FLOORS, "resolve", DNS + " threads=16 names=64 configured=0"),
            Variant("C getaddrinfo, 4 threads", FLOORS, "resolve", DNS + " threads=4 names=64 configured=0"),
            Variant("ours, async", OURS, "resolve-async", DNS, goals=(
                "wall <= 1.05 x C getaddrinfo, 16 threads",)),
        ),
    ),
    # 8. CFNetwork in C
    Group(
        "8a", "CFReadStream in C, plain TCP", "GiB", 4 * GIB, GIB // 2, placement="split", rounds=9,
        instruction_sizes=BULK_INSTRUCTIONS,
        variants=(
            Variant("C read", FLOORS, "read", READ),
            Variant("blocking", CFNETWORK, "read", READ, goals=("cpu <= 1.10 x C read",)),
            Variant("C source", CFNETWORK, "source", READ),
            Variant("run loop", CFNETWORK, "events", READ, goals=("cpu <= 2.00 x C read",)),
        ),
    ),
    Group(
        "8b", "one buffered byte of a response, with CFReadStreamRead", "byte", 1_000_000, 200_000,
        instruction_sizes=(20_000, 80_000),
        variants=(Variant("ours", CFNETWORK, "byte", "port={http} path={file} count={size}", goals=("cpu <= 400 ns",)),),
    ),
    Group(
        "8c", "create and release a CFHTTPMessage", "message", 1_000_000, 200_000, instruction_sizes=(10_000, 40_000),
        variants=(Variant("ours", CFNETWORK, "message", "count={size}", goals=("cpu <= 600 ns",)),),
    ),
    Group(
        "8d", "create and release a stream of a request", "stream", 20_000, 5_000, instruction_sizes=(1_000, 4_000),
        metrics=("memory", "cpu", "wall"),
        variants=(Variant("ours", CFNETWORK, "stream", "count={size}", goals=("memory <= 3072",)),),
    ),
    # 12. HTTP/2
    Group(
        "12a", "GET of 1 KiB over TLS and HTTP/2 from nginx, one at a time", "request", 10_000, 2_000, placement="split",
        instruction_sizes=(200, 1_000),
        variants=(
            Variant("C libnghttp2", NGHTTP2, "requests", HTTP2 + " connections=1"),
            Variant("Swift machine and TLS", OURS, "bare-secure-requests", HTTP2_URL + " connections=1"),
            Variant("libcurl", LIBCURL, "requests-http2", HTTP2_URL),
            Variant("AHC", AHC, "requests-http2", HTTP2_URL + " connections=1", share=1 / 4),
            Variant("ours, HTTP/1.1", OURS, "secure-requests", HTTPS_URL + " versions=http1"),
            Variant("ours", OURS, "secure-requests", HTTP2_URL + " versions=http2", goals=(
                "cpu <= 1.10 x C libnghttp2", "cpu <= 0.55 x libcurl", "cpu <= 0.13 x AHC", "cpu <= 1.15 x ours, HTTP/1.1")),
            Variant("ours, async", OURS, "secure-requests-async", HTTP2_URL + " versions=http2 connections=1", goals=(
                "cpu <= 1.20 x C libnghttp2",)),
        ),
    ),
    *(Group(
        row, f"GET of 1 KiB over TLS and HTTP/2 from nginx, {many} at once on one connection", "request", 40_000, 8_000,
        placement="split", instruction_sizes=(10 * many, 40 * many),
        variants=(
            Variant("C libnghttp2", NGHTTP2, "requests", f"{HTTP2} connections={many}"),
            Variant("Swift machine and TLS", OURS, "bare-secure-requests", f"{HTTP2_URL} connections={many}"),
            Variant("libcurl multi", LIBCURL, "requests-many-http2", f"{HTTP2_URL} connections={many}", share=1 / 2),
            Variant("AHC", AHC, "requests-http2", f"{HTTP2_URL} connections={many}", share=1 / 4),
            Variant(f"ours, HTTP/1.1, {many} connections", OURS, "secure-requests-async",
                    f"{HTTPS_URL} versions=http1 connections={many}"),
            Variant("ours, async", OURS, "secure-requests-async", f"{HTTP2_URL} versions=http2 connections={many}", goals=(
                "cpu <= 1.35 x C libnghttp2", "cpu <= 0.50 x libcurl multi", "cpu <= 0.13 x AHC",
                f"cpu <= 0.80 x ours, HTTP/1.1, {many} connections")),
        ),
    ) for row, many in (("12b", 32), ("12c", 100))),
    Group(
        "12e", "download over TLS and HTTP/2 from nginx", "GiB", GIB, GIB // 8, placement="split",
        instruction_sizes=(16 * MIB, 48 * MIB),
        variants=(
            Variant("C libnghttp2", NGHTTP2, "read", HTTP2_READ),
            Variant("Swift machine and TLS", OURS, "bare-secure-read", HTTP2_READ_URL + " count=1"),
            Variant("libcurl", LIBCURL, "read-http2", HTTP2_READ_URL),
            Variant("AHC async", AHC, "read-async-http2", HTTP2_READ_URL),
            Variant("ours", OURS, "secure-read", HTTP2_READ_URL + " count=1 versions=http2", goals=(
                "cpu <= 1.05 x C libnghttp2", "cpu <= 0.95 x libcurl", "cpu <= 0.36 x AHC async")),
            Variant("ours, async", OURS, "secure-read-async", HTTP2_READ_URL + " count=1 versions=http2", goals=(
                "cpu <= 1.05 x C libnghttp2",)),
        ),
    ),
    Group(
        "12j", "server: h2load asks for 1 KiB over TLS and HTTP/2, 32 at once on each of 4 connections", "request", 100_000, 20_000,
        placement="split",
        variants=(
            Variant("nginx", NGHTTP2, "load", "port={http2} process={http2-worker} load-cpu={client-cpu} count={size}"),
            Variant("Hummingbird", HUMMINGBIRD, "secure-serving", SERVING, share=1 / 2),
            Variant("ours", OURS, "secure-serving", SERVING, goals=("cpu <= 1.60 x nginx", "cpu <= 0.40 x Hummingbird")),
        ),
    ),
    Group(
        "12k", "none lost: 64 callers of all kinds send requests over HTTP/2 to servers that end each connection", "request",
        1_000_000, 20_000, rounds=1, time_limit=3_600,
        variants=(
            Variant("harsh server", NO_LOSS, "harsh", "count={size} idempotent=0"),
            Variant("harsh server without GOAWAY", NO_LOSS, "harsh", "count={size} idempotent=1"),
            Variant("HTTPServer", NO_LOSS, "ours", "count={size} ca={ca} certificate={certificate} key={key}"),
            Variant("nginx", NO_LOSS, "nginx", "count={size} ca={ca} port={http2-ending} log={http2-ending-log}"),
        ),
    ),
    # HTTP/2 without sockets
    Group(
        "12f", "HPACK: decode 160 request heads of 10 fields", "head", 1_000_000, 200_000, instruction_sizes=(1_600, 6_400),
        variants=(
            Variant("nghttp2, owned", NGHTTP2, "decode-owned", REQUESTS),
            Variant("nghttp2", NGHTTP2, "decode", REQUESTS),
            Variant("ours", OURS_HTTP2, "decode", REQUESTS, goals=("cpu <= 1.00 x nghttp2, owned",)),
        ),
    ),
    Group(
        "12f2", "HPACK: decode 160 response heads of 12 fields", "head", 500_000, 100_000, instruction_sizes=(1_600, 6_400),
        variants=(
            Variant("nghttp2, owned", NGHTTP2, "decode-owned", RESPONSES),
            Variant("nghttp2", NGHTTP2, "decode", RESPONSES),
            Variant("ours", OURS_HTTP2, "decode", RESPONSES, goals=("cpu <= 1.00 x nghttp2, owned",)),
        ),
    ),
    Group(
        "12g", "HPACK: encode 160 request heads of 10 fields", "head", 1_000_000, 200_000, instruction_sizes=(1_600, 6_400),
        variants=(
            Variant("nghttp2", NGHTTP2, "encode", REQUESTS),
            Variant("ours", OURS_HTTP2, "encode", REQUESTS, goals=("cpu <= 1.25 x nghttp2",)),
        ),
    ),
    Group(
        "12g2", "HPACK: encode 160 response heads of 12 fields", "head", 500_000, 100_000, instruction_sizes=(1_600, 6_400),
        variants=(
            Variant("nghttp2", NGHTTP2, "encode", RESPONSES),
            Variant("ours", OURS_HTTP2, "encode", RESPONSES, goals=("cpu <= 1.25 x nghttp2",)),
        ),
    ),
    Group(
        "12h", "client and server in memory: a GET of 1 KiB", "request", 200_000, 50_000, instruction_sizes=(1_000, 4_000),
        variants=(
            Variant("nghttp2", NGHTTP2, "exchange", "count={size}"),
            Variant("nghttp2, owned", NGHTTP2, "exchange-owned", "count={size}"),
            Variant("nghttp2, heads alone", NGHTTP2, "exchange-heads", "count={size}"),
            Variant("ours", OURS_HTTP2, "exchange", "count={size}", goals=("instructions <= 1.20 x nghttp2",)),
            Variant("ours, heads alone", OURS_HTTP2, "exchange-heads", "count={size}"),
        ),
    ),
    Group(
        "12i", "client and server in memory: a body", "GiB", 4 * GIB, GIB, instruction_sizes=(64 * MIB, 192 * MIB),
        variants=(
            Variant("nghttp2", NGHTTP2, "data", "bytes={size}"),
            Variant("ours", OURS_HTTP2, "data", "bytes={size}", goals=("instructions <= 1.20 x nghttp2",)),
        ),
    ),
)
