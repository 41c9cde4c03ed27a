/// `openssl s_client`: judges TLS servers of ours.
///
/// ```swift
/// let client = try OpenSSLClient(port: port, options: ["-alpn", "h2,http/1.1"])
/// let result = try await client.run(sending: "hello\n")
/// #expect(result.text.contains("ALPN protocol: http/1.1"))
/// ```
public struct OpenSSLClient: Sendable {
    /// Where to connect, on 127.0.0.1.
    public var port: Int
    /// The name to ask for (SNI) and to find in the certificate.
    public var serverName: String
    /// Further options of `s_client`.
    public var options: [String]
    private let root: String

    /// Describes a client that trusts our authority and ends with an error if the server cannot be trusted.
    ///
    /// - Throws: as ``CertificateAuthority/shared()``.
    public init(port: Int, serverName: String = "localhost", options: [String] = []) throws(PeerError) {
        self.port = port
        self.serverName = serverName
        self.options = options
        root = try CertificateAuthority.shared().root
    }

    /// Connects, sends `text`, and reads until the server closes or `seconds` have passed.
    ///
    /// - Throws: ``PeerError/Code/timedOut`` with what came so far in its log; ``PeerError/Code/notInstalled``. A failed
    ///   handshake is a result with a status other than 0.
    public func run(sending text: String, seconds: Double = 20) async throws(PeerError) -> Command.Result {
        let arguments =
            ["s_client", "-connect", "127.0.0.1:\(port)", "-servername", serverName, "-verify_hostname", serverName]
            + ["-CAfile", root, "-verify_return_error", "-ign_eof"]
        return try await Command(OpenSSLServer.program, arguments + options, input: Array(text.utf8))
            .run(seconds: seconds)
    }
}
