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
                hasInput: mode == .conversation)
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

/// `openssl s_client`, for tests of TLS servers.
///
/// ```swift
/// let client = try OpenSSLClient(port: port, options: ["-alpn", "h2,http/1.1"])
/// let result = try await client.run(sending: "hello\n")
/// #expect(result.text.contains("ALPN protocol: http/1.1"))
/// ```
public struct OpenSSLClient: Sendable {
    /// The port to connect to, on 127.0.0.1.
    public var port: Int
    /// The name to send (SNI) and to verify in the certificate.
    public var serverName: String
    /// Further options of `s_client`.
    public var options: [String]
    private let root: String

    /// Creates a client that trusts the shared ``CertificateAuthority`` and fails if the server cannot be verified.
    ///
    /// - Throws: As ``CertificateAuthority/shared()``.
    public init(port: Int, serverName: String = "localhost", options: [String] = []) throws(PeerError) {
        self.port = port
        self.serverName = serverName
        self.options = options
        root = try CertificateAuthority.shared().root
    }

    /// Connects, sends `text`, and reads until the server closes or `seconds` have passed.
    ///
    /// - Throws: ``PeerError/Code/timedOut``, with the output so far in its log; ``PeerError/Code/notInstalled``. A failed handshake
    ///   is not an error, but a result with a status other than 0.
    public func run(sending text: String, seconds: Double = Deadline.ofHangs) async throws(PeerError) -> Command.Result
    {
        let arguments =
            ["s_client", "-connect", "127.0.0.1:\(port)", "-servername", serverName, "-verify_hostname", serverName]
            + ["-CAfile", root, "-verify_return_error", "-ign_eof"]
        return try await Command(OpenSSLServer.program, arguments + options, input: Array(text.utf8))
            .run(seconds: seconds)
    }
}
