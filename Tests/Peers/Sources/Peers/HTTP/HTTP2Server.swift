/// A server of HTTP/2, over TLS with ALPN or over TCP with prior knowledge.
///
/// ```swift
/// let server = HTTP2Server(.nghttpd, isSecure: false)
/// try server.start()
/// try server.write("hello", Array("hello\n".utf8))
/// server.url("/hello")       // http://localhost:…/hello
/// ```
///
/// All implementations but ``Implementation/hypercorn`` and ``Implementation/faults`` serve the files of ``write(_:_:)``.
/// nginx, Apache, Node and Hypercorn have in addition:
///
/// | path | response |
/// |---|---|
/// | `/gzip/NAME` | the file, compressed for clients that accept it (Hypercorn: the same text as without `/gzip`) |
/// | `/empty` | 204 |
/// | `/redirect` | 302 to `/hello` |
/// | `/cookies` | sets the cookie `a=1`, and returns the cookies of the request in the field `X-Cookie` |
/// | `/tell/…` | nginx only: the path |
/// | `/echo` | Node and Hypercorn only: the body of the request, piece by piece while it arrives |
public final class HTTP2Server: Peer {
    /// The implementations. nghttpd, Apache and Node use nghttp2, the Python servers python-hyper; nginx has one of its own.
    public enum Implementation: String, Sendable, CaseIterable {
        /// nghttpd. It returns the body of each upload, and sends the trailer `x-trailer: tail`.
        case nghttpd
        /// nginx. It stores what is sent with `PUT`, and refuses bodies that arrive before its settings are acknowledged. It ends a
        /// connection after a number of requests, 1,000 by default.
        case nginx
        /// Apache httpd with mod_http2.
        case apache
        /// Hypercorn. Its responses contain the version, the method, the path and the number of bytes received. It returns the messages of
        /// WebSockets (RFC 8441), and logs how they were closed.
        case hypercorn
        /// The `http2` module of Node. It returns the body of each upload, and the trailer `x-sum` of its request, with the trailer
        /// `x-trailer: tail`.
        case node
        /// A server that makes mistakes on demand, see ``HTTP2Server/faultScript``.
        case faults

        /// The program.
        public var program: Program {
            switch self {
            case .nghttpd: Program("nghttpd", package: "nghttp2-server")
            case .nginx: Program("nginx")
            case .apache: Program("apache2", package: "apache2-bin")
            // Debian's Python: another Python in `PATH` lacks the packages.
            case .hypercorn: Program("python3", package: "python3-hypercorn", in: "/usr/bin")
            case .node: Program("node", package: "nodejs", in: "/usr/bin")
            case .faults: Program("python3", package: "python3-h2", in: "/usr/bin")
            }
        }
    }

    /// `nghttpd`.
    public static let program = Implementation.nghttpd.program
    /// The process of the server.
    public let process = PeerProcess()
    /// The implementation.
    public let implementation: Implementation
    /// Whether the server demands TLS.
    public let isSecure: Bool

    /// The number of requests after which nginx ends a connection; nil for its default.
    private let requestsPerConnection: Int?

    /// Creates a server that is not started yet.
    ///
    /// - Parameter requestsPerConnection: the number of requests after which nginx ends a connection; the others never do.
    public init(_ implementation: Implementation, isSecure: Bool, requestsPerConnection: Int? = nil) {
        self.implementation = implementation
        self.isSecure = isSecure
        self.requestsPerConnection = requestsPerConnection
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        try start(at: nil)
    }

