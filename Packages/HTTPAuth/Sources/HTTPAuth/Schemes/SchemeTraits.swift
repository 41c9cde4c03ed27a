/// The properties of a conversation that a client must know before it asks for credentials and sends requests.
public struct SchemeTraits: Hashable, Sendable {
    /// Whether the scheme authenticates the connection rather than the request. All rounds must then use one
    /// connection, which belongs to this user afterwards.
    public var isConnectionBound: Bool

    /// Whether requests must be sent one at a time, each after the response to the previous one.
    public var requiresOrderedRequests: Bool

    /// Whether a user name and a password are required. False if the system knows the user (Kerberos).
    public var requiresUserNameAndPassword: Bool

    /// Whether a Windows domain belongs to the user name.
    public var requiresAccountDomain: Bool

    /// Whether the next request is certain to receive another challenge, whatever it contains. Send it without its
    /// body.
    public var expectsAnotherChallenge: Bool

    /// Creates traits; the defaults are those of Basic.
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
