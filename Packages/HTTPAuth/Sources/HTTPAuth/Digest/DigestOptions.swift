/// Choices that Digest leaves to the client.
public struct DigestOptions: Hashable, Sendable {
    /// Whether the body is signed (`auth-int`) where the server offers a choice and the body is known. It is signed
    /// anyway where the server offers nothing else.
    public var prefersIntegrity = false

    /// Whether an answer without the server's own proof (`rspauth`, RFC 7616 §3.5) is refused. Proof that is there is
    /// always checked, but for one that covers a body (`auth-int`) that is not known. Where proof is required, such an
    /// answer is refused, too: pass the body to ``HTTPAuthentication/update(with:to:body:through:)``.
    public var requiresServerProof = false

    /// Whether MD5 is good enough. Many servers know nothing else.
    public var allowsMD5 = true

    /// Makes the default choices.
    public init() {}
}
