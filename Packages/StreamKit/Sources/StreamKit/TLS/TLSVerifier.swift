/// A rule of your own about a peer's certificates, in addition to all others.
///
/// ```swift
/// configuration.verifier = TLSVerifier { chain, name in
///     chain.first?.issuer.contains("O=Example") == true
/// }
/// ```
///
/// The rule is called in each full handshake, after the chain, the name and the pins have passed; with
/// ``TLSVerification/insecureNone``, after the pins. A resumed session is not checked again. The closure must not use
/// the stream whose handshake it is part of. Two verifiers are equal if one is a copy of the other. Make one and keep
/// it: connections with different verifiers share neither trust stores nor sessions.
public struct TLSVerifier: Sendable, Hashable {
    /// Receives the chain, the peer's own certificate first, and the requested name. Returns whether to accept the
    /// peer.
    public typealias Rule = @Sendable (_ chain: [Certificate], _ name: String?) -> Bool

    private let identity: IdentityBox<Rule>

    /// Makes a verifier from a rule.
    public init(_ rule: @escaping Rule) {
        identity = IdentityBox(rule)
    }

    func accepts(_ chain: [Certificate], name: String?) -> Bool {
        identity.value(chain, name)
    }
}
