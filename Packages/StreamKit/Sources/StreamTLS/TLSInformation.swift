/// The result of a TLS handshake.
///
/// ```swift
/// if let tls = stream[.tlsInformation] {
///     print(tls.version, tls.cipher, tls.peerCertificates.first?.subject ?? "-")
/// }
/// ```
public struct TLSInformation: Sendable, Hashable {
    /// The version in use.
    public let version: TLSVersion

    /// The cipher suite, by its name in IANA's registry: `TLS_AES_128_GCM_SHA256`.
    public let cipher: String

    /// The application protocol that ALPN selected; nil if none was.
    public let applicationProtocol: String?

    /// The name sent as SNI; on a server, the name that the client requested.
    public let serverName: String?

    /// The name or address that the peer's certificate must contain, unless names are not verified; nil on a server, and on a client
    /// without a name.
    public let peerName: String?

    /// Whether an earlier session was resumed. Its certificates were verified when it began.
    public let isResumed: Bool

    /// The certificates that the peer sent, its own first. Empty for a client without one.
    public let peerCertificates: [Certificate]

    /// How much of the peer's certificate was verified.
    public let verification: TLSVerification

    /// Failures that a full verification would report, and that the configuration's relaxations allowed.
    public let allowedFailures: [TLSFailure]

    /// Whether the peer has proven its identity without any relaxation.
    public var isVerified: Bool {
        verification == .full && allowedFailures.isEmpty && !peerCertificates.isEmpty
    }
}
