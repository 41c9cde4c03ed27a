internal import Foundation
internal import Glibc

/// nginx: HTTP/1.1, plain and over TLS, over IPv4, IPv6 and Unix sockets, with valid and faulty
/// certificates.
///
/// ```swift
/// let nginx = Nginx()
/// try nginx.start()
/// nginx.url(.tls, "/hello")                       // https://localhost:…/hello
/// let seen = try await nginx.requests { $0.target == "/hello" }
/// #expect(seen.last?.requestOnConnection == 2)    // the connection was reused
/// ```
///
/// The responses on every listener:
///
/// | path | response |
/// |---|---|
/// | `/NAME` | the file of that name, see ``write(_:_:)``; ranges, `ETag`, `If-…`; no compression |
/// | `/gzip/NAME` | the same, compressed (and then chunked) for clients that accept it |
/// | `/chunked/NAME` | the same, chunked |
/// | `/slow/NAME` | the same, at 20 KB per second |
/// | `/hello` | `hello\n`, for any method |
/// | `/request` | the request as nginx has parsed it, one `name=value` per line |
/// | `/status/CODE` | that status: 204, 304, 400, 403, 404, 410, 500, 502, 503 (with `Retry-After: 1`) |
/// | `/chain` | 301 → 302 → 307 → 200 `hello` |
/// | `/loop` | 302 to itself |
/// | `/to-second`, `/to-plain`, `/to-tls` | 302 to `/request` of that listener |
/// | `/basic/NAME` | the file, for user `alice` with password `open sesame`; realm `peers` |
/// | `/cookies` | two `Set-Cookie` fields |
/// | `/upload/NAME` | WebDAV `PUT`, `DELETE`, `MKCOL`; `GET` returns the file |
/// | `/keep-alive/none` | `hello\n` with `Connection: close` |
/// | `/keep-alive/short` | `hello\n`; the server closes the idle connection after 0.2 s |
/// | `/drop` | no response: the connection is closed |
public final class Nginx: Peer {
    /// `nginx`.
    public static let program = Program("nginx")
    /// The process of the server.
    public let process: PeerProcess
    /// The listeners, in the order of the ports.
    public let listeners: [HTTPListener]

    /// Creates a server with these listeners that is not started yet.
    public init(listeners: [HTTPListener] = HTTPListener.all, in namespace: NetworkNamespace? = nil) {
        self.listeners = listeners
        process = PeerProcess(in: namespace)
    }

    /// Starts the server and returns when all listeners accept connections.
    public func start() throws(PeerError) {
        let authority = try CertificateAuthority.shared()
        let hasIPv6 = LoopbackAddress.v6.isAvailable
        try process.start(Self.program, ports: listeners.count) { scratch, ports throws(PeerError) in
            for folder in ["files", "files/upload", "temporary"] { try scratch.folder(folder) }
            try scratch.write("users", "alice:{PLAIN}open sesame\n")
            let configuration = NginxConfiguration(
                folder: scratch.path, authority: authority, listeners: Array(zip(listeners, ports)), hasIPv6: hasIPv6)
            let file = try scratch.write("nginx.conf", configuration.text)
            return PeerProcess.Launch(
                arguments: ["-p", scratch.path, "-e", scratch.file("error.log"), "-c", file],
                sockets: ports.flatMap { ListeningSocket.tcp($0, alsoIPv6: hasIPv6) },
                logs: ["error.log", "access.log"])
        }
    }

    /// The port of a listener; 0 if the server is not running or has no such listener.
    public func port(_ listener: HTTPListener) -> Int {
        zip(listeners, process.ports).first { $0.0 == listener }?.1 ?? 0
    }

    /// The path of a listener's Unix socket.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running.
    public func socket(_ listener: HTTPListener) throws(PeerError) -> String {
        try process.folder().file("\(port(listener)).sock")
    }

    /// The URL of `path`, which must begin with a slash, at a listener.
    public func url(_ listener: HTTPListener = .plain, _ path: String = "/", host: String = "localhost") -> String {
        "\(listener.scheme)://\(host):\(port(listener))\(path)"
    }

    /// Writes a file that the server serves as `name`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running or the file cannot be written.
    public func write(_ name: String, _ contents: [UInt8]) throws(PeerError) {
        try process.folder().write("files/\(name)", contents)
    }

    /// Creates a file of zeros that takes no disk space, whatever its size.
    ///
    /// - Throws: As ``write(_:_:)``.
    public func writeZeros(_ name: String, count: Int) throws(PeerError) {
        let path = try process.folder().write("files/\(name)", [])
        guard truncate(path, count) == 0 else {
            throw PeerError(.refused, "cannot create a file of \(count) bytes: \(String(cString: strerror(errno)))")
        }
    }

