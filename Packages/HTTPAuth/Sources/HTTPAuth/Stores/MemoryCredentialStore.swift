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

extension CredentialQuery {
    /// Returns whether a credential belongs to the space and, if the query has a user, to that user.
    func matches(_ credential: Credential) -> Bool {
        credential.space == space && (user == nil || credential.user == user)
    }
}
