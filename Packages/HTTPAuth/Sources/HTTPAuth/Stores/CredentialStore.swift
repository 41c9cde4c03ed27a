/// A store of credentials.
///
/// Use separate stores for origins and proxies (see ``CredentialStores``). All members can be called from any thread,
/// and can block if the store is a file or a service.
///
/// Replaces `SecKeychainFindInternetPassword`, `SecKeychainAddInternetPassword` and `SecKeychainItemModifyContent`,
/// which Apple's guide uses with `CFHTTPAuthenticationRef`.
public protocol CredentialStore: Sendable {
    /// The name of the store for messages, such as "netrc file ~/.netrc".
    var name: String { get }

    /// Whether ``save(_:)`` is supported.
    var isWritable: Bool { get }

    /// Whether calls can wait for a file, a service or the user. If true, ``CredentialStores`` makes asynchronous calls
    /// on another thread.
    var mayBlock: Bool { get }

    /// Checks whether the store can be used, without prompting the user. ``CredentialStores/firstUsable(of:)`` calls
    /// it.
    ///
    /// - Throws: The reason why the store cannot be used.
    func check() throws(HTTPAuthError)

    /// Returns the matching credential; nil if there is none.
    ///
    /// - Throws: ``HTTPAuthError`` if the store cannot be read.
    func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential?

    /// Saves a credential. An entry of the same user and space is updated in place and keeps its other data.
    ///
    /// - Throws: ``HTTPAuthError/Code/storeReadOnly`` if the store cannot be written, or another error. The store is
    ///   then unchanged.
    func save(_ credential: Credential) throws(HTTPAuthError)

    /// Removes the matching credentials and returns their number. A query without a user matches all users of the
    /// space.
    @discardableResult
    func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int
}

extension CredentialStore {
    /// Returns true.
    public var isWritable: Bool { true }

    /// Returns true.
    public var mayBlock: Bool { true }

    /// Does nothing: the store can be used.
    public func check() throws(HTTPAuthError) {}
}
