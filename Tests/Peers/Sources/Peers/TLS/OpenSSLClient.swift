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
    public func run(sending text: String, seconds: Double = 20) async throws(PeerError) -> Command.Result {
        let arguments =
            ["s_client", "-connect", "127.0.0.1:\(port)", "-servername", serverName, "-verify_hostname", serverName]
            + ["-CAfile", root, "-verify_return_error", "-ign_eof"]
        return try await Command(OpenSSLServer.program, arguments + options, input: Array(text.utf8))
            .run(seconds: seconds)
    }
}
