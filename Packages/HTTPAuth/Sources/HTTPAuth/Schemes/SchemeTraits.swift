/// What a client has to know about a conversation before it asks for credentials and sends requests.
public struct SchemeTraits: Hashable, Sendable {
    /// Whether the connection is authenticated and not the request: all rounds must go over one connection, which then
    /// belongs to this user.
    public var isConnectionBound: Bool

    /// Whether requests must go one after another, each after the answer to the one before.
    public var requiresOrderedRequests: Bool

    /// Whether a user name and a password are needed. False where the system knows who the user is (Kerberos).
    public var requiresUserNameAndPassword: Bool

    /// Whether a Windows domain belongs to the user name.
    public var requiresAccountDomain: Bool

    /// Whether the request that carries what was made last will be answered with another challenge, whatever else it
    /// holds: leave its body out.
    public var expectsAnotherChallenge: Bool

    /// Makes traits; by default those of Basic.
    public init(
        isConnectionBound: Bool = false, requiresOrderedRequests: Bool = false,
        requiresUserNameAndPassword: Bool = true, requiresAccountDomain: Bool = false,
        expectsAnotherChallenge: Bool = false
    ) {
        self.expectsAnotherChallenge = expectsAnotherChallenge
        self.isConnectionBound = isConnectionBound
        self.requiresOrderedRequests = requiresOrderedRequests
        self.requiresUserNameAndPassword = requiresUserNameAndPassword
        self.requiresAccountDomain = requiresAccountDomain
    }
}
