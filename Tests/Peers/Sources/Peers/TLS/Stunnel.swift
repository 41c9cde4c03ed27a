/// stunnel: adds TLS to a connection of a program without TLS, as client or as server.
///
/// ```swift
/// let server = Stunnel(.server, to: plain.port)               // TLS here, plain there
/// let client = Stunnel(.client, to: ourServer.port)           // plain here, TLS there, verified by our authority
/// let mail = Stunnel(.server, to: plain.port, speaking: "smtp")   // TLS after STARTTLS
/// ```
public final class Stunnel: Peer {
    /// The side of TLS that stunnel takes.
    public enum Role: Hashable, Sendable {
        /// Accepts TLS and forwards without TLS.
        case server
        /// Accepts connections without TLS and forwards over TLS. Verifies the server for the name `localhost`.
        case client
    }

    /// `stunnel`.
    public static let program = Program("stunnel", package: "stunnel4")
    /// The process of the server.
    public let process = PeerProcess()
    private let role: Role
    private let target: Int
    private let startTLSProtocol: String?
    private let certificate: ServerCertificate
    private let options: [String]

    /// Creates a server that is not started yet.
    ///
    /// - Parameters:
    ///   - target: The port to forward to, on 127.0.0.1.
    ///   - startTLSProtocol: The protocol whose STARTTLS to speak: `smtp`, `imap` or `pop3`.
    ///   - certificate: The certificate of a server.
    ///   - options: Further configuration lines, such as `"sslVersion = TLSv1.2"`.
    public init(
        _ role: Role, to target: Int, speaking startTLSProtocol: String? = nil, certificate: ServerCertificate = .good,
        options: [String] = []
    ) {
        self.role = role
        self.target = target
        self.startTLSProtocol = startTLSProtocol
        self.certificate = certificate
        self.options = options
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        let authority = try CertificateAuthority.shared()
        let identity = authority.server(certificate)
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            var lines = ["foreground = yes", "pid =", "debug = notice", "[peer]"]
            lines += ["accept = 127.0.0.1:\(ports[0])", "connect = 127.0.0.1:\(target)"]
            switch role {
            case .server: lines += ["cert = \(identity.chain)", "key = \(identity.key)"]
            case .client:
                lines += ["client = yes", "CAfile = \(authority.root)", "verifyChain = yes", "checkHost = localhost"]
            }
            if let startTLSProtocol { lines.append("protocol = \(startTLSProtocol)") }
            let file = try scratch.write("stunnel.conf", (lines + options).map { $0 + "\n" }.joined())
            return PeerProcess.Launch(arguments: [file], sockets: ListeningSocket.tcp(ports[0]))
        }
    }
}
