import CredentialStores
import FoundationEssentials

/// Keeps a password in an encrypted file, because there is no key ring, and finds it again.
@main struct Consumer {
    static func main() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "consumer-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = CredentialFile(path: folder.path + "/passwords", key: .file(folder.path + "/key"))
        let keyRing = SecretServiceStore(busAddress: "unix:path=\(folder.path)/bus")
        let store = try CredentialSearchList.firstUsable(of: [keyRing, file])

        let space = ProtectionSpace(.origin, scheme: "https", host: "example.org", port: 443, realm: "staff")
        try store.save(Credential(user: "joe", password: "secret", for: space))
        let list = CredentialSearchList(origins: [MemoryCredentialStore(), store])
        guard let found = try list.find(CredentialQuery(space)) else { return print("nothing was found") }
        print(found, found.password == Secret("secret"))
        for entry in try file.entries(PasswordAttributes(server: "example.org")) {
            print(entry.attributes.label ?? "-", entry.attributes.port ?? 0)
        }
    }
}