    /// Starts the server at a port, such as the one that it had before ``kill()``.
    public func start(at port: Int?) throws(PeerError) {
        let identity = try CertificateAuthority.shared().server(.good)
        try process.start(
            implementation.program, ports: 1, fixed: port.map { [$0] }
        ) { scratch, ports throws(PeerError) in
            for folder in ["files", "files/upload", "temporary"] { try scratch.folder(folder) }
            var launch = PeerProcess.Launch(arguments: [], sockets: ListeningSocket.tcp(ports[0]))
            switch implementation {
            case .nghttpd:
                launch.arguments = [
                    "-d", scratch.file("files"), "-a", "127.0.0.1", "--echo-upload", "--trailer=x-trailer: tail", "-v",
                ]
                launch.arguments +=
                    isSecure ? ["\(ports[0])", identity.key, identity.chain] : ["--no-tls", "\(ports[0])"]
            case .nginx:
                let file = try scratch.write("nginx.conf", nginx(scratch.path, ports[0], identity))
                launch.arguments = ["-p", scratch.path, "-e", scratch.file("error.log"), "-c", file]
                launch.logs = ["error.log", "access.log"]
            case .apache:
                let file = try scratch.write("httpd.conf", apache(scratch.path, ports[0], identity))
                launch.arguments = ["-d", scratch.path, "-f", file, "-DFOREGROUND"]
                launch.logs = ["error.log", "access.log"]
            case .hypercorn:
                try scratch.write("application.py", Self.application)
                let certificate = isSecure ? ["--certfile", identity.chain, "--keyfile", identity.key] : []
                launch.arguments =
                    ["-m", "hypercorn", "application:app", "--keep-alive", "600", "-b", "127.0.0.1:\(ports[0])"]
                    + certificate
                    + ["--access-logfile", "-", "--access-logformat", "request %(h)s %(m)s %(U)s"]
                launch.environment = ["PYTHONPATH": scratch.path]
                // It checks every minute whether the file has changed, and forks: a worker listens.
                launch.ownerIsDescendant = true
            case .node:
                let script = try scratch.write("server.js", Self.nodeScript)
                launch.arguments = [script, "\(ports[0])", scratch.file("files")]
                launch.arguments += isSecure ? [identity.chain, identity.key] : []
            case .faults:
                let script = try scratch.write("faults.py", Self.faultScript)
                launch.arguments = ["-u", script, "\(ports[0])"] + (isSecure ? [identity.chain, identity.key] : [])
            }
            return launch
        }
    }

    /// The URL of `path`, which must begin with a slash.
    public func url(_ path: String = "/") -> String { "\(isSecure ? "https" : "http")://localhost:\(port)\(path)" }

    /// Writes a file that the server serves as `name`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running or the file cannot be written.
    public func write(_ name: String, _ contents: [UInt8]) throws(PeerError) {
        try process.folder().write("files/\(name)", contents)
    }

    /// The bytes of a file of the server, such as an uploaded one: `read("upload/NAME")`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the file does not exist.
    public func read(_ name: String) throws(PeerError) -> [UInt8] {
        try readBytes(process.folder().file("files/\(name)"))
    }

    /// Ends the server and all its connections at once, as a crash does. Its files are gone.
    public func kill() {
        process.kill()
    }

    /// Waits until the server has logged `count` requests, and returns the connection of each, as the server names it.
    ///
    /// ``Implementation/faults`` logs none.
    ///
    /// - Throws: ``PeerError/Code/timedOut``.
    public func connections(_ count: Int) async throws(PeerError) -> [String] {
        guard await logs({ [self] log in connections(in: log).count >= count }) else {
            throw PeerError(.timedOut, "fewer than \(count) requests were logged", log: log)
        }
        return connections(in: log)
    }

