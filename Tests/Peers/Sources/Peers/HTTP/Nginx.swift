internal import Foundation
internal import Glibc

/// nginx: HTTP/1.1, plain and over TLS, over IPv4 and IPv6, with valid and faulty certificates.
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
        try await onOwnThread { () throws(PeerError) in
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
