/// Client options of Digest.
public struct DigestOptions: Hashable, Sendable {
    /// Whether to sign the body (`auth-int`) if the server offers a choice and the body is known. If the server offers
    /// only `auth-int`, the body is always signed.
    public var prefersIntegrity = false

    /// Whether to reject a response without the server's proof (`rspauth`, RFC 7616 §3.5).
    ///
    /// A proof is always checked if it is present, except for `auth-int` when the body is unknown. With this option
    /// such a response is rejected too; pass the body to ``HTTPAuthentication/update(with:to:body:through:)``.
    public var requiresServerProof = false

    /// Whether MD5 is allowed. Many servers support nothing else.
    public var allowsMD5 = true

    /// Creates the default options.
    public init() {}
}
