/// nghttpx: a proxy that is a server of HTTP/2 on one side and a client of HTTP/2 on the other.
///
/// ```swift
/// let proxy = Nghttpx(port: server.port, isSecure: true)
/// try proxy.start()
/// proxy.port  // requests to it reach the server
/// ```
///
/// It reaches the server behind it over TCP, with prior knowledge. All requests share few connections to it.
public final class Nghttpx: Peer {
    /// `nghttpx`.
    public static let program = Program("nghttpx", package: "nghttp2-proxy")
    /// The process of the proxy.
    public let process = PeerProcess()
    /// Whether the proxy demands TLS of its clients.
    public let isSecure: Bool
    private let backend: Int

    /// Creates a proxy in front of the server at a port of this machine. It is not started yet.
    public init(port: Int, isSecure: Bool) {
        backend = port
        self.isSecure = isSecure
    }

    /// Starts the proxy and returns when it accepts connections.
    public func start() throws(PeerError) {
        let identity = try CertificateAuthority.shared().server(.good)
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            let frontend = "127.0.0.1,\(ports[0])" + (isSecure ? "" : ";no-tls")
            var arguments = [
                "--conf=/dev/null", "--frontend=\(frontend)", "--backend=127.0.0.1,\(backend);;proto=h2", "--workers=1",
                "--single-process", "--no-ocsp", "--errorlog-file=\(scratch.file("error.log"))",
            ]
            if isSecure { arguments += [identity.key, identity.chain] }
            return PeerProcess.Launch(
                arguments: arguments, sockets: ListeningSocket.tcp(ports[0]), logs: ["error.log"])
        }
    }
}
