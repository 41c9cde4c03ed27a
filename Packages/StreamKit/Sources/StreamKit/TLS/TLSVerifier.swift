/// A rule of your own about a peer's certificates, on top of all others.
///
/// ```swift
/// configuration.verifier = TLSVerifier { chain, name in
///     chain.first?.issuer.contains("O=Example") == true
/// }
/// ```
///
/// It is asked during each full handshake, after the chain, the name and the pins have passed; with
/// ``TLSVerification/insecureNone`` it is the only judge. A resumed session was judged when it began. The closure must not
/// use the stream whose handshake it is part of. Two verifiers are equal if one is a copy of the other: make one and keep it, for
/// connections with different verifiers share neither trust stores nor sessions.
public struct TLSVerifier: Sendable, Hashable {
    /// Gets the chain, the peer's own certificate first, and the name that was asked for; says whether to go on.
    public typealias Rule = @Sendable (_ chain: [Certificate], _ name: String?) -> Bool

    private let identity: Identity<Rule>

    /// Makes a rule.
    public init(_ rule: @escaping Rule) {
        identity = Identity(rule)
    }

    func accepts(_ chain: [Certificate], name: String?) -> Bool {
        identity.value(chain, name)
    }
}
