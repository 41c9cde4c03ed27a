/// The schemes that may be used, their order, and the limits on what a server can demand.
///
/// ```swift
/// var policy = AuthenticationPolicy()
/// policy.banned = [.basic]
/// policy.methods = [.digest] + policy.methods     // Digest before all others
/// ```
public struct AuthenticationPolicy: Sendable {
    /// The supported schemes in order of preference. A duplicate counts at its first position.
    ///
    /// By default the schemes of this package, strongest first.
    public var methods: [AuthenticationMethod] = [.negotiate, .ntlm, .digest, .basic]

    /// Schemes that are never used.
    public var banned: Set<AuthenticationMethod> = []

    /// Schemes that are used on encrypted connections only. `[.basic]` is a good choice if the servers allow it.
    public var encryptedOnly: Set<AuthenticationMethod> = []

    /// Schemes that may be used even if the server or proxy has offered or received a stronger form of login before
    /// (see ``AuthenticationMemory``). Empty by default: the user is asked, or the login fails.
    public var mayWeakenLogins: Set<AuthenticationMethod> = []

    /// Deviations from the challenge grammar that are accepted.
    public var leniency: ChallengeLeniency = .client

    /// Limits on what a server can demand.
    public var limits = AuthenticationLimits()

    /// Creates the default policy.
    public init() {}
}

/// Limits on the data and the rounds that a server can demand.
public struct AuthenticationLimits: Hashable, Sendable {
    /// The maximum length of a challenge field in bytes. Kerberos tokens of users in many groups come close to 64 KiB.
    public var challengeLength = 128 << 10

    /// The maximum length in bytes of the values of a challenge that each request repeats: Digest's `realm`, `nonce` and `opaque`
    /// together. A server would refuse longer fields.
    public var repeatedLength = 8 << 10

    /// The maximum number of challenges in a response.
    public var challengeCount = 32

    /// The maximum number of parameters in a challenge.
    public var parameterCount = 64

    /// The maximum number of 401 or 407 responses to one request.
    public var roundCount = 10

    /// The maximum number of URIs kept from the `domain` of a Digest challenge.
    public var domainCount = 64

    /// Creates the default limits.
    public init() {}

    /// The default limits.
    public static let `default` = AuthenticationLimits()
}
