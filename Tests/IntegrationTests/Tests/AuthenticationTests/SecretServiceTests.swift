import CredentialStores
import NetKit
import Peers
import Testing

/// Passwords in a Secret Service, with gnome-keyring and a second service, verified with other clients.
@Suite struct SecretServiceTests {
    private let space = ProtectionSpace(.origin, scheme: "https", host: "example.test", port: 443, realm: "staff")

    private static let gnome = Result {
        let ring = KeyRing(.gnome)
        try ring.start()
        return ring
    }

    private static let schema = ["xdg:schema", "org.gnome.keyring.NetworkPassword"]

    private func store(_ ring: KeyRing, promptTimeout: Duration? = nil) throws -> SecretServiceStore {
        SecretServiceStore(busAddress: try ring.busAddress, promptTimeout: promptTimeout)
    }

    /// A service for one test.
    private func with(_ keeper: KeyRing.Keeper, _ body: (KeyRing) async throws -> Void) async throws {
        let ring = KeyRing(keeper)
        try ring.start()
        defer { ring.stop() }
        try await body(ring)
    }

    private func failure(_ body: () throws -> Void) -> HTTPAuthError {
        do { try body() } catch { return error as? HTTPAuthError ?? HTTPAuthError(.outOfOrder, detail: "\(error)") }
        return HTTPAuthError(.outOfOrder, detail: "nothing was thrown")
    }

