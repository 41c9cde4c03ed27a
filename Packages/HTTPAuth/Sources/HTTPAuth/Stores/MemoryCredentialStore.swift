/// Credentials of this process, gone with it.
///
/// ```swift
/// let store = MemoryCredentialStore()
/// try store.save(Credential(user: "joe", password: "secret", for: authentication.space))
/// try store.find(CredentialQuery(authentication.space))?.user    // "joe"
/// ```
public final class MemoryCredentialStore: CredentialStore {
    private let credentials = Locked<[Credential]>([])

    /// Makes an empty store.
    public init() {}

    /// "memory".
    public var name: String { "memory" }

    /// False.
    public var mayBlock: Bool { false }

    /// The credential saved last that fits.
    public func find(_ query: CredentialQuery) -> Credential? {
        credentials.withLock { $0.last { query.fits($0) } }
    }

    /// Keeps a credential; never throws.
    public func save(_ credential: Credential) {
        credentials.withLock { credentials in
            credentials.removeAll { CredentialQuery(credential.space, user: credential.user).fits($0) }
            credentials.append(credential)
        }
    }

    /// Forgets what fits. The secrets are overwritten once nobody else holds them.
    @discardableResult
    public func remove(_ query: CredentialQuery) -> Int {
        credentials.withLock { credentials in
            let count = credentials.count
            credentials.removeAll { query.fits($0) }
            return count - credentials.count
        }
    }

    /// Forgets everything.
    public func removeAll() {
        credentials.withLock { $0 = [] }
    }
}

extension CredentialQuery {
    /// Whether a credential is of the space, and of the user if one is asked for.
    func fits(_ credential: Credential) -> Bool {
        credential.space == space && (user == nil || credential.user == user)
    }
}
