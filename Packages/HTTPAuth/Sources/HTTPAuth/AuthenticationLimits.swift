/// Limits on the data and the rounds that a server can demand.
public struct AuthenticationLimits: Hashable, Sendable {
    /// The maximum length of a challenge field in bytes. Kerberos tokens of users in many groups come close to 64 KiB.
    public var challengeLength = 128 << 10

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