    /// Sets the date of a file, which is its `Last-Modified`, to 2001-09-09 01:46:40 UTC: only a date that is at least a minute old is
    /// a strong validator (RFC 9110 §8.8.2.2).
    ///
    /// - Throws: ``PeerError/Code/refused`` if the file does not exist.
    public func age(_ name: String) throws(PeerError) {
        try process.folder().age("files/\(name)")
    }

    /// The bytes of a file of the server, such as an uploaded one: `read("upload/NAME")`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the file does not exist.
    public func read(_ name: String) throws(PeerError) -> [UInt8] {
        try readBytes(process.folder().file("files/\(name)"))
    }

    /// Waits until the access log contains at least `count` requests that satisfy `predicate`, and returns them in the order of their
    /// responses. (nginx logs a request after its response is sent.)
    ///
    /// - Throws: ``PeerError/Code/timedOut`` after five seconds.
    public func requests(
        _ count: Int = 1, where predicate: @escaping @Sendable (LoggedRequest) -> Bool = { _ in true }
    ) async throws(PeerError) -> [LoggedRequest] {
        try await onNewThread { () throws(PeerError) in
            let end = ContinuousClock.now + .seconds(5)
            let folder = try self.process.folder()
            let watch = try FolderWatch(folder.path)
            while true {
                let found = LoggedRequest.parse(try readBytes(folder.file("access.log"))).filter(predicate)
                if found.count >= count { return found }
                guard ContinuousClock.now < end else {
                    throw PeerError(.timedOut, "nginx logged \(found.count) of \(count) requests", log: self.log)
                }
                watch.wait(until: end)
            }
        }
    }
}

/// One request in a server's access log.
public struct LoggedRequest: Hashable, Sendable {
    /// The number of the connection, the same for all its requests.
    public var connection: Int
    /// The number of the request on its connection, from 1. A higher number means that the connection was reused.
    public var requestOnConnection: Int
    /// The method.
    public var method: String
    /// The request target as received, with its query.
    public var target: String
    /// The protocol version, such as `HTTP/1.1`.
    public var version: String
    /// The status of the response.
    public var status: Int
    /// The size of the response body in bytes, as sent.
    public var bodyBytes: Int
    /// The value of the field `Host`, or the empty string.
    public var host: String
    /// The value of the field `Authorization`, or the empty string.
    public var authorization: String
    /// The value of the field `Cookie`, or the empty string.
    public var cookie: String
    /// The TLS version, such as `TLSv1.3`, or the empty string.
    public var tlsVersion: String
    /// The server name that the client sent (SNI), or the empty string.
    public var serverName: String
    /// Whether the TLS session was resumed.
    public var isResumed: Bool
}

extension LoggedRequest: Decodable {
    private enum CodingKeys: String, CodingKey {
        case connection, request, method, target, version, status, bytes, host, authorization, cookie, tls, sni, resumed
    }

    /// Decodes a line in the log format of ``Nginx``.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys) throws -> String { try values.decode(String.self, forKey: key) }
        func number(_ key: CodingKeys) throws -> Int { Int(try text(key)) ?? 0 }
        connection = try number(.connection)
        requestOnConnection = try number(.request)
        method = try text(.method)
        target = try text(.target)
        version = try text(.version)
        status = try number(.status)
        bodyBytes = try number(.bytes)
        host = try text(.host)
        authorization = try text(.authorization)
        cookie = try text(.cookie)
        tlsVersion = try text(.tls)
        serverName = try text(.sni)
        isResumed = try text(.resumed) == "r"
    }

    /// Parses a log of one JSON object per line; ignores a last line that is not complete yet.
    static func parse(_ log: [UInt8]) -> [Self] {
        log.split(separator: UInt8(ascii: "\n")).compactMap { try? JSONDecoder().decode(Self.self, from: Data($0)) }
    }

    /// The log format for nginx. Every value is a string, because nginx writes some numbers as `000` or leaves them out.
    static let nginxFormat =
        [
            "connection": "connection", "request": "connection_requests", "method": "request_method",
            "target": "request_uri", "version": "server_protocol", "status": "status", "bytes": "body_bytes_sent",
            "host": "http_host", "authorization": "http_authorization", "cookie": "http_cookie", "tls": "ssl_protocol",
            "sni": "ssl_server_name", "resumed": "ssl_session_reused",
        ].map { "\"\($0)\":\"$\($1)\"" }.sorted().joined(separator: ",")
}

/// The text of nginx.conf for ``Nginx``.
struct NginxConfiguration {
    var folder: String
    var authority: CertificateAuthority
    var listeners: [(HTTPListener, port: Int)]
    var hasIPv6: Bool

