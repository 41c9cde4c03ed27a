@_spi(Packages) import EventLoops
import Foundation
import Testing

@testable import CredentialStores

@Suite struct CredentialFileTests {
    private static let key = CredentialFile.Key.bytes(Secret(bytes: [UInt8](repeating: 7, count: 32)))
    private let origin = ProtectionSpace(.origin, scheme: "https", host: "h", port: 443, realm: "r")

    /// Runs a test in a temporary folder.
    private func inFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("credentials-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder + "/passwords")
    }

    private func contents(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

    private func code(_ body: () throws -> Void) -> HTTPAuthError.Code? {
        do { try body() } catch { return (error as? HTTPAuthError)?.code }
        return nil
    }

    // Parity: HA-063, HA-065, HA-067
    @Test("HA-063, HA-065, HA-067: an encrypted file") func roundTrip() throws {
        try inFolder { path in
            let store = CredentialFile(path: path, key: Self.key)
            #expect(try store.find(CredentialQuery(origin)) == nil)
            let other = ProtectionSpace(.proxy, scheme: "http", host: "p", port: 1, realm: nil)
            let hash = Credential(
                user: "é", accountDomain: "D", proof: .ntHash(Secret(bytes: [0, 255, 10])), for: other)
            try store.save(Credential(user: "joe", password: "hunter2", for: origin))
            try store.save(hash)
            try store.save(Credential(user: "joe", password: "hunter3", for: origin))
            let again = CredentialFile(path: path, key: Self.key)
            #expect(try again.find(CredentialQuery(origin))?.password == Secret("hunter3"))
            #expect(try again.find(CredentialQuery(other)) == hash)
            #expect(try again.find(CredentialQuery(origin.with(realm: "s"))) == nil)
            #expect(try again.remove(CredentialQuery(origin)) == 1)
            #expect(try store.find(CredentialQuery(origin)) == nil)
            #expect(try store.remove(CredentialQuery(origin)) == 0)
            let text = String(decoding: try contents(path), as: UTF8.self)
            #expect(!text.contains("hunter") && !text.contains("joe"))
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        }
    }

    /// Changing a password keeps the creation time of its entry.
    // Parity: HA-064
    @Test("HA-064: an entry is changed in place") func changesInPlace() throws {
        try inFolder { path in
            let store = CredentialFile(path: path, key: Self.key)
            try store.save(Credential(user: "joe", password: "1", for: origin), at: 10, onStep: { _ in })
            try store.save(Credential(user: "joe", password: "2", for: origin), at: 20, onStep: { _ in })
            let sealed = try contents(path)
            let keys = try SealedBox.deriveKeys(Self.key, salt: SealedBox.Header(sealed).salt, cost: 0)
            let entries = try CredentialFileContents.decode(SealedBox.open(sealed, SealedBox.Header(sealed), keys))
            #expect(entries.map(\.created) == [10] && entries.map(\.changed) == [20])
        }
    }

    @Test(arguments: [("/a/b", "/a/"), ("b", "."), ("/b", "/"), ("/a/\u{301}b", "/a/")])
    func folderOfAPath(_ path: String, _ folder: String) {
        #expect(AtomicFile.folder(of: path).utf8.elementsEqual(folder.utf8))
    }

    @Test func passphrase() throws {
        try inFolder { path in
            let store = CredentialFile(path: path, key: .passphrase(Secret("open sesame")))
            try store.save(Credential(user: "joe", password: "1", for: origin))
            #expect(try store.find(CredentialQuery(origin))?.user == "joe")
            for wrong in [CredentialFile.Key.passphrase(Secret("open")), .passphrase(Secret("")), Self.key] {
                let other = CredentialFile(path: path, key: wrong)
                #expect(code { _ = try other.find(CredentialQuery(origin)) } == .storeLocked)
                #expect(code { try other.save(Credential(user: "x", password: "1", for: origin)) } == .storeLocked)
            }
            #expect(try store.find(CredentialQuery(origin))?.user == "joe")
        }
        let short = CredentialFile(path: "/nonexistent/x", key: .bytes(Secret("short")))
        #expect(code { try short.save(Credential(user: "x", password: "1", for: origin)) } == .storeUnavailable)
    }

    /// A file with any byte changed, or truncated anywhere, is rejected.
    @Test func damage() throws {
        try inFolder { path in
            let store = CredentialFile(path: path, key: Self.key)
            try store.save(Credential(user: "joe", password: "1", for: origin))
            let good = try contents(path)
            func refused(_ bytes: [UInt8]) throws -> Bool {
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                chmod(path, 0o600)
                let code = code { _ = try CredentialFile(path: path, key: Self.key).find(CredentialQuery(origin)) }
                return code == .storeMalformed || code == .storeLocked
            }
            for index in good.indices {
                var bad = good
                bad[index] ^= 0x41
                #expect(try refused(bad), "byte \(index)")
                #expect(try refused(Array(good[..<index])), "cut at \(index)")
            }
            #expect(try refused(good + [0]))
            #expect(try !refused(good))
        }
    }

    /// Contents truncated anywhere are rejected, and damaged lengths do not trap.
    @Test func damagedContents() throws {
        let entry = CredentialFileContents.Entry(
            credential: Credential(user: "joe", password: "1", for: origin), created: 1, changed: 2)
        let bytes = CredentialFileContents.encode([entry, entry])
        #expect(try CredentialFileContents.decode(bytes) == [entry, entry])
        for index in bytes.indices {
            #expect(throws: HTTPAuthError.self) { try CredentialFileContents.decode(Array(bytes[..<index])) }
            var bad = bytes
            bad[index] = 0xFF
            _ = try? CredentialFileContents.decode(bad)
        }
    }

    /// A crash at any step leaves the old or the new contents, and the next writer succeeds.
    // Parity: HA-066
    @Test("HA-066: a crash at any step", arguments: AtomicFile.Step.allCases)
    func crash(_ step: AtomicFile.Step) throws {
        try inFolder { path in
            let store = CredentialFile(path: path, key: Self.key)
            try store.save(Credential(user: "joe", password: "old", for: origin))
            let crash = HTTPAuthError(.cancelled)
            #expect(throws: crash) {
                try store.save(
                    Credential(user: "joe", password: "new", for: origin), at: 0,
                    onStep: { (now) throws(HTTPAuthError) in if now == step { throw crash } })
            }
            let next = CredentialFile(path: path, key: Self.key)
            let expected = step == .renamed ? "new" : "old"
            #expect(try next.find(CredentialQuery(origin))?.password == Secret(expected))
            try next.save(Credential(user: "ann", password: "2", for: origin))
            #expect(try next.find(CredentialQuery(origin, user: "ann"))?.password == Secret("2"))
            #expect(try next.find(CredentialQuery(origin, user: "joe"))?.password == Secret(expected))
            let names = try FileManager.default.contentsOfDirectory(
                atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path)
            #expect(Set(names) == ["passwords", "passwords.lock"])
        }
    }

