import EventLoops
import Foundation
import HTTPAuthTesting
import Testing

@testable import CredentialStores

/// Entries of a Secret Service that the test plays.
@Suite struct SecretServicePasswordsTests {
    private let space = ProtectionSpace(.origin, scheme: "https", host: "h", port: 8443, realm: "staff")

    private func item(_ user: String, port: Int, created: UInt64 = 1) -> ScriptedSecretService.Item {
        .init(
            attributes: [
                "xdg:schema": SecretServiceItem.schema, "server": "h", "protocol": "https", "user": user,
                "port": "\(port)",
                "domain": "staff",
            ], created: created)
    }

    /// An entry behind many that the service cannot tell from it is found; what cannot be examined is an error, and not absent.
    @Test func entriesBehindManyOthersAreFound() throws {
        let service = try ScriptedSecretService()
        for number in 0..<400 { service.set(item("joe", port: 1000 + number), at: "/i\(number)") }
        service.set(item("joe", port: 8443), at: "/i400")
        let store = SecretServiceStore(busAddress: service.address)
        #expect(try store.find(CredentialQuery(space, user: "joe"))?.password == Secret("secret of /i400"))
        let search = PasswordAttributes(server: "h", scheme: "https", port: 8443, user: "joe")
        #expect(try store.entries(search).map(\.path) == ["/i400"])
        for number in 401...SecretServiceConversation.maximumItems {
            service.set(item("ann", port: 1), at: "/i\(number)")
        }
        #expect(failure(of: { _ = try store.entries(search) })?.code == .storeUnavailable)
        #expect(failure(of: { _ = try store.find(CredentialQuery(space, user: "joe")) }) == nil)
    }

    /// The service compares the texts of attributes alone.
    @Test(arguments: [("Example.org", "example.org"), ("example.org.", "example.org"), ("[::1]", "::1")])
    func serversThatOtherProgramsWriteOtherwise(written: String, server: String) throws {
        let service = try ScriptedSecretService()
        service.set(.init(attributes: ["server": written, "user": "joe"], created: 1), at: "/i")
        service.set(item("joe", port: 1), at: "/other")
        let store = SecretServiceStore(busAddress: service.address)
        let search = PasswordAttributes(server: server, user: "joe")
        #expect(try store.entries(search).map(\.path) == ["/i"])
        #expect(try store.entries(PasswordAttributes(server: server)).map(\.path) == ["/i"])
        #expect(failure(of: { _ = try store.add(Secret("x"), search) })?.code == .alreadyStored)
    }

    /// The item at the path of an entry is read, changed and removed only as the caller has seen it. Another caller sees it as it is now, if
    /// it is still the same one: with the same time of creation, or saved anew (KWallet).
    @Test func anotherItemAtTheSamePathIsLeftAlone() throws {
        let service = try ScriptedSecretService()
        let store = SecretServiceStore(busAddress: service.address)
        for (old, new, isCurrent, isSame) in [
            (item("joe", port: 1), item("joe", port: 1), true, true),
            (item("joe", port: 1), item("joe", port: 1, created: 2), true, true),
            (item("joe", port: 1), item("joe", port: 2, created: 2), false, false),
            (item("joe", port: 1), item("ann", port: 1), true, false),
            (item("joe", port: 1), item("joe", port: 2), true, false),
            (item("joe", port: 1, created: 0), item("joe", port: 2, created: 0), false, false),
            (item("joe", port: 1, created: 0), item("joe", port: 1, created: 0), true, true),
        ] {
            service.set(old, at: "/i")
            let entry = try #require(try store.entries(PasswordAttributes(server: "h")).first)
            service.set(new, at: "/i")
            #expect(try store.current(entry)?.attributes.port == (isCurrent ? Int(new.attributes["port"]!) : nil))
            #expect((try store.password(of: entry) != nil) == isSame)
            var changed = entry.attributes
            changed.label = "changed"
            #expect(try store.change(entry, to: changed, nil)?.attributes.label == (isSame ? "changed" : nil))
            #expect(service.label(at: "/i") == (isSame ? "changed" : "label"))
            #expect(try store.remove(entry) == isSame)
            #expect((service.label(at: "/i") == nil) == isSame)
        }
    }

    /// While the user is asked to unlock an item, another program may change it.
    @Test func anItemThatChangesWhileItIsUnlockedIsLeftAlone() throws {
        let service = try ScriptedSecretService()
        let store = SecretServiceStore(busAddress: service.address)
        for (unlocked, isSame) in [(item("joe", port: 1), true), (item("ann", port: 1), false), (nil, false)] {
            func entry() throws -> PasswordEntry {
                service.set(item("joe", port: 1), at: "/i", unlockingTo: unlocked)
                return try #require(try store.entries(PasswordAttributes(server: "h")).first)
            }
            #expect((try store.password(of: entry()) != nil) == isSame)
            let read = try entry()
            var changed = read.attributes
            changed.label = "changed"
            #expect((try store.change(read, to: changed, nil) != nil) == isSame)
            #expect(service.label(at: "/i") == (isSame ? "changed" : unlocked?.label))
            #expect(try store.remove(entry()) == isSame)
            #expect(service.label(at: "/i") == (isSame ? nil : unlocked?.label))
        }
    }

    /// An entry is looked up by itself, however many the server has, and one that vanishes costs no other.
    @Test func entriesAreIndependent() throws {
        let service = try ScriptedSecretService()
        for number in 0..<100 { service.set(item("joe", port: number), at: "/i\(number)") }
        service.list("/vanished")
        let store = SecretServiceStore(busAddress: service.address)
        let entries = try store.entries(PasswordAttributes(server: "h"))
        #expect(entries.count == 100)
        let before = service.descriptions
        for entry in entries.prefix(10) {
            _ = try store.current(entry)
            _ = try store.password(of: entry)
            #expect(try store.remove(entry))
        }
        #expect(service.descriptions - before == 30)
    }
}

