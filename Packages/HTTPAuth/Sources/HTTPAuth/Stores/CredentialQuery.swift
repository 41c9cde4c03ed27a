/// What is looked for in a store of credentials.
///
/// ```swift
/// let query = CredentialQuery(authentication.space)
/// let credential = try store.find(query)
/// ```
public struct CredentialQuery: Hashable, Sendable {
    /// Where the credential must be good. What is found belongs to this very space, realm included.
    public var space: ProtectionSpace

    /// The user it must be of; nil for any.
    public var user: String?

    /// Whether the application named the server or proxy itself; false for one that a redirect led to. A store whose
    /// entries do not say for which server they are must not give them to such a one.
    public var isNamed: Bool

    /// Makes a query.
    public init(_ space: ProtectionSpace, user: String? = nil, isNamed: Bool = true) {
        self.space = space
        self.user = user
        self.isNamed = isNamed
    }
}
