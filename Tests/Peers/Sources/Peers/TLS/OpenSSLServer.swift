/// `openssl s_server`: a TLS server without HTTP.
///
/// ```swift
/// let server = OpenSSLServer(.echoReversed, versions: [.tls12])
/// try server.start()
/// // connect to 127.0.0.1, server.port; "abc\n" comes back as "cba\n"
/// ```
public final class OpenSSLServer: Peer {
    /// How the server treats a connection.
    public enum Mode: Hashable, Sendable {
        /// Returns every line with its characters reversed.
        case echoReversed
        /// Answers any HTTP/1.0 request with a page that lists the parameters of the connection, then closes.
        case statusPage
        /// Records received bytes in ``OpenSSLServer/received``, and sends the bytes passed to ``OpenSSLServer/send(_:)``.
        case conversation
    }

    /// `openssl`.
    public static let program = Program("openssl")
    /// The process of the server.
    public let process: PeerProcess

    private let mode: Mode
    private let certificate: ServerCertificate
    private let identity: Identity?
    private let versions: Set<TLSVersion>
    private let clientCertificate: HTTPListener.ClientCertificate
    private let applicationProtocols: [String]
    private let options: [String]

    /// Creates a server that is not started yet.
    ///
    /// - Parameters:
    ///   - identity: The certificate to send instead of `certificate`.
    ///   - applicationProtocols: The protocols to choose from the client's ALPN list, best first. If empty, the server ignores ALPN.
    ///   - options: Further options of `s_server`, such as `["-cipher", "AES128-SHA"]` or `["-no_ticket"]`.
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

    /// Starts the server and returns when it accepts connections.
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
            // Without -quiet, s_server interprets lines that begin with Q, q, r, R, P, S or B as commands.
            case .conversation: arguments.append("-quiet")
            }
            return PeerProcess.Launch(
                arguments: arguments + options, sockets: ListeningSocket.tcp(ports[0]),
                wantsInput: mode == .conversation)
        }
    }

    /// The text that clients have sent so far, in mode ``Mode/conversation``.
    public var received: String { log }

    /// Sends these bytes to the connected client, in mode ``Mode/conversation``.
    ///
    /// - Throws: ``PeerError/Code/refused`` in another mode, or if the server is not running.
    public func send(_ bytes: [UInt8]) throws(PeerError) {
        try process.send(bytes)
    }

    /// Closes the connection with `close_notify` and ends the server, in mode ``Mode/conversation``.
    public func finish() {
        process.endInput()
    }
}
