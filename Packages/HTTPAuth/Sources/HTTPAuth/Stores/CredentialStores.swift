/// The stores of origins and those of proxies, apart: what is kept for one is never found for the other.
///
/// Finding asks the stores in order, so the first one is usually memory; saving writes to the first persistent one that
/// can be written.
///
/// ```swift
/// var stores = CredentialStores()
/// stores.origins.append(try NetrcFile(path: "/home/joe/.netrc"))
/// ```
public struct CredentialStores: Sendable {
    /// For origins, the first asked first.
    public var origins: [any CredentialStore]

    /// For proxies, the first asked first.
    public var proxies: [any CredentialStore]

    /// Makes stores; by default one in memory for each.
    public init(
        origins: [any CredentialStore] = [MemoryCredentialStore()],
        proxies: [any CredentialStore] = [MemoryCredentialStore()]
    ) {
        self.origins = origins
        self.proxies = proxies
    }

    /// The stores for a role.
    public subscript(role: ProtectionSpace.Role) -> [any CredentialStore] {
        switch role {
        case .origin: origins
        case .proxy: proxies
        }
    }

    /// The first of several stores that can be used now; throws what the first one threw if none can.
    ///
    /// ```swift
    /// let store = try CredentialStores.firstUsable(of: [SecretServiceStore(), CredentialFile(path: path, key: key)])
    /// ```
    public static func firstUsable(of stores: [any CredentialStore]) throws(HTTPAuthError) -> any CredentialStore {
        var failure: HTTPAuthError?
        for store in stores {
            do throws(HTTPAuthError) {
                try store.check()
                return store
            } catch {
                failure = failure ?? error
            }
        }
        throw failure ?? HTTPAuthError(.storeUnavailable)
    }

    /// What the first store that has it has. Throws what the first store threw if no other has it.
    public func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential? {
        var failure: HTTPAuthError?
        for store in self[query.space.role] {
            do throws(HTTPAuthError) {
                // A store of somebody else's is not trusted to keep spaces apart.
                if let found = try store.find(query), found.space == query.space { return found }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return nil
    }

    /// Saves to the first store that can be written; with `persistently` to the first such that outlives the process.
    ///
    /// Throws ``HTTPAuthError/Code/storeReadOnly`` if there is none.
    public func save(_ credential: Credential, persistently: Bool = false) throws(HTTPAuthError) {
        let store = self[credential.space.role].first { store in
            store.isWritable && !(persistently && store is MemoryCredentialStore)
        }
        guard let store else { throw HTTPAuthError(.storeReadOnly) }
        try store.save(credential)
    }

    /// Forgets what fits in all stores that can be written. Throws what the first store threw, after asking all.
    @discardableResult
    public func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int {
        var failure: HTTPAuthError?
        var count = 0
        for store in self[query.space.role] where store.isWritable {
            do throws(HTTPAuthError) { count += try store.remove(query) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return count
    }
}
