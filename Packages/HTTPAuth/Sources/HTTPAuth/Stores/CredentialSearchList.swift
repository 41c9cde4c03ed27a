@_spi(Packages) internal import EventLoops

/// The credential stores to search, those of origins and of proxies kept apart: a credential for one is never found for the other.
///
/// A search asks the stores in order, so the first one is usually in memory. A credential is saved to the first
/// writable store.
///
/// ```swift
/// var list = CredentialSearchList()
/// list.origins.append(file)
/// let credential = try await list.find(CredentialQuery(authentication.space))
/// ```
public struct CredentialSearchList: Sendable {
    /// The stores for origins, in search order.
    public var origins: [any CredentialStore]

    /// The stores for proxies, in search order.
    public var proxies: [any CredentialStore]

    /// Creates a list; by default with one store in memory for each role.
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

    /// Returns the first store that can be used.
    ///
    /// ```swift
    /// let store = try CredentialSearchList.firstUsable(of: [keyRing, file])
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

    /// Returns the credential from the first store that has one.
    ///
    /// - Throws: The error of the first failing store, if no store has the credential.
    public func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential? {
        var search = StoreSearch(query)
        return try search.find(in: self[query.space.role][...], andEnd: true)
    }

    /// Saves a credential to the first writable store or, with `persistently`, to the first one that outlives the
    /// process.
    ///
    /// - Throws: ``HTTPAuthError/Code/storeReadOnly`` if there is no such store.
    public func save(_ credential: Credential, persistently: Bool = false) throws(HTTPAuthError) {
        try writable(for: credential, persistently).save(credential)
    }

    /// Saves a credential to the store that `save` would use, unless that store has an entry of the same user and space.
    ///
    /// - Throws: ``HTTPAuthError/Code/alreadyStored`` if it has one; ``HTTPAuthError/Code/storeReadOnly`` if there is no
    ///   such store.
    public func add(_ credential: Credential, persistently: Bool = false) throws(HTTPAuthError) {
        try writable(for: credential, persistently).add(credential)
    }

    private func writable(
        for credential: Credential, _ persistently: Bool
    ) throws(HTTPAuthError) -> any CredentialStore {
        let store = self[credential.space.role].first { store in
            store.isWritable && !(persistently && store is MemoryCredentialStore)
        }
        guard let store else { throw HTTPAuthError(.storeReadOnly) }
        return store
    }

    /// Removes the matching credentials from all writable stores and returns their number.
    ///
    /// - Throws: The error of the first failing store, after all stores were called.
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

/// Asynchronous variants: stores that may block are called on another thread.
extension CredentialSearchList {
    /// Returns the credential from the first store that has one.
    ///
    /// - Throws: The error of the first failing store if no store has the credential; ``HTTPAuthError/Code/cancelled``
    ///   if the task is cancelled. The store may continue for a while.
    public func find(_ query: CredentialQuery) async throws(HTTPAuthError) -> Credential? {
        let stores = self[query.space.role]
        // A credential in memory is found even while another store waits for the user.
        let quick = stores.prefix { !$0.mayBlock }
        var search = StoreSearch(query)
        if let found = try search.find(in: quick, andEnd: quick.count == stores.count) { return found }
        let rest = stores[quick.endIndex...]
        return try await runBlocking(rest) { [search] () throws(HTTPAuthError) in
            var search = search
            return try search.find(in: rest, andEnd: true)
        }
    }

    /// Saves a credential to the first writable store or, with `persistently`, to the first persistent one.
    ///
    /// - Throws: ``HTTPAuthError/Code/storeReadOnly`` if there is no such store; ``HTTPAuthError/Code/cancelled`` if
    ///   the task is cancelled, though the credential may have been saved.
    public func save(_ credential: Credential, persistently: Bool = false) async throws(HTTPAuthError) {
        try await runBlocking(self[credential.space.role][...]) { () throws(HTTPAuthError) in
            try save(credential, persistently: persistently)
        }
    }

    /// The time limit for stores without their own. It is long, because a store may wait for the user.
    private static let fallbackTimeout = Duration.seconds(600)
    private static let threads = StoreThreads()

    private func runBlocking<Value: Sendable>(
        _ stores: ArraySlice<any CredentialStore>, _ body: @escaping @Sendable () throws(HTTPAuthError) -> Value
    ) async throws(HTTPAuthError) -> Value {
        guard let store = stores.first(where: \.mayBlock) else { return try body() }
        return try await Self.threads.part(for: store).value(
            until: .now + Self.fallbackTimeout, mapping: HTTPAuthError.init(wait:), of: body)
    }
}

/// A search for one credential, which asks stores in order.
private struct StoreSearch {
    private let query: CredentialQuery
    /// The error of the first failing store.
    private var failure: HTTPAuthError?

    init(_ query: CredentialQuery) {
        self.query = query
    }

    /// Returns the credential from the first of more stores that has one.
    ///
    /// - Parameter andEnd: whether there are no further stores.
    /// - Throws: at the end, the error of the first failing store, if no store has the credential.
    mutating func find(
        in stores: ArraySlice<any CredentialStore>, andEnd isEnd: Bool
    ) throws(HTTPAuthError) -> Credential? {
        for store in stores {
            do throws(HTTPAuthError) {
                // Another package's store is not trusted to keep spaces apart.
                if let found = try store.find(query), found.space == query.space { return found }
            } catch {
                failure = failure ?? error
            }
        }
        if isEnd, let failure { throw failure }
        return nil
    }
}

/// The threads that ask stores which may block.
///
/// A key ring waits for the user, and a file may be on a disk that hangs. The stores of one name wait together, so they occupy at most
/// ``maximumThreads`` threads, and leave the others to the stores of other names.
final class StoreThreads: Sendable {
    static let maximumThreads = 4

    private struct Part {
        // A part is kept by its callers and by the calls that it makes.
        weak var threads: BlockingThreads?
    }

    private let pool = BlockingThreads(limit: 8 * maximumThreads)
    private let parts = Locked<[String: Part]>([:])

    /// The threads for a store.
    func part(for store: any CredentialStore) -> BlockingThreads {
        let name = store.name
        return parts.withLock { parts in
            if let threads = parts[name]?.threads { return threads }
            parts = parts.filter { $0.value.threads != nil }
            let threads = BlockingThreads(partOf: pool, limit: Self.maximumThreads)
            parts[name] = Part(threads: threads)
            return threads
        }
    }
}