/// A message bus with a Secret Service that supports no encryption and shows no prompt, for one connection after the other.
final class ScriptedSecretService: Sendable {
    struct Item {
        var attributes: [String: String]
        var created: UInt64
        var label = "label"
    }

    private struct State {
        var items: [String: Item] = [:]
        /// What locked items are when they have been unlocked.
        var locked: [String: Item?] = [:]
        /// The paths that searches find although there is no item.
        var vanished: [String] = []
        var descriptions = 0
    }

    private let state = Locked(State())
    private let listener: Int32
    private let path: String

    var address: String { "unix:path=\(path)" }

    init() throws {
        path = "/tmp/netkit-\(UUID())"
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(isBound == 0 && listen(listener, 8) == 0)
        Thread.detachNewThread { [listener, weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else {
                    close(listener)  // only here: its number would be another's
                    return
                }
                ScriptedSecretService.serve(connection) { self?.reply(to: $0) }
                close(connection)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        unlink(path)
    }

    func set(_ item: Item?, at path: String) {
        state.withLock { state in
            state.items[path] = item
            state.locked[path] = nil
        }
    }

    /// Sets a locked item, and what it is when it has been unlocked.
    func set(_ item: Item, at path: String, unlockingTo unlocked: Item?) {
        state.withLock { state in
            state.items[path] = item
            state.locked[path] = .some(unlocked)
        }
    }

    /// Lets searches find a path without an item.
    func list(_ path: String) { state.withLock { $0.vanished.append(path) } }

    /// How many descriptions of items were asked for.
    var descriptions: Int { state.withLock { $0.descriptions } }

    func label(at path: String) -> String? { state.withLock { $0.items[path]?.label } }

    private static func serve(_ connection: Int32, _ reply: (DBusMessage) -> DBusMessage?) {
        var buffer = DBusBuffer()
        func receive(_ count: Int) -> [UInt8]? {
            while buffer.count < count {
                guard buffer.fill({ read(connection, $0.baseAddress, $0.count) }) > 0 else { return nil }
            }
            return buffer.take(count)
        }
        func line() -> Bool {
            var last: UInt8 = 0
            while last != UInt8(ascii: "\n") {
                guard let byte = receive(1) else { return false }
                last = byte[0]
            }
            return true
        }
        func send(_ bytes: [UInt8]) -> Bool {
            Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        }
        guard line(), send(Array("OK 1\r\n".utf8)), line() else { return }
        while let prefix = receive(DBusMessage.prefixCount), let length = try? DBusMessage.length(ofPrefix: prefix),
            let rest = receive(length - prefix.count), let message = try? DBusMessage.decode(prefix + rest)
        {
            guard var answer = reply(message) else { return }
            answer.serial = 1
            answer.fields[.replySerial] = .number(.uint32, UInt64(message.serial))
            guard send(answer.encoded()) else { return }
        }
    }

    private func reply(to message: DBusMessage) -> DBusMessage {
        let path = message.fields[.path]?.string ?? message.fields[.path]?.path ?? ""
        return state.withLock { state in
            func body(_ values: DBusValue...) -> DBusMessage { DBusMessage(kind: .reply, body: values) }
            switch message.fields[.member]?.string {
            case "Hello": return body(.string(":1.1"))
            case "SearchItems":
                let wanted = message.body.first?.dictionary?.compactMapValues(\.string) ?? [:]
                let found = state.items.filter { item in
                    wanted.allSatisfy { item.value.attributes[$0.key] == $0.value }
                }
                return body(.paths(found.keys.sorted() + state.vanished), .paths([]))
            case "Unlock":
                let paths = message.body.first?.paths ?? []
                for path in paths {
                    if let unlocked = state.locked.removeValue(forKey: path) { state.items[path] = unlocked }
                }
                return body(.paths(paths), .path("/"))
            case "GetAll":
                state.descriptions += 1
                guard let item = state.items[path] else { return error(HTTPAuthError.noSuchObject) }
                let properties: [(String, DBusValue)] = [
                    ("Attributes", .dictionary(item.attributes)),
                    ("Locked", .boolean(state.locked.keys.contains(path))),
                    ("Label", .string(item.label)),
                    ("Created", .number(.uint64, item.created)), ("Modified", .number(.uint64, item.created)),
                ]
                return body(
                    .array(
                        .entry(key: .string, value: .variant),
                        properties.map { .entry(.string($0.0), .variant($0.1)) }))
            case "OpenSession" where message.body.first?.string == "plain":
                return body(.variant(.string("")), .path("/s"))
            case "OpenSession": return error(HTTPAuthError.notSupported)
            case "GetSecret":
                let secret = DBusValue.bytes(Secret("secret of \(path)"))
                return body(.structure([.path("/s"), .bytes(Secret("")), secret, .string("text/plain")]))
            case "Set":
                guard message.body.count == 3, message.body[1].string == "Label" else { break }
                state.items[path]?.label = message.body[2].content?.string ?? ""
                return body()
            case "Delete":
                state.items[path] = nil
                return body(.path("/"))
            default: break
            }
            return error("test.Error.Unexpected")
        }
    }

    private func error(_ name: String) -> DBusMessage {
        DBusMessage(kind: .error, fields: [.errorName: .string(name)], body: [.string("scripted")])
    }
}
