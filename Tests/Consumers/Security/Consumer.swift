// The keychain of an application, in source as on Apple's systems: written from memory and compiled unchanged.
import Foundation
import Security

enum KeychainError: Error { case status(OSStatus) }

struct Keychain {
    let server: String

    private func query(_ account: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassInternetPassword, kSecAttrServer as String: server,
            kSecAttrAccount as String: account,
        ]
    }

    func set(_ password: String, for account: String) throws {
        let data = Data(password.utf8)
        var status = SecItemUpdate(query(account) as CFDictionary, [kSecValueData as String: data] as CFDictionary)
        if status == errSecItemNotFound {
            var item = query(account)
            item[kSecValueData as String] = data
            status = SecItemAdd(item as CFDictionary, nil)
        }
        guard status == errSecSuccess else { throw KeychainError.status(status) }
    }

    func password(for account: String) throws -> String? {
        var search = query(account)
        search[kSecMatchLimit as String] = kSecMatchLimitOne
        search[kSecReturnAttributes as String] = true
        search[kSecReturnData as String] = true
        var result: CFTypeRef?
        let status = SecItemCopyMatching(search as CFDictionary, &result)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess, let item = result as? [String: Any],
            let data = item[kSecValueData as String] as? Data
        else { throw KeychainError.status(status) }
        return String(data: data, encoding: .utf8)
    }

    func remove(_ account: String) -> Bool { SecItemDelete(query(account) as CFDictionary) == errSecSuccess }
}

@main struct Program {
    static func main() throws {
        // A keychain of its own.
        let folder = FileManager.default.temporaryDirectory.appending(path: "consumer-\(UUID())")
        setenv("XDG_DATA_HOME", folder.path, 1)
        setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent", 1)
        defer { try? FileManager.default.removeItem(at: folder) }

        let keychain = Keychain(server: "example.org")
        try keychain.set("first", for: "joe")
        try keychain.set("second", for: "joe")
        print(try keychain.password(for: "joe") ?? "none", try keychain.password(for: "ann") ?? "none")
        print(keychain.remove("joe"), keychain.remove("joe"))
        print(SecCopyErrorMessageString(errSecItemNotFound, nil) as String? ?? "")
        print(SecCertificateCreateWithData(nil, Data([1, 2, 3]) as CFData) == nil)
    }
}