    var text: String {
        """
        daemon off;
        worker_processes 1;
        user root;
        pid \(folder)/nginx.pid;
        error_log \(folder)/error.log info;
        events { worker_connections 512; }
        http {
            types { text/html html; text/plain txt; application/json json; }
            default_type application/octet-stream;
            log_format requests escape=json '{\(LoggedRequest.nginxFormat)}';
            access_log \(folder)/access.log requests;
            client_body_temp_path \(folder)/temporary/body; proxy_temp_path \(folder)/temporary/proxy;
            fastcgi_temp_path \(folder)/temporary/fastcgi; uwsgi_temp_path \(folder)/temporary/uwsgi;
            scgi_temp_path \(folder)/temporary/scgi;
            client_max_body_size 4g; sendfile on; server_tokens off; keepalive_timeout 30s;
            ssl_session_cache shared:sessions:1m; ssl_session_tickets on;
            root \(folder)/files;
        \(listeners.map(server).joined(separator: "\n"))
        }

        """
    }

    private func server(_ listener: HTTPListener, port: Int) -> String {
        let option = listener.certificate == nil ? "" : " ssl"
        return """
                server {
                    listen 127.0.0.1:\(port)\(option);
                    \(hasIPv6 ? "listen [::1]:\(port)\(option);" : "")
                    listen unix:\(folder)/\(port).sock\(option);
            \(listener.certificate.map { tls(listener, $0) } ?? "")
            \(locations)
                }
            """
    }

    private func tls(_ listener: HTTPListener, _ certificate: ServerCertificate) -> String {
        let identity = authority.server(certificate)
        let versions = listener.versions.sorted().map(\.rawValue).joined(separator: " ")
        let verify =
            switch listener.clientCertificate {
            case .ignored: "off"
            case .optional: "optional"
            case .required: "on"
            }
        return """
                    ssl_certificate \(identity.chain); ssl_certificate_key \(identity.key);
                    ssl_protocols \(versions);
                    ssl_client_certificate \(authority.root); ssl_verify_depth 2; ssl_verify_client \(verify);
            """
    }

    private var locations: String {
        let statuses = [204, 304, 400, 403, 404, 410, 500, 502].map { "location = /status/\($0) { return \($0); }" }
        return """
                    location = /hello { default_type text/plain; return 200 "hello\\n"; }
                    location = /request { default_type text/plain; return 200 "\(requestLines)"; }
                    \(statuses.joined(separator: "\n        "))
                    location = /status/503 { add_header Retry-After 1 always; return 503; }
                    location = /chain { return 301 /chain/2; }
                    location = /chain/2 { return 302 /chain/3; }
                    location = /chain/3 { return 307 /hello; }
                    location = /choices { add_header Location /hello always; return 300; }
                    location = /loop { return 302 /loop; }
                    \(redirect("/to-second", .secondOrigin))
                    \(redirect("/to-plain", .plain))
                    \(redirect("/to-tls", .tls))
                    location /gzip/ { alias \(folder)/files/; gzip on; gzip_types *; gzip_min_length 1; }
                    location /chunked/ { alias \(folder)/files/; sub_filter 'no such text' ''; sub_filter_types *; }
                    location /slow/ { alias \(folder)/files/; limit_rate 20k; }
                    location /basic/ {
                        alias \(folder)/files/; auth_basic peers; auth_basic_user_file \(folder)/users;
                    }
                    location = /cookies {
                        add_header Set-Cookie "a=1; Path=/"; add_header Set-Cookie "b=2; HttpOnly"; return 200 "hello\\n";
                    }
                    location /upload/ { dav_methods PUT DELETE MKCOL; create_full_put_path on; }
                    location = /keep-alive/none { keepalive_timeout 0; return 200 "hello\\n"; }
                    location = /keep-alive/short { keepalive_timeout 200ms; return 200 "hello\\n"; }
                    location = /drop { return 444; }
            """
    }

    private func redirect(_ path: String, _ target: HTTPListener) -> String {
        guard let port = listeners.first(where: { $0.0 == target })?.port else { return "" }
        return "location = \(path) { return 302 \(target.scheme)://localhost:\(port)/request; }"
    }

    private var requestLines: String {
        [
            ("method", "request_method"), ("target", "request_uri"), ("version", "server_protocol"),
            ("scheme", "scheme"), ("host", "http_host"), ("client", "remote_addr"), ("user-agent", "http_user_agent"),
            ("accept", "http_accept"), ("authorization", "http_authorization"), ("cookie", "http_cookie"),
            ("content-length", "content_length"), ("content-type", "content_type"),
            ("connection", "connection"), ("request", "connection_requests"),
            ("tls", "ssl_protocol"), ("cipher", "ssl_cipher"), ("sni", "ssl_server_name"),
            ("alpn", "ssl_alpn_protocol"), ("resumed", "ssl_session_reused"),
            ("client-verify", "ssl_client_verify"), ("client-name", "ssl_client_s_dn"), ("remote", "remote_addr"),
        ].map { "\($0)=$\($1)\\n" }.joined()
    }
}
