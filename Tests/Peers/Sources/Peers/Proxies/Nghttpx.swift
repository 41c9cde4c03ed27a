/// nghttpx: a proxy that is a server of HTTP/2 on one side and a client on the other.
///
/// ```swift
/// let proxy = Nghttpx(port: server.port, isSecure: true)
/// try proxy.start()
/// proxy.port  // requests to it reach the server
/// ```
///
/// It reaches the server behind it over TCP: with HTTP/2 and prior knowledge, where all requests share few connections, or with HTTP/1.1. As a
/// forward proxy, it passes requests for any server, and CONNECT, to the proxy behind it.
public final class Nghttpx: Peer {
    /// `nghttpx`.
    public static let program = Program("nghttpx", package: "nghttp2-proxy")
    /// The process of the proxy.
    public let process = PeerProcess()
    /// Whether the proxy demands TLS of its clients.
    public let isSecure: Bool
    private let backend: Int
    /// Whether the server behind the proxy has HTTP/1.1.
    private let usesHTTP1: Bool
    private let isForward: Bool

    /// Creates a proxy in front of the server at a port of this machine. It is not started yet.
    ///
    /// - Parameters:
    ///   - usesHTTP1: whether that server has HTTP/1.1, not HTTP/2.
    ///   - isForward: whether that server is a proxy, and this one a forward proxy.
    public init(port: Int, isSecure: Bool, usesHTTP1: Bool = false, isForward: Bool = false) {
        backend = port
        self.isSecure = isSecure
        self.usesHTTP1 = usesHTTP1
        self.isForward = isForward
    }

    /// Starts the proxy and returns when it accepts connections.
    public func start() throws(PeerError) {
        let identity = try CertificateAuthority.shared().server(.good)
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            let frontend = "127.0.0.1,\(ports[0])" + (isSecure ? "" : ";no-tls")
            var arguments = [
                "--conf=/dev/null", "--frontend=\(frontend)",
                "--backend=127.0.0.1,\(backend);;proto=\(usesHTTP1 ? "http/1.1" : "h2")", "--workers=1",
                "--single-process",
                "--no-ocsp", "--errorlog-file=\(scratch.file("error.log"))",
            ]
            if isForward { arguments.append("--http2-proxy") }
            if isSecure { arguments += [identity.key, identity.chain] }
            return PeerProcess.Launch(
                arguments: arguments, sockets: ListeningSocket.tcp(ports[0]), logs: ["error.log"])
        }
    }
}