    private func connections(in log: String) -> [String] {
        log.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            if implementation == .nghttpd {
                return line.contains(") :path: ") ? words.first.map(String.init) : nil
            }
            // Hypercorn logs the time first.
            guard let begin = words.firstIndex(of: "request"), words.count == begin + 4 else { return nil }
            return String(words[begin + 1])
        }
    }

    private func nginx(_ folder: String, _ port: Int, _ identity: Identity) -> String {
        """
        daemon off; worker_processes 1; user root; pid \(folder)/nginx.pid; error_log \(folder)/error.log info;
        events { worker_connections 512; }
        http {
            log_format request 'request $connection $request_method $request_uri'; access_log \(folder)/access.log request;
            client_max_body_size 1g; client_body_temp_path \(folder)/temporary/body;
            proxy_temp_path \(folder)/temporary/proxy; fastcgi_temp_path \(folder)/temporary/fastcgi;
            uwsgi_temp_path \(folder)/temporary/uwsgi; scgi_temp_path \(folder)/temporary/scgi;
            ssl_certificate \(identity.chain); ssl_certificate_key \(identity.key);
            server {
                listen 127.0.0.1:\(port)\(isSecure ? " ssl" : "") http2;
                http2_body_preread_size 1k; root \(folder)/files;
                \(requestsPerConnection.map { "keepalive_requests \($0);" } ?? "")
                location /upload/ { dav_methods PUT; }
                location /gzip/ { alias \(folder)/files/; gzip on; gzip_types *; gzip_min_length 1; }
                location /tell/ { return 200 "$request_uri"; }
                location = /empty { return 204; }
                location = /redirect { return 302 /hello; }
                location = /cookies {
                    add_header Set-Cookie "a=1; Path=/"; add_header X-Cookie "$http_cookie"; return 200 "hello\\n";
                }
            }
        }

        """
    }

    private func apache(_ folder: String, _ port: Int, _ identity: Identity) -> String {
        let modules = ["mpm_event", "authz_core", "dir", "ssl", "http2", "alias", "deflate", "headers"].map {
            "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so"
        }
        let secure =
            "SSLEngine on\nSSLCertificateFile \(identity.chain)\nSSLCertificateKeyFile \(identity.key)\nProtocols h2 http/1.1"
        return """
            ServerName localhost
            ServerRoot \(folder)
            PidFile \(folder)/httpd.pid
            Mutex file:\(folder) default
            ErrorLog \(folder)/error.log
            LogFormat "request %{remote}p %m %U" request
            CustomLog \(folder)/access.log request
            DocumentRoot \(folder)/files
            Listen 127.0.0.1:\(port)
            KeepAliveTimeout 600
            \(modules.joined(separator: "\n"))
            \(isSecure ? secure : "Protocols h2c http/1.1")
            Alias /gzip \(folder)/files
            Alias /cookies \(folder)/files/hello
            Redirect 204 /empty
            Redirect 302 /redirect /hello
            <Location /gzip>
                SetOutputFilter DEFLATE
            </Location>
            <Location /cookies>
                Header add Set-Cookie "a=1; Path=/"
                Header set X-Cookie "expr=%{HTTP:Cookie}"
            </Location>
            <Directory \(folder)/files>
                Require all granted
            </Directory>

            """
    }

    private static let application = """
        import gzip

        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                while True:
                    message = await receive()
                    await send({"type": message["type"] + ".complete"})
                    if message["type"] == "lifespan.shutdown":
                        return
            if scope["type"] == "websocket":
                while True:
                    message = await receive()
                    if message["type"] == "websocket.connect":
                        await send({"type": "websocket.accept", "subprotocol": next(iter(scope["subprotocols"]), None)})
                    elif message["type"] == "websocket.receive":
                        await send({"type": "websocket.send", **{key: message.get(key) for key in ("bytes", "text")}})
                    else:
                        print("CLOSED", message.get("code"), flush=True)
                        return
            (count, started) = (0, False)
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return
                if scope["path"] == "/echo":
                    if not started:
                        await send({"type": "http.response.start", "status": 200, "headers": []})
                        started = True
                    more = message.get("more_body", False)
                    await send({"type": "http.response.body", "body": message.get("body", b""), "more_body": more})
                    if more:
                        continue
                    return
                count += len(message.get("body", b""))
                if not message.get("more_body"):
                    break
            fields = dict(scope["headers"])
            (status, added) = (200, [(b"content-type", b"text/plain")])
            text = f"{scope['http_version']} {scope['method']} {scope['path']} {count}\\n".encode()
            match scope["path"].split("/")[1]:
                case "gzip":
                    text = text.replace(b"/gzip", b"")
                    if b"gzip" in fields.get(b"accept-encoding", b""):
                        text = gzip.compress(text)
                        added.append((b"content-encoding", b"gzip"))
                case "empty":
                    (status, added) = (204, [])
                case "redirect":
                    (status, added) = (302, [(b"location", b"/hello")])
                case "cookies":
                    added += [(b"set-cookie", b"a=1; Path=/"), (b"x-cookie", fields.get(b"cookie", b""))]
            if scope["method"] == "HEAD" or status == 204:
                text = b""
            await send({"type": "http.response.start", "status": status, "headers": added})
            await send({"type": "http.response.body", "body": text})

        """

    private static let nodeScript = """
        const [fs, http2, path, zlib] = ["fs", "http2", "path", "zlib"].map(require);
        const [port, folder, chain, key] = process.argv.slice(2);

        function answer(stream, headers) {
            const target = headers[":path"], method = headers[":method"];
            console.log(`request ${stream.session.socket.remotePort} ${method} ${target}`);
            stream.on("error", (error) => console.log(String(error)));
            const coded = target.startsWith("/gzip/") && /gzip/.test(headers["accept-encoding"]);
            const trailers = { "x-trailer": "tail" };
            stream.on("trailers", (fields) => { if (fields["x-sum"]) trailers["x-sum"] = fields["x-sum"]; });
            if (headers["expect"] === "100-continue") stream.additionalHeaders({ ":status": 100 });
            if (target === "/echo" || method === "POST") {
                stream.respond({ ":status": 200 }, { waitForTrailers: true });
                stream.on("wantTrailers", () => stream.sendTrailers(trailers));
                stream.pipe(stream);
            } else if (target === "/empty") {
                stream.respond({ ":status": 204 }, { endStream: true });
            } else if (target === "/redirect") {
                stream.respond({ ":status": 302, "location": "/hello" }, { endStream: true });
            } else if (target === "/cookies") {
                stream.respond({ ":status": 200, "set-cookie": ["a=1; Path=/"], "x-cookie": headers.cookie ?? "" });
                stream.end("hello\\n");
            } else {
                let body;
                try {
                    body = fs.readFileSync(path.join(folder, target.replace("/gzip/", "/")));
                } catch {
                    return stream.respond({ ":status": 404 }, { endStream: true });
                }
                const fields = { ":status": 200, "content-type": "text/plain" };
                if (coded) {
                    body = zlib.gzipSync(body);
                    fields["content-encoding"] = "gzip";
                }
                fields["content-length"] = body.length;
                if (method === "HEAD") return stream.respond(fields, { endStream: true });
                stream.respond(fields);
                stream.end(body);
            }
        }

        // The files are in memory until they are sent.
        const options = { maxSessionMemory: 1000, ...(chain ? { cert: fs.readFileSync(chain), key: fs.readFileSync(key) } : {}) };
        const server = chain ? http2.createSecureServer(options) : http2.createServer(options);
        server.on("stream", answer);
        server.on("sessionError", (error) => console.log(String(error)));
        server.listen(Number(port), "127.0.0.1");

        """

    /// The server of mistakes. Each path is one: `/reset/CODE`, `/refuse` (the first time), `/goaway` (the first time, then the
    /// end), `/short` (a body shorter than its length), `/early` (413 and RST_STREAM before the body), `/hints`, `/trailers`,
    /// `/bytes/N`, `/begin/N` (N bytes of a body without an end), `/push`, `/silence`, `/end` (the connection ends).
    static let faultScript = """
        import socket, ssl, struct, sys, threading
        import h2.config, h2.connection, h2.events

        seen = set()

        def frame(kind, flags, stream, payload=b""):
            return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

        def send_body(link, stream, body):
            # Waits for credit as python-h2 sees it.
            while body:
                room = min(link.h2.local_flow_control_window(stream), link.h2.max_outbound_frame_size, len(body))
                if room > 0:
                    link.h2.send_data(stream, body[:room])
                    body = body[room:]
                    link.flush()
                elif not link.read():
                    return
            link.h2.end_stream(stream)

        def answer(link, stream, path):
            ok = [(":status", "200"), ("content-type", "text/plain")]
            word, _, rest = path[1:].partition("/")
            first = path not in seen
            seen.add(path)
            if word == "reset":
                link.h2.reset_stream(stream, int(rest))
            elif word == "refuse" and first:
                link.h2.reset_stream(stream, 7)
            elif word == "goaway" and first:
                link.raw(frame(7, 0, 0, struct.pack(">II", 0, 0)))
                link.socket.shutdown(socket.SHUT_WR)
                while link.socket.recv(65536):  # closing with unread bytes could destroy the GOAWAY
                    pass
                link.socket.close()
            elif word == "short":
                link.h2.send_headers(stream, ok + [("content-length", "100")])
                link.h2.send_data(stream, b"short", end_stream=True)
            elif word == "early":
                link.h2.send_headers(stream, [(":status", "413")], end_stream=True)
                link.h2.reset_stream(stream, 0)
            elif word == "hints":
                link.h2.send_headers(stream, [(":status", "103"), ("link", "</a>; rel=preload")])
                link.h2.send_headers(stream, ok, end_stream=True)
            elif word == "trailers":
                link.h2.send_headers(stream, ok)
                link.h2.send_data(stream, b"hello")
                link.h2.send_headers(stream, [("x-sum", "5")], end_stream=True)
            elif word == "bytes":
                link.h2.send_headers(stream, ok)
                send_body(link, stream, b"x" * int(rest))
            elif word == "begin":
                link.h2.send_headers(stream, ok)
                link.h2.send_data(stream, b"x" * int(rest))
            elif word == "push":
                link.raw(frame(5, 4, stream, struct.pack(">I", 2) + b"\\x82\\x84\\x87"))
            elif word == "end":
                link.socket.close()
            elif word != "silence":
                link.h2.send_headers(stream, ok)
                link.h2.send_data(stream, b"hello\\n", end_stream=True)

        class Link:
            def __init__(self, connection):
                self.socket = connection
                self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
                self.h2.initiate_connection()
                self.flush()
                while self.read():
                    pass

            def raw(self, data):
                self.flush()
                self.socket.sendall(data)

            def flush(self):
                self.socket.sendall(self.h2.data_to_send())

            def read(self):
                data = self.socket.recv(65536)
                if not data:
                    return False
                for event in self.h2.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        answer(self, event.stream_id, dict(event.headers)[b":path"].decode())
                    elif isinstance(event, h2.events.DataReceived):
                        if event.flow_controlled_length:
                            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                self.flush()
                return True

        def serve(connection):
            try:
                if len(sys.argv) > 2:
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    context.load_cert_chain(sys.argv[2], sys.argv[3])
                    context.set_alpn_protocols(["h2"])
                    connection = context.wrap_socket(connection, server_side=True)
                Link(connection)
            except (OSError, h2.exceptions.ProtocolError) as error:
                print(repr(error))
            connection.close()

        listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

        """
}
