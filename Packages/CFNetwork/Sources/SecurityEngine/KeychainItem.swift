internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CFNetworkEngine
internal import CoreFoundation
internal import CredentialStores
internal import EventLoops
internal import SecurityC

/// An entry of the keychain: SecKeychainItem.
///
/// The item keeps the entry as it was found, read or changed last. Its password is read, and it is changed and deleted, only if the store
/// still has this entry. A function that is given an item instead of a query therefore calls ``current()`` first.
final class KeychainItem: ObjectContent {
    static let typeID = cfn_class_register("SecKeychainItem")

    private let store: any PasswordStore
    /// Nil after the item was deleted.
    private let entry: Locked<PasswordEntry?>
    /// Held while the entry is read, changed or deleted, so that each call begins with the result of the former one.
    private let calls = Locked(())

    private init(_ store: any PasswordStore, _ entry: PasswordEntry) {
        self.store = store
        self.entry = Locked(entry)
    }

    /// Creates the object of an entry.
    ///
    /// - Throws: `memory`.
    static func make(_ store: any PasswordStore, _ entry: PasswordEntry) throws(Status) -> SecKeychainItem {
        let object: Unmanaged<SecKeychainItem>? = makeObject(nil, typeID, KeychainItem(store, entry))
        guard let object else { throw .memory }
        return object.takeRetainedValue()
    }

    /// The content of an item.
    ///
    /// - Throws: `invalidItem` for anything else.
    static func of(_ object: AnyObject?) throws(Status) -> KeychainItem {
        try content(object, typeID, otherwise: .invalidItem)
    }

    var summary: String { entry.withLock { $0 }?.attributes.label ?? "deleted" }

    /// The entry as it was found, read or changed last.
    ///
    /// - Throws: `itemNotFound` if it was deleted with this reference.
    func known() throws(Status) -> PasswordEntry {
        guard let entry = entry.withLock({ $0 }) else { throw .itemNotFound }
        return entry
    }

    /// The entry as it is now.
    ///
    /// - Throws: `itemNotFound` if it was deleted.
    @discardableResult
    func current() throws(Status) -> PasswordEntry {
        try calls.withLock { _ throws(Status) in
            let old = try known()
            let new = try stored { () throws(HTTPAuthError) in try store.current(old) }
            guard let new else { throw .itemNotFound }
            entry.withLock { $0 = new }
            return new
        }
    }

    /// The password.
    func password() throws(Status) -> Secret {
        let entry = try known()
        let password = try stored { () throws(HTTPAuthError) in try store.password(of: entry) }
        guard let password else { throw .itemNotFound }
        return password
    }

    /// Changes attributes and, unless it is nil, the password.
    func change(
        _ password: Secret?, _ edit: (inout PasswordAttributes) throws(Status) -> Void
    ) throws(Status) {
        try calls.withLock { _ throws(Status) in
            let old = try known()
            var attributes = old.attributes
            try edit(&attributes)
            let new = try stored { () throws(HTTPAuthError) in try store.change(old, to: attributes, password) }
            guard let new else { throw .itemNotFound }
            entry.withLock { $0 = new }
        }
    }

    /// Removes the entry from the keychain.
    func delete() throws(Status) {
        try calls.withLock { _ throws(Status) in
            let old = try known()
            guard try stored({ () throws(HTTPAuthError) in try store.remove(old) }) else { throw .itemNotFound }
            entry.withLock { $0 = nil }
        }
    }
}

/// A search that was begun: SecKeychainSearch.
final class KeychainSearch: ObjectContent {
    static let typeID = cfn_class_register("SecKeychainSearch")

    private let store: any PasswordStore
    private let rest: Locked<ArraySlice<PasswordEntry>>

    init(_ search: PasswordAttributes) throws(Status) {
        let store = try Keychain.store()
        self.store = store
        rest = Locked(try stored { () throws(HTTPAuthError) in try store.entries(search) }[...])
    }

    var summary: String { "\(rest.withLock { $0.count }) items" }

    /// The next item.
    ///
    /// - Throws: `itemNotFound` after the last one.
    func next() throws(Status) -> SecKeychainItem {
        guard let entry = rest.withLock({ $0.popFirst() }) else { throw .itemNotFound }
        return try KeychainItem.make(store, entry)
    }
}
