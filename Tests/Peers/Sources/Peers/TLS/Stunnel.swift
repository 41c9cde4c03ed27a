/// stunnel: TLS for programs that have none, on either side.
///
/// ```swift
/// let server = Stunnel(.server, to: plain.port)               // TLS here, plain there
/// let client = Stunnel(.client, to: ourServer.port)           // plain here, TLS there, verified by our authority
/// let mail = Stunnel(.server, to: plain.port, speaking: "smtp")   // TLS after STARTTLS
/// ```
public final class Stunnel: Peer {
    /// Which side of TLS it takes.
    public enum Role: Hashable, Sendable {
        /// Takes TLS, and passes on in the clear.
        case server
        /// Takes what is in the clear, and passes it on over TLS; verifies the server, for the name `localhost`.
        case client
    }

    /// `stunnel`.
    public static let program = Program("stunnel", package: "stunnel4")
    /// The running program.
    public let process = PeerProcess()
    private let role: Role
    private let target: Int
    private let dialogue: String?
    private let certificate: ServerCertificate
    private let options: [String]

    /// Makes one; it has to be started.
    ///
    /// - Parameters:
    ///   - target: the port that it connects to, on 127.0.0.1.
    ///   - dialogue: the protocol whose STARTTLS it speaks: `smtp`, `imap`, `pop3`.
    ///   - certificate: what a server shows.
    ///   - options: further lines of its configuration, as `"sslVersion = TLSv1.2"`.
    public init(
        _ role: Role, to target: Int, speaking dialogue: String? = nil, certificate: ServerCertificate = .good,
        options: [String] = []
    ) {
        self.role = role
        self.target = target
        self.dialogue = dialogue
        self.certificate = certificate
        self.options = options
    }

    /// Starts it and returns when it accepts connections.
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
            if let dialogue { lines.append("protocol = \(dialogue)") }
            let file = try scratch.write("stunnel.conf", (lines + options).map { $0 + "\n" }.joined())
            return PeerProcess.Launch(arguments: [file], sockets: ListeningSocket.tcp(ports[0]))
        }
    }
}
