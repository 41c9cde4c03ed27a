internal import EventLoops

/// A store of credentials.
///
/// Use separate stores for origins and proxies (see ``CredentialSearchList``). All members can be called from any thread,
/// and can block if the store is a file or a service.
///
/// Replaces `SecKeychainFindInternetPassword`, `SecKeychainAddInternetPassword` and `SecKeychainItemModifyContent`,
/// which Apple's guide uses with `CFHTTPAuthenticationRef`.
public protocol CredentialStore: Sendable {
    /// The name of the store for messages, such as "netrc file ~/.netrc".
    var name: String { get }

    /// Whether ``save(_:)`` is supported.
    var isWritable: Bool { get }

    /// Whether calls can wait for a file, a service or the user. If true, ``CredentialSearchList`` makes asynchronous calls
    /// on another thread.
    var mayBlock: Bool { get }

    /// Checks whether the store can be used, without prompting the user. ``CredentialSearchList/firstUsable(of:)`` calls
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

    /// Saves a credential unless there is an entry of the same user and space.
    ///
    /// - Throws: ``HTTPAuthError/Code/alreadyStored`` if there is one, or the errors of ``save(_:)``. The store is then
    ///   unchanged.
    func add(_ credential: Credential) throws(HTTPAuthError)

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

    /// Searches, then saves. Another program can save between the two; the stores of this package prevent that where
    /// they can.
    public func add(_ credential: Credential) throws(HTTPAuthError) {
        let found = try find(CredentialQuery(credential.space, user: credential.user))
        guard found == nil else { throw .alreadyStored(credential) }
        try save(credential)
    }

    /// Does nothing: the store can be used.
    public func check() throws(HTTPAuthError) {}
}

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

/// A credential store in memory, which lasts as long as the process.
///
/// ```swift
/// let store = MemoryCredentialStore()
/// try store.save(Credential(user: "joe", password: "secret", for: authentication.space))
/// try store.find(CredentialQuery(authentication.space))?.user    // "joe"
/// ```
public final class MemoryCredentialStore: CredentialStore {
    private let credentials = Locked<[Credential]>([])

    /// Creates an empty store.
    public init() {}

    /// "memory".
    public var name: String { "memory" }

    /// Returns false.
    public var mayBlock: Bool { false }

    /// Returns the most recently saved matching credential.
    public func find(_ query: CredentialQuery) -> Credential? {
        credentials.withLock { $0.last { query.matches($0) } }
    }

    /// Saves a credential; never throws.
    public func save(_ credential: Credential) {
        credentials.withLock { credentials in
            credentials.removeAll { CredentialQuery(credential.space, user: credential.user).matches($0) }
            credentials.append(credential)
        }
    }

    /// Saves a credential.
    ///
    /// - Throws: ``HTTPAuthError/Code/alreadyStored`` if there is one of the same user and space.
    public func add(_ credential: Credential) throws(HTTPAuthError) {
        try credentials.withLock { credentials throws(HTTPAuthError) in
            let query = CredentialQuery(credential.space, user: credential.user)
            guard !credentials.contains(where: query.matches) else { throw .alreadyStored(credential) }
            credentials.append(credential)
        }
    }

    /// Removes the matching credentials and returns their number. A secret is overwritten when its last copy is
    /// released.
    @discardableResult
    public func remove(_ query: CredentialQuery) -> Int {
        credentials.withLock { credentials in
            let count = credentials.count
            credentials.removeAll { query.matches($0) }
            return count - credentials.count
        }
    }

    /// Removes all credentials.
    public func removeAll() {
        credentials.withLock { $0 = [] }
    }
}

extension HTTPAuthError {
    package static func alreadyStored(_ credential: Credential) -> HTTPAuthError {
        HTTPAuthError(.alreadyStored, detail: "\(credential)")
    }
}

extension CredentialQuery {
    /// Returns whether a credential belongs to the space and, if the query has a user, to that user.
    package func matches(_ credential: Credential) -> Bool {
        credential.space == space && (user == nil || credential.user == user)
    }
}
