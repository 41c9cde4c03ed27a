/// Bounds on what a server can make this package keep or do.
public struct AuthenticationLimits: Hashable, Sendable {
    /// The bytes of one challenge field. Kerberos tokens with many groups come close to 64 KiB.
    public var challengeLength = 128 << 10

    /// The challenges of one response.
    public var challengeCount = 32

    /// The parameters of one challenge.
    public var parameterCount = 64

    /// How often a server may answer one request with 401 or 407.
    public var roundCount = 10

    /// The URIs of a Digest challenge's `domain` that are kept.
    public var domainCount = 64

    /// Makes the default limits.
    public init() {}

    /// The default limits.
    public static let `default` = AuthenticationLimits()
}
