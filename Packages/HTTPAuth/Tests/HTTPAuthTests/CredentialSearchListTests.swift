import EventLoops
import HTTPAuth
import Testing

@Suite struct CredentialSearchListTests {
    private let origin = ProtectionSpace(.origin, scheme: "http", host: "h", port: 80, realm: "r")
    private let proxy = ProtectionSpace(.proxy, scheme: "http", host: "h", port: 80, realm: "r")

    /// Memory is searched before persistent stores, and proxies are separate from origins of the same host and realm.
    // Parity: HA-060, HA-068
    @Test("HA-060, HA-068: separate stores for origins and proxies") func apart() throws {
        let persistent = MemoryCredentialStore()
        let stores = CredentialSearchList(origins: [MemoryCredentialStore(), persistent])
        persistent.save(Credential(user: "stored", password: "1", for: origin))
        #expect(try stores.find(CredentialQuery(origin))?.user == "stored")
        try stores.save(Credential(user: "typed", password: "2", for: origin))
        #expect(try stores.find(CredentialQuery(origin))?.user == "typed")
        #expect(try stores.find(CredentialQuery(origin, user: "stored"))?.password == Secret("1"))
        #expect(try stores.find(CredentialQuery(proxy)) == nil)
        try stores.save(Credential(user: "p", password: "3", for: proxy))
        #expect(try stores.find(CredentialQuery(proxy))?.user == "p")
        #expect(try stores.remove(CredentialQuery(origin)) == 2)
        #expect(try stores.find(CredentialQuery(origin)) == nil)
        #expect(try stores.find(CredentialQuery(proxy))?.user == "p")
    }

    @Test func changesInPlace() throws {
        let store = MemoryCredentialStore()
        store.save(Credential(user: "a", password: "1", for: origin))
        store.save(Credential(user: "a", password: "2", for: origin))
        #expect(store.find(CredentialQuery(origin))?.password == Secret("2"))
        #expect(store.remove(CredentialQuery(origin, user: "b")) == 0)
        #expect(store.remove(CredentialQuery(origin, user: "a")) == 1)
        for space in [origin.with(realm: "s"), origin.with(realm: nil), proxy] {
            #expect(store.find(CredentialQuery(space)) == nil)
        }
    }

    // Parity: HA-065
    @Test("HA-065: a duplicate is refused, and the first entry stays") func addsOnce() throws {
        let store = MemoryCredentialStore()
        let stores = CredentialSearchList(origins: [store])
        try stores.add(Credential(user: "a", password: "1", for: origin))
        let error = try #require(throws: HTTPAuthError.self) {
            try stores.add(Credential(user: "a", password: "2", for: origin))
        }
        #expect(error.code == .alreadyStored && error.detail == "a at origin http://h:80 \"r\"")
        #expect(store.find(CredentialQuery(origin))?.password == Secret("1"))
        try stores.add(Credential(user: "b", password: "3", for: origin))
        try stores.add(Credential(user: "a", password: "4", for: origin.with(realm: "s")))
        #expect(store.remove(CredentialQuery(origin)) == 2)
        #expect(throws: HTTPAuthError(.storeReadOnly)) {
            try stores.add(Credential(user: "a", password: "1", for: origin), persistently: true)
        }
    }

    /// A store of another package has `add` as well.
    // Parity: HA-065
    @Test("HA-065: a store that only saves refuses duplicates, too") func addsByDefault() throws {
        struct SavingStore: CredentialStore {
            let memory = MemoryCredentialStore()
            var name: String { "saving" }
            func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential? { memory.find(query) }
            func save(_ credential: Credential) throws(HTTPAuthError) { memory.save(credential) }
            func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int { memory.remove(query) }
        }
        let store = SavingStore()
        try store.add(Credential(user: "a", password: "1", for: origin))
        #expect(
            throws: HTTPAuthError(.alreadyStored, detail: "a at origin http://h:80 \"r\"")
        ) {
            try store.add(Credential(user: "a", password: "2", for: origin))
        }
        #expect(try store.find(CredentialQuery(origin))?.password == Secret("1"))
    }

    /// A credential for another space is ignored, and a failing store does not hide the others.
    @Test func badStores() throws {
        struct UnreliableStore: CredentialStore {
            let credential: Credential?
            var name: String { "unreliable" }
            func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential? {
                guard let credential else { throw HTTPAuthError(.storeUnavailable) }
                return credential
            }
            func save(_ credential: Credential) throws(HTTPAuthError) { throw HTTPAuthError(.storeUnavailable) }
            func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int {
                throw HTTPAuthError(.storeUnavailable)
            }
        }
        let memory = MemoryCredentialStore()
        let unreliable = UnreliableStore(credential: Credential(user: "x", password: "x", for: proxy))
        let stores = CredentialSearchList(origins: [unreliable, UnreliableStore(credential: nil), memory])
        #expect(throws: HTTPAuthError(.storeUnavailable)) { try stores.find(CredentialQuery(origin)) }
        memory.save(Credential(user: "m", password: "1", for: origin))
        #expect(try stores.find(CredentialQuery(origin))?.user == "m")
        #expect(throws: HTTPAuthError(.storeUnavailable)) { try stores.remove(CredentialQuery(origin)) }
        #expect(memory.find(CredentialQuery(origin)) == nil)
        #expect(throws: HTTPAuthError(.storeReadOnly)) {
            try CredentialSearchList(origins: []).save(Credential(user: "m", password: "1", for: origin))
        }
    }

    /// Waits for the user in each search.
    private final class WaitingStore: CredentialStore {
        let name: String
        private let answer = OneShot<Credential?>()
        private let searches = Locked(0)
        var count: Int { searches.withLock { $0 } }

        init(_ name: String) { self.name = name }

        func end() { answer.provide(nil) }

        func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential? {
            searches.withLock { $0 += 1 }
            return (try? answer.value()) ?? nil
        }

        func save(_ credential: Credential) throws(HTTPAuthError) { throw HTTPAuthError(.storeReadOnly) }
        func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int { 0 }
    }

    /// The windows of a key ring may stay open for minutes.
    @Test("a store that waits for the user holds neither memory nor other stores", .timeLimit(.minutes(5)))
    func storesThatWait() async throws {
        let (ring, file) = (WaitingStore("ring"), WaitingStore("file"))
        let memory = MemoryCredentialStore()
        memory.save(Credential(user: "m", password: "1", for: origin))
        let stores = CredentialSearchList(origins: [memory, ring])
        let other = CredentialQuery(origin.with(realm: "other"))
        await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { _ = try? await stores.find(other) } }
            while ring.count < 4, !Task.isCancelled { await Task.yield() }
            #expect(await (try? stores.find(CredentialQuery(origin)))?.user == "m")
            group.addTask { _ = try? await CredentialSearchList(origins: [file]).find(other) }
            while file.count < 1, !Task.isCancelled { await Task.yield() }
            ring.end()
            file.end()
        }
    }
}
