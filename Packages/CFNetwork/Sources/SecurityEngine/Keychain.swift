internal import CredentialStores
internal import Glibc

/// The user's keychain: the Secret Service of the desktop or, without one, an encrypted file.
enum Keychain {
    /// The store of the keychain at this moment. A service that fails is not replaced by the file: an item would be saved there that is
    /// not found once the service works again.
    ///
    /// - Throws: `noDefaultKeychain` if the user has neither a service nor a folder for the file; the error of a service that fails.
    static func store() throws(Status) -> any PasswordStore {
        let service = SecretServiceStore()
        do throws(HTTPAuthError) {
            try service.check()
            return service
        } catch {
            guard error.code == .storeMissing else { throw Status(error) }
        }
        guard let folder else { throw .noDefaultKeychain }
        return CredentialFile(path: folder + "/keychain", key: .file(folder + "/keychain.key"))
    }

    /// The store of the keychain, which may be written for the first time.
    static func storeForWriting() throws(Status) -> any PasswordStore {
        let store = try store()
        if store is CredentialFile, let folder {
            // The folders above it exist, or get the permissions of the XDG Base Directory Specification.
            for end in folder.utf8.indices.dropFirst() where folder.utf8[end] == UInt8(ascii: "/") {
                mkdir(String(folder[..<end]), 0o700)
            }
            mkdir(folder, 0o700)
        }
        return store
    }

    /// The folder of the file; nil if the environment names none.
    private static var folder: String? {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.utf8.first == UInt8(ascii: "/") ? $0 : nil }
        }
        let data = variable("XDG_DATA_HOME") ?? variable("HOME").map { $0 + "/.local/share" }
        return data.map { $0 + "/netkit" }
    }
}
