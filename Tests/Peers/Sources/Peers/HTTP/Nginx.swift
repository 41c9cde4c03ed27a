internal import Foundation
internal import Glibc

/// nginx: HTTP/1.1, plain and over TLS, IPv4 and IPv6, good and bad certificates.
///
/// ```swift
/// let nginx = Nginx()
/// try nginx.start()
/// nginx.url(.tls, "/hello")                       // https://localhost:…/hello
/// let seen = try await nginx.requests { $0.target == "/hello" }
/// #expect(seen.last?.requestOnConnection == 2)    // the connection was used again
/// ```
///
/// What it answers on every listener:
///
/// | path | answer |
/// |---|---|
/// | `/NAME` | the file of that name, see ``write(_:_:)``; ranges, `ETag`, `If-…`; no compression |
/// | `/gzip/NAME` | the same, compressed (and then chunked) for who accepts it |
/// | `/chunked/NAME` | the same, chunked |
/// | `/slow/NAME` | the same, at 20 KB a second |
/// | `/hello` | `hello\n`, whatever the method |
/// | `/request` | what nginx understood of the request, one `name=value` per line |
/// | `/status/CODE` | that status: 204, 304, 400, 403, 404, 410, 500, 502, 503 (with `Retry-After: 1`) |
/// | `/chain` | 301 → 302 → 307 → 200 `hello` |
/// | `/loop` | 302 to itself |
/// | `/to-second`, `/to-plain`, `/to-tls` | 302 to `/request` of that listener |
/// | `/basic/NAME` | the file, for user `alice` with password `open sesame`; realm `peers` |
/// | `/cookies` | two `Set-Cookie` fields |
/// | `/upload/NAME` | WebDAV `PUT`, `DELETE`, `MKCOL`; `GET` gives it back |
/// | `/keep-alive/none` | `hello\n` with `Connection: close` |
/// | `/keep-alive/short` | `hello\n`; the server closes the idle connection after 0.2 s |
/// | `/drop` | no answer: the connection is closed |
public final class Nginx: Peer {
    /// `nginx`.
    public static let program = Program("nginx")
    /// The running program.
    public let process: PeerProcess
    /// What it listens on, in the order of its ports.
    public let listeners: [HTTPListener]

    /// Makes one with these listeners; it has to be started.
    public init(listeners: [HTTPListener] = HTTPListener.all, in namespace: NetworkNamespace? = nil) {
        self.listeners = listeners
        process = PeerProcess(in: namespace)
    }

    /// Starts it and returns when all listeners accept connections.
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

    /// The port of a listener; 0 if it does not run or has no such listener.
    public func port(_ listener: HTTPListener) -> Int {
        zip(listeners, process.ports).first { $0.0 == listener }?.1 ?? 0
    }

    /// The URL of `path`, which begins with a slash, at a listener.
    public func url(_ listener: HTTPListener = .plain, _ path: String = "/", host: String = "localhost") -> String {
        "\(listener.scheme)://\(host):\(port(listener))\(path)"
    }

    /// Writes a file that the server gives out under `name`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server does not run or the file cannot be written.
    public func write(_ name: String, _ contents: [UInt8]) throws(PeerError) {
        try process.folder().write("files/\(name)", contents)
    }

    /// Makes a file of zeros that takes no room on the disk, however big.
    ///
    /// - Throws: as ``write(_:_:)``.
    public func writeZeros(_ name: String, count: Int) throws(PeerError) {
        let path = try process.folder().write("files/\(name)", [])
        guard truncate(path, count) == 0 else {
            throw PeerError(.refused, "cannot make a file of \(count) bytes: \(String(cString: strerror(errno)))")
        }
    }

    /// The bytes of a file of the server, as one that was uploaded: `read("upload/NAME")`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if there is none.
    public func read(_ name: String) throws(PeerError) -> [UInt8] {
        try readBytes(process.folder().file("files/\(name)"))
    }

    /// Waits until the access log has at least `count` requests that `predicate` accepts, and gives them in the order
    /// in which they were answered. (nginx logs a request after its answer is sent.)
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