    /// Several writers, each with its own descriptor of the lock as in another process, lose no entry.
    // Parity: HA-066
    @Test("HA-066: concurrent writers") func manyWriters() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("credentials-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/passwords"
        try await withThrowingTaskGroup { group in
            for writer in 0..<4 {
                group.addTask {
                    let store = CredentialFile(path: path, key: Self.key)
                    for number in 0..<8 {
                        try store.save(Credential(user: "\(writer).\(number)", password: "1", for: origin))
                    }
                }
            }
            try await group.waitForAll()
        }
        let store = CredentialFile(path: path, key: Self.key)
        #expect(try store.remove(CredentialQuery(origin)) == 32)
    }

    /// The lock is one that only a user who may write the file can hold.
    @Test func aReaderCannotHoldTheLock() throws {
        try inFolder { path in
            let store = CredentialFile(path: path, key: Self.key)
            try store.save(Credential(user: "joe", password: "1", for: origin))
            let reader = open(path + ".lock", O_RDONLY | O_CLOEXEC)
            defer { close(reader) }
            #expect(flock(reader, LOCK_EX | LOCK_NB) == 0)
            let file = AtomicFile(path: path)
            _ = try file.lock(limit: .zero)
            // Another program that writes excludes this one.
            let writer = try WritableFile(path + ".lock", opening: .existing)
            #expect(try writer.lock() == .locked)
            #expect(code { _ = try file.lock(limit: .zero) } == .storeUnavailable)
            writer.unlock()
            _ = try file.lock(limit: .zero)
        }
    }

    @Test func notPrivate() throws {
        try inFolder { path in
            let store = CredentialFile(path: path, key: Self.key)
            try store.save(Credential(user: "joe", password: "1", for: origin))
            chmod(path, 0o640)
            #expect(code { _ = try store.find(CredentialQuery(origin)) } == .storeNotPrivate)
            unlink(path)
            mkdir(path, 0o700)
            #expect(code { _ = try store.find(CredentialQuery(origin)) } == .storeUnavailable)
        }
    }
}
