/// The paths of a certificate and its private key, in PEM unless stated otherwise.
public struct Identity: Hashable, Sendable {
    /// The certificate, followed by its intermediate certificates.
    public var chain: String
    /// The private key (PKCS #8, not encrypted).
    public var key: String
}
