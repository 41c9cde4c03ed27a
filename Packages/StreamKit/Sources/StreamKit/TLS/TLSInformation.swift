/// What a TLS handshake agreed on.
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

    /// The application protocol chosen by ALPN; nil if none was.
    public let applicationProtocol: String?

    /// The name that SNI carried; on a server, what the client asked for.
    public let serverName: String?

    /// An earlier session was resumed; its certificates were verified when it began.
    public let isResumed: Bool

    /// What the peer sent, its own certificate first. Empty for a client without one.
    public let peerCertificates: [Certificate]

    /// How much was checked.
    public let verification: TLSVerification

    /// What a full check would have refused, and a relaxation of the configuration let pass.
    public let overlooked: [TLSFailure]

    /// The peer has proven who it is, without any relaxation.
    public var isVerified: Bool {
        verification == .full && overlooked.isEmpty && !peerCertificates.isEmpty
    }
}
