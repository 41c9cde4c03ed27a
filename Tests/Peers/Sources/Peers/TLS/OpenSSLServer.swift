/// `openssl s_server`: a TLS server that is not a web server.
///
/// ```swift
/// let server = OpenSSLServer(.echoReversed, versions: [.tls12])
/// try server.start()
/// // connect to 127.0.0.1, server.port; "abc\n" comes back as "cba\n"
/// ```
public final class OpenSSLServer: Peer {
    /// What the server does with a connection.
    public enum Mode: Hashable, Sendable {
        /// Sends every line back with its letters reversed.
        case echoReversed
        /// Answers any HTTP/1.0 request with a page that tells the parameters of the connection, then closes.
        case statusPage
        /// Prints what it receives, see ``OpenSSLServer/received``, and sends what ``OpenSSLServer/send(_:)`` is given.
        case conversation
    }

    /// `openssl`.
    public static let program = Program("openssl")
    /// The running program.
    public let process: PeerProcess

    private let mode: Mode
    private let certificate: ServerCertificate
    private let identity: Identity?
    private let versions: Set<TLSVersion>
    private let clientCertificate: HTTPListener.ClientCertificate
    private let applicationProtocols: [String]
    private let options: [String]

    /// Makes one; it has to be started.
    ///
    /// - Parameters:
    ///   - identity: shown instead of `certificate`.
    ///   - applicationProtocols: what it is ready to choose from the client's ALPN list, best first; none means that it
    ///     ignores ALPN.
    ///   - options: further options of `s_server`, as `["-cipher", "AES128-SHA"]` or `["-no_ticket"]`.
    public init(
        _ mode: Mode, certificate: ServerCertificate = .good, identity: Identity? = nil,
        versions: Set<TLSVersion> = Set(TLSVersion.allCases),
        clientCertificate: HTTPListener.ClientCertificate = .ignored, applicationProtocols: [String] = [],
        options: [String] = [], in namespace: NetworkNamespace? = nil
    ) {
        self.mode = mode
        self.certificate = certificate
        self.identity = identity
        self.versions = versions
        self.clientCertificate = clientCertificate
        self.applicationProtocols = applicationProtocols
        self.options = options
        process = PeerProcess(in: namespace)
    }

    /// Starts it and returns when it accepts connections.
    public func start() throws(PeerError) {
        let authority = try CertificateAuthority.shared()
        let identity = identity ?? authority.server(certificate)
        try process.start(Self.program, ports: 1) { _, ports throws(PeerError) in
            var arguments = ["s_server", "-accept", "127.0.0.1:\(ports[0])", "-cert", identity.chain]
            arguments += ["-cert_chain", identity.chain, "-key", identity.key, "-CAfile", authority.root]
            if !versions.contains(.tls12) { arguments.append("-no_tls1_2") }
            if !versions.contains(.tls13) { arguments.append("-no_tls1_3") }
            switch clientCertificate {
            case .ignored: break
            case .optional: arguments += ["-verify", "3"]
            case .required: arguments += ["-Verify", "3", "-verify_return_error"]
            }
            if !applicationProtocols.isEmpty {
                arguments += ["-alpn", applicationProtocols.joined(separator: ",")]
            }
            switch mode {
            case .echoReversed: arguments.append("-rev")
            case .statusPage: arguments.append("-www")
            // Not quiet, s_server takes lines that begin with Q, q, r, R, P, S or B as commands.
            case .conversation: arguments.append("-quiet")
            }
            return PeerProcess.Launch(
                arguments: arguments + options, sockets: ListeningSocket.tcp(ports[0]),
                wantsInput: mode == .conversation)
        }
    }

    /// In a ``Mode/conversation``: what the clients sent so far.
    public var received: String { log }

    /// In a ``Mode/conversation``: sends these bytes to the client that is connected.
    ///
    /// - Throws: ``PeerError/Code/refused`` in another mode or if it does not run.
    public func send(_ bytes: [UInt8]) throws(PeerError) {
        try process.send(bytes)
    }

    /// In a ``Mode/conversation``: closes the connection with a proper `close_notify`, and ends the server.
    public func finish() {
        process.endInput()
    }
}
