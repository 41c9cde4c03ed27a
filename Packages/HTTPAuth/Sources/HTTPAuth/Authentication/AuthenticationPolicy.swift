/// Which schemes may be used, in which order, and how much a server may demand.
///
/// ```swift
/// var policy = AuthenticationPolicy()
/// policy.banned = [.basic]
/// policy.methods = [.digest] + policy.methods     // Digest before all others
/// ```
public struct AuthenticationPolicy: Sendable {
    /// The schemes that are known, the first choice first. A scheme that stands here twice counts where it stands first.
    ///
    /// By default those of this package, the strongest first.
    public var methods: [AuthenticationMethod] = [.negotiate, .ntlm, .digest, .basic]

    /// Schemes that are never used.
    public var banned: Set<AuthenticationMethod> = []

    /// Schemes that are used on encrypted connections only. `[.basic]` is a good choice where servers allow it.
    public var encryptedOnly: Set<AuthenticationMethod> = []

    /// Schemes that may be used although the server or proxy has offered, or received, a stronger form of login before
    /// (see ``AuthenticationMemory``). Empty by default: then the user is asked, or the login ends.
    public var mayWeakenLogins: Set<AuthenticationMethod> = []

    /// What is accepted in challenges beyond their grammar.
    public var leniency: ChallengeLeniency = .client

    /// What a server may demand.
    public var limits = AuthenticationLimits()

    /// Makes the default policy.
    public init() {}
}
