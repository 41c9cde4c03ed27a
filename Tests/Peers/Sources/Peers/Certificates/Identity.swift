/// The files of a certificate and its private key. All are PEM, unless said otherwise.
public struct Identity: Hashable, Sendable {
    /// The certificate, followed by what is sent along with it.
    public var chain: String
    /// The private key (PKCS #8, not encrypted).
    public var key: String
}
