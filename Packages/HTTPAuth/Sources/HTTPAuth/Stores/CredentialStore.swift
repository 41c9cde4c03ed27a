/// A place where credentials are kept.
///
/// Keep one for origins and another for proxies (see ``CredentialStores``). All members may be called from any thread,
/// and may block where the store is a file or a service.
///
/// Replaces `SecKeychainFindInternetPassword`, `SecKeychainAddInternetPassword` and
/// `SecKeychainItemModifyContent`, which Apple's guide uses with `CFHTTPAuthenticationRef`.
public protocol CredentialStore: Sendable {
    /// What the store is, for messages: "netrc file ~/.netrc".
    var name: String { get }

    /// Whether ``save(_:)`` can work.
    var isWritable: Bool { get }

    /// Whether its members may wait: for a file, a service, a person. They are called on a thread of their own then.
    var mayBlock: Bool { get }

    /// Whether it can be used now, found out without asking a person: to choose one of several
    /// (``CredentialStores/firstUsable(of:)``). Throws why not.
    func check() throws(HTTPAuthError)

    /// The credential that fits; nil if there is none. Throws ``HTTPAuthError`` if the store cannot be read.
    func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential?

    /// Keeps a credential. One of the same user for the same space is changed in place, and what else the store knows
    /// about it stays.
    ///
    /// Throws ``HTTPAuthError/Code/storeReadOnly`` if the store cannot be written, or what went wrong in it; it is
    /// then as it was.
    func save(_ credential: Credential) throws(HTTPAuthError)

    /// Forgets what fits; for a query without a user all users of the space. Returns how many there were.
    @discardableResult
    func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int
}

extension CredentialStore {
    /// True.
    public var isWritable: Bool { true }

    /// True.
    public var mayBlock: Bool { true }

    /// Nothing: the store can be used.
    public func check() throws(HTTPAuthError) {}
}
