import Foundation
import HTTPAuthTesting
import Testing

@testable import CredentialStores

/// Internet passwords in an encrypted file. The integration tests have those in a Secret Service.
@Suite struct PasswordStoreTests {
    private let joe = PasswordAttributes(
        server: "Example.org", scheme: "HTTPS", port: 8443, realm: "staff", user: "joe", path: "/a",
        authenticationType: "digest", label: "a label")

    private func inFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("passwords-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private func store(_ folder: String) -> CredentialFile {
        CredentialFile(path: folder + "/keychain", key: .file(folder + "/key"))
    }

    /// What an entry lacks matches any value; its port is then the default one.
    @Test func attributesMatch() {
        let own = PasswordAttributes(server: "h", scheme: "https", user: "joe")
        let rows: [(PasswordAttributes, Bool)] = [
            (PasswordAttributes(), true), (PasswordAttributes(server: "[H.]"), true),
            (PasswordAttributes(server: "www.h"), false), (PasswordAttributes(scheme: "https"), true),
            (PasswordAttributes(scheme: "http"), false), (PasswordAttributes(port: 443), true),
            (PasswordAttributes(port: 80), false), (PasswordAttributes(realm: "any"), true),
            (PasswordAttributes(realm: ""), true), (PasswordAttributes(path: "/"), true),
            (PasswordAttributes(authenticationType: "ntlm"), true), (PasswordAttributes(user: "ann"), false),
            (PasswordAttributes(label: "x"), false),
        ]
        for (search, isMatch) in rows { #expect(own.matches(search) == isMatch, "\(search)") }
        let little = PasswordAttributes(server: "h")
        #expect(little.matches(PasswordAttributes(scheme: "ftp", port: 21)))
        #expect(!little.matches(PasswordAttributes(scheme: "ftp", port: 2121)))
        #expect(little.matches(PasswordAttributes(port: 2121)) && !little.matches(PasswordAttributes(user: "joe")))
        var other = joe
        for change: (inout PasswordAttributes) -> Void in [
            { $0.realm = "x" }, { $0.port = 443 }, { $0.path = "/b" }, { $0.authenticationType = "basic" },
            { $0.scheme = "http" }, { $0.label = "x" }, { $0.server = "h" }, { $0.user = "ann" },
        ] {
            change(&other)
            #expect(!joe.matches(other))
            other = joe
        }
    }

    @Test func entriesOfAFile() throws {
        try inFolder { folder in
            let store = store(folder)
            #expect(try store.entries(PasswordAttributes()).isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            var entry = try store.add(Secret("1"), joe)
            #expect(entry.attributes == joe && !entry.isLocked && entry.created > 1_700_000_000)
            #expect(throws: HTTPAuthError.self) { try store.add(Secret("x"), joe) }
            var anyPath = joe
            (anyPath.path, anyPath.label) = (nil, nil)
            _ = try store.add(Secret("2"), anyPath)
            let proxy = PasswordAttributes(server: "p", scheme: "http-proxy", user: "ann")
            _ = try store.add(Secret("3"), proxy)

            // Another process sees the same, the best match first.
            let again = self.store(folder)
            #expect(try again.entries(joe).map(\.attributes) == [joe])
            var search = joe
            search.label = nil
            #expect(try again.entries(search).map { try again.password(of: $0) } == [Secret("1"), Secret("2")])
            search.path = "/b"
            #expect(try again.entries(search).map(\.attributes.label) == ["joe at example.org"])
            #expect(try again.entries(PasswordAttributes(server: "p")).map(\.attributes.realm) == [""])

            // HTTP finds the credential of the server and realm, and changes it in all entries.
            let space = ProtectionSpace(.origin, scheme: "https", host: "example.org", port: 8443, realm: "staff")
            #expect(try again.find(CredentialQuery(space))?.user == "joe")
            let proxySpace = ProtectionSpace(.proxy, scheme: "http", host: "p", port: 0)
            #expect(try again.find(CredentialQuery(proxySpace))?.password == Secret("3"))
            try again.save(Credential(user: "joe", password: "4", for: space))
            #expect(try store.password(of: entry) == Secret("4") && store.entries(search).count == 1)
            try again.save(Credential(user: "eve", proof: .ntHash(Secret("0123456789abcdef")), for: space))
            #expect(try again.entries(PasswordAttributes(user: "eve")).isEmpty)

            // Changes.
            #expect(throws: HTTPAuthError.self) { try store.change(entry, to: anyPath, nil) }
            var changed = joe
            changed.path = "/c"
            let old = entry
            entry = try #require(try store.change(entry, to: changed, nil))
            #expect(entry.attributes.path == "/c" && entry.created == old.created)
            #expect(try store.password(of: entry) == Secret("4"))
            #expect(try again.current(entry) == entry && again.current(old) == nil)
            #expect(try store.password(of: old) == nil && store.change(old, to: joe, nil) == nil && !store.remove(old))
            #expect(try store.remove(entry) && !store.remove(entry))
        }
    }

    /// A file that has only what version 1 has is written in version 1.
    @Test func versions() throws {
        let plain = CredentialFileContents.Entry(
            credential: Credential(
                user: "u", password: "p", for: ProtectionSpace(.origin, scheme: "http", host: "h", port: 1)),
            created: 1, changed: 2)
        var noted = plain
        noted.notes = .init(path: "/é", authenticationType: nil, label: "")
        for (entries, version) in [([], 1), ([plain], 1), ([noted], 2), ([plain, noted], 2)] as [(_, UInt8)] {
            let bytes = CredentialFileContents.encode(entries)
            #expect(bytes[0] == version)
            #expect(try CredentialFileContents.decode(bytes) == entries)
            for count in 0..<bytes.count {
                #expect(throws: HTTPAuthError.self) { try CredentialFileContents.decode(Array(bytes[..<count])) }
            }
        }
    }

    @Test func keyFiles() throws {
        try inFolder { folder in
            let store = store(folder)
            _ = try store.add(Secret("1"), joe)
            let key = folder + "/key"
            var status = stat()
            #expect(stat(key, &status) == 0 && status.st_mode & 0o777 == 0o600 && status.st_size == 32)
            let again = self.store(folder)
            chmod(key, 0o640)
            #expect(failure(of: { _ = try again.entries(joe) })?.code == .storeNotPrivate)
            // A missing key is not replaced: the passwords would be lost.
            unlink(key)
            #expect(failure(of: { _ = try again.entries(joe) })?.code == .storeUnavailable)
            #expect(failure(of: { _ = try again.add(Secret("2"), joe) })?.code == .storeUnavailable)
            #expect(access(key, F_OK) != 0)
            _ = FileManager.default.createFile(
                atPath: key, contents: Data(count: 32), attributes: [.posixPermissions: 0o600])
            #expect(failure(of: { _ = try again.entries(joe) })?.code == .storeLocked)
        }
    }
}
