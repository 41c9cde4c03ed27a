/// A search for a credential in a store.
///
/// ```swift
/// let query = CredentialQuery(authentication.space)
/// let credential = try store.find(query)
/// ```
public struct CredentialQuery: Hashable, Sendable {
    /// The protection space, including its realm. A credential that is found belongs to exactly this space.
    public var space: ProtectionSpace

    /// The user name; nil matches any user.
    public var user: String?

    /// Whether the application named the server or proxy; false if a redirect chose it. A store must not return an
    /// entry without a host, such as netrc's `default`, if this is false.
    public var isNamed: Bool

    /// Creates a query.
    public init(_ space: ProtectionSpace, user: String? = nil, isNamed: Bool = true) {
        self.space = space
        self.user = user
        self.isNamed = isNamed
    }
}