    // Parity: HA-062, HA-063, HA-065, HA-067 (GNOME Keyring)
    @Test(
        "HA-062, HA-063, HA-065, HA-067: what was added is found by all its parts, and forgotten",
        arguments: [KeyRing.Keeper.gnome, .scripted([]), .scripted([.plain])])
    func savedEntriesAreFound(_ keeper: KeyRing.Keeper) async throws {
        try await with(keeper) { ring in
            let store = try store(ring)
            try store.check()
            #expect(try store.find(CredentialQuery(space)) == nil)
            let joe = Credential(user: "jöe", password: "pässwörd ✓", for: space)
            try store.save(joe)
            #expect(try store.find(CredentialQuery(space)) == joe)
            #expect(try store.find(CredentialQuery(space, user: "jöe")) == joe)
            #expect(try store.find(CredentialQuery(space, user: "ann")) == nil)
            let others = [
                ProtectionSpace(.origin, scheme: "http", host: "example.test", port: 443, realm: "staff"),
                ProtectionSpace(.origin, scheme: "https", host: "www.example.test", port: 443, realm: "staff"),
                ProtectionSpace(.origin, scheme: "https", host: "example.test", port: 8443, realm: "staff"),
                ProtectionSpace(.proxy, scheme: "https", host: "example.test", port: 443, realm: "staff"),
                space.with(realm: "guests"), space.with(realm: nil),
            ]
            for other in others { #expect(try store.find(CredentialQuery(other)) == nil) }

            // Without a user name, the entry changed last is found.
            let ann = Credential(user: "ann", password: "", for: space)
            try store.save(ann)
            #expect(try store.find(CredentialQuery(space, user: "ann")) == ann)
            let hash = Credential(
                user: "ann", accountDomain: "PEERS", proof: .ntHash(Secret(bytes: (0..<16).map { $0 * 17 })),
                for: others[3].with(realm: nil))
            try store.save(hash)
            #expect(try store.find(CredentialQuery(hash.space)) == hash)
            // A password without a domain replaces it.
            let plain = Credential(user: "ann", password: "p", for: hash.space)
            try store.save(plain)
            #expect(try store.find(CredentialQuery(hash.space)) == plain)

            #expect(try store.remove(CredentialQuery(space, user: "ann")) == 1)
            #expect(try store.find(CredentialQuery(space)) == joe)
            #expect(try store.remove(CredentialQuery(space)) == 1)
            #expect(try store.remove(CredentialQuery(space)) == 0)
            #expect(try store.find(CredentialQuery(plain.space)) == plain)
        }
    }

    // Parity: HA-066 (GNOME Keyring)
    @Test("HA-066: other programs read our entries, and we read theirs")
    func entriesAreSharedWithOtherPrograms() async throws {
        let ring = try Self.gnome.get()
        let store = try store(ring)
        let space = ProtectionSpace(.origin, scheme: "http", host: "shared.test", port: 8080, realm: "r")
        try store.save(Credential(user: "joe", password: "from us é", for: space))
        let attributes = ["server", "shared.test", "protocol", "http", "port", "8080", "user", "joe", "domain", "r"]
        let seen = try await ring.run("secret-tool", "search", "--all", attributes[0], attributes[1])
        #expect(seen.contains("label = joe at origin http://shared.test:8080 \"r\""), "\(seen)")
        #expect(seen.contains("secret = from us é") && seen.contains("schema = org.gnome.keyring.NetworkPassword"))
        for (name, value) in zip(attributes.indices.filter { $0 % 2 == 0 }, attributes.indices.filter { $0 % 2 == 1 }) {
            #expect(seen.contains("attribute.\(attributes[name]) = \(attributes[value])"), "\(seen)")
        }
        // Another client, on another implementation of D-Bus.
        let script = """
            import secretstorage
            bus = secretstorage.dbus_init()
            for item in secretstorage.search_items(bus, {"server": "shared.test"}): print(item.get_secret().decode())
            secretstorage.get_default_collection(bus).create_item("by hand", {"xdg:schema":
                "org.gnome.keyring.NetworkPassword", "server": "theirs.test", "protocol": "https", "user": "joe",
                "comment": "kept"}, "from them".encode())
            """
        #expect(try await ring.run("python3", "-c", script) == "from us é\n")

        // Without a realm, an entry applies to the whole server; without a port, to the default port.
        let theirs = ProtectionSpace(.origin, scheme: "https", host: "theirs.test", port: 443, realm: "any")
        #expect(try store.find(CredentialQuery(theirs))?.password == Secret("from them"))
        #expect(try store.find(CredentialQuery(theirs.with(realm: nil)))?.space == theirs.with(realm: nil))
        let elsewhere = ProtectionSpace(.origin, scheme: "https", host: "theirs.test", port: 8443, realm: "any")
        #expect(try store.find(CredentialQuery(elsewhere)) == nil)
        // An entry for the realm itself takes precedence, and the other one is unchanged.
        try store.save(Credential(user: "joe", password: "of the realm", for: theirs))
        #expect(try store.find(CredentialQuery(theirs))?.password == Secret("of the realm"))
        #expect(try store.find(CredentialQuery(theirs.with(realm: "other")))?.password == Secret("from them"))
        #expect(try store.remove(CredentialQuery(theirs)) == 1)
        #expect(try store.find(CredentialQuery(theirs))?.password == Secret("from them"))
    }

    /// Entries as internet passwords: those of other programs, whatever attributes they have, and ours in other programs.
    @Test func entriesAreInternetPasswords() async throws {
        try await with(.gnome) { ring in
            let store = try store(ring)
            let joe = PasswordAttributes(
                server: "list.test", scheme: "ftp", port: 2121, realm: "r", user: "joe", path: "/a",
                authenticationType: "digest", label: "our label")
            var entry = try store.add(Secret("from us é"), joe)
            #expect(entry.attributes == joe && !entry.isLocked)
            #expect(throws: HTTPAuthError.self) { try store.add(Secret("x"), joe) }
            let seen = try await ring.run("secret-tool", "search", "--all", "--unlock", "server", "list.test")
            for line in [
                "label = our label", "secret = from us é", "schema = org.gnome.keyring.NetworkPassword",
                "attribute.object = /a", "attribute.authtype = digest", "attribute.protocol = ftp",
                "attribute.port = 2121", "attribute.user = joe", "attribute.domain = r",
            ] { #expect(seen.contains(line), "\(seen)") }

            // With few attributes, and with the schema that secret-tool uses without being told.
            try await ring.run(
                "secret-tool", "store", "--label=theirs", "server", "list.test", "user", "ann", "colour", "red",
                input: "from them")
            let found = try store.entries(PasswordAttributes(server: "list.test"))
            #expect(Set(found.map(\.attributes.user)) == ["joe", "ann"])
            let query = PasswordAttributes(server: "list.test", scheme: "https", port: 443, realm: "any", path: "/")
            let theirs = try #require(try store.entries(query).first)
            #expect(theirs.attributes == PasswordAttributes(server: "list.test", user: "ann", label: "theirs"))
            #expect(try store.password(of: theirs) == Secret("from them"))
            #expect(try store.entries(PasswordAttributes(user: "ann")).map(\.attributes) == [theirs.attributes])

            // Changes keep what other programs saved, and name exactly one entry.
            var changed = theirs.attributes
            (changed.user, changed.label, changed.port) = ("eve", "renamed", 8443)
            let eve = try #require(try store.change(theirs, to: changed, Secret("new")))
            #expect(eve.attributes == changed)
            #expect(try store.password(of: theirs) == nil && store.password(of: eve) == Secret("new"))
            let after = try await ring.run("secret-tool", "search", "--all", "--unlock", "colour", "red")
            for line in ["label = renamed", "secret = new", "attribute.user = eve", "attribute.port = 8443"] {
                #expect(after.contains(line), "\(after)")
            }
            // An entry that is read again has what another reference saved; without a label, it has the usual one.
            #expect(try store.current(theirs) == eve)
            changed.label = nil
            #expect(try store.change(eve, to: changed, nil)?.attributes.label == "eve at list.test")
            entry = try #require(try store.change(entry, to: joe, nil))
            #expect(try store.password(of: entry) == Secret("from us é"))
            #expect(throws: HTTPAuthError.self) { try store.change(eve, to: joe, nil) }
            #expect(try store.remove(eve) && !store.remove(eve) && store.remove(entry))
            #expect(try store.current(theirs) == nil)
            #expect(try store.entries(PasswordAttributes(server: "list.test")).isEmpty)
        }
    }

    // Parity: HA-064 (GNOME Keyring)
    @Test("HA-064: a password is changed in place; label, date and other attributes are kept")
    func aPasswordIsChangedInPlace() async throws {
        let ring = try Self.gnome.get()
        let store = try store(ring)
        let space = ProtectionSpace(.origin, scheme: "http", host: "place.test", port: 80, realm: "r")
        let attributes = """
            {"xdg:schema": "org.gnome.keyring.NetworkPassword", "server": "place.test", "protocol": "http",
             "user": "joe", "domain": "r", "comment": "from the office"}
            """
        let print = """
            for item in secretstorage.search_items(bus, {"server": "place.test"}):
                print(item.item_path, item.get_label(), item.get_created(), item.get_attributes().get("comment"))
            """
        let begin = "import secretstorage\nbus = secretstorage.dbus_init()\n"
        let create = "secretstorage.get_default_collection(bus).create_item('my label', \(attributes), b'old')\n"
        let before = try await ring.run("python3", "-c", begin + create + print)
        #expect(before.contains("my label") && before.contains("from the office"), "\(before)")
        #expect(try store.find(CredentialQuery(space))?.password == Secret("old"))
        try store.save(Credential(user: "joe", password: "new", for: space))
        #expect(try store.find(CredentialQuery(space))?.password == Secret("new"))
        try store.save(Credential(user: "joe", accountDomain: "D", proof: .password(Secret("3")), for: space))
        #expect(try store.find(CredentialQuery(space))?.accountDomain == "D")
        #expect(try await ring.run("python3", "-c", begin + print) == before)
    }

    @Test("concurrent saves: no entry is lost")
    func concurrentSavesLoseNoEntry() async throws {
        let store = try store(try Self.gnome.get())
        let space = ProtectionSpace(.proxy, scheme: "http", host: "busy.test", port: 3128, realm: "r")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                let stores = CredentialSearchList(proxies: [store])
                group.addTask {
                    let credential = Credential(user: "user\(number)", password: "\(number)", for: space)
                    try await stores.save(credential, persistently: true)
                }
            }
            try await group.waitForAll()
        }
        for number in 0..<8 {
            #expect(
                try store.find(CredentialQuery(space, user: "user\(number)"))?.password == Secret("\(number)"))
        }
        #expect(try store.remove(CredentialQuery(space)) == 8)
    }

    @Test("a key ring that stays locked is an error that says so")
    func aLockedKeyRingIsAnError() async throws {
        try await with(.gnome) { ring in
            let credential = Credential(user: "joe", password: "p", for: space)
            try store(ring).save(credential)
            try await ring.lock()
            try store(ring).check()
            #expect(try store(ring).find(CredentialQuery(space.with(realm: "unknown"))) == nil)
            // There is no display for gnome-keyring's window, which it treats as a user who declines.
            for limit in [nil, Duration.seconds(20)] {
                let store = try store(ring, promptTimeout: limit)
                for error in [
                    failure { _ = try store.find(CredentialQuery(space)) }, failure { try store.save(credential) },
                    failure { try store.remove(CredentialQuery(space)) },
                ] {
                    #expect(error.code == .storeLocked)
                    #expect(error.description.hasPrefix("the password store is locked (the key ring is locked"))
                }
            }
        }
    }

    @Test("the user unlocks, declines, or does not answer")
    func theUserUnlocksDeclinesOrDoesNotAnswer() async throws {
        let credential = Credential(user: "joe", password: "p", for: space)
        try await with(.scripted([.locked])) { ring in
            #expect(failure { try store(ring).save(credential) }.code == .storeLocked)
            try store(ring, promptTimeout: .seconds(20)).save(credential)
            #expect(try store(ring).find(CredentialQuery(space)) == credential)
        }
        try await with(.scripted([.locked, .declining])) { ring in
            let error = failure { try store(ring, promptTimeout: .seconds(20)).save(credential) }
            #expect(error.code == .storeLocked && error.detail?.contains("declined") == true)
        }
        try await with(.scripted([.locked, .absent])) { ring in
            let error = failure { try store(ring, promptTimeout: .milliseconds(50)).save(credential) }
            #expect(error.code == .storeLocked && error.detail?.contains("was not unlocked") == true)
        }
    }

    @Test("no bus, no service, no key ring, no answer: each error says what is missing")
    func missingServicesAreErrors() async throws {
        let query = CredentialQuery(space)
        let noBus = failure { _ = try SecretServiceStore(busAddress: "unix:path=/nonexistent/bus").find(query) }
        #expect(noBus.code == .storeMissing)
        #expect(noBus.detail == "session bus: /nonexistent/bus: No such file or directory")
        let elsewhere = failure { _ = try SecretServiceStore(busAddress: "tcp:host=localhost,port=1").find(query) }
        #expect(elsewhere.code == .storeMissing)
        #expect(elsewhere.detail == "session bus: the address contains no Unix socket")
        try await with(.missing) { ring in
            let error = failure { _ = try store(ring).find(query) }
            #expect(error.code == .storeMissing && error.detail?.contains("gnome-keyring, KWallet") == true)
            // The next store in the caller's chain is used.
            let memory = MemoryCredentialStore()
            let usable = try CredentialSearchList.firstUsable(of: [store(ring), memory])
            #expect(usable.name == "memory")
            let ofChain = failure { _ = try CredentialSearchList.firstUsable(of: [store(ring)]) }
            #expect(ofChain.code == .storeMissing && ofChain.detail == error.detail)
        }
        try await with(.scripted([.homeless])) { ring in
            let error = failure { try store(ring).check() }
            #expect(error.code == .storeUnavailable && error.detail?.contains("no default key ring") == true)
        }
        try await with(.scripted([.silent])) { ring in
            let store = SecretServiceStore(busAddress: try ring.busAddress, replyTimeout: .milliseconds(300))
            #expect(failure { try store.save(Credential(user: "u", password: "p", for: space)) }.code == .timedOut)
        }
        try await with(.scripted([.confused])) { ring in
            let credential = Credential(user: "u", password: "p", for: space)
            #expect(failure { try store(ring).save(credential) }.code == .storeUnavailable)
        }
    }
}
