public import HTTPAuth

/// The entries of a Secret Service as internet passwords of any protocol.
///
/// Entries have the attributes `server`, `protocol`, `port`, `domain` (the realm), `user`, `object` (the path) and
/// `authtype`. New ones have the schema `org.gnome.keyring.NetworkPassword`; those of `secret-tool` and others are found
/// with any schema, if they have a `server`.
extension SecretServiceStore: PasswordStore {
    /// Returns the matching entries of all key rings, including locked ones.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func entries(_ search: PasswordAttributes) throws(HTTPAuthError) -> [PasswordEntry] {
        try items(search, in: conversation()).compactMap(\.entry).ranked(for: search)
    }

    /// Returns an entry as it is now.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func current(_ entry: PasswordEntry) throws(HTTPAuthError) -> PasswordEntry? {
        guard let path = entry.path, let found = try conversation().item(at: path)?.entry,
            found.attributes.identity == entry.attributes.identity || found.isSameItem(as: entry)
        else { return nil }
        return found
    }

    /// Returns the password of an entry. May ask the user to unlock the key ring.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func password(of entry: PasswordEntry) throws(HTTPAuthError) -> Secret? {
        let service = try conversation()
        guard let item = try unlockedItem(of: entry, in: service) else { return nil }
        return try service.secret(of: item.path)
    }

    /// Adds an entry to the user's default key ring. The service cannot search and create in one step, so another program
    /// can create the same entry in between.
    ///
    /// - Throws: `HTTPAuthError.Code.alreadyStored`, or the errors of ``find(_:)``.
    public func add(_ password: Secret, _ attributes: PasswordAttributes) throws(HTTPAuthError) -> PasswordEntry {
        let service = try conversation()
        guard try entry(attributes, in: service) == nil else { throw .alreadyStored(attributes) }
        let collection = try service.collection()
        if try service.isLocked(collection) { try service.unlock(collection) }
        let values = SecretServiceItem.values(of: attributes).merging(
            ["xdg:schema": SecretServiceItem.schema, "domain": attributes.realm ?? ""]) { $1 }
        try service.create(in: collection, attributes.label ?? attributes.usualLabel, values, password)
        guard let entry = try entry(attributes, in: service) else {
            throw HTTPAuthError(.storeUnavailable, detail: "the Secret Service does not find what it saved")
        }
        return entry
    }

    /// Changes an entry in place.
    ///
    /// - Throws: `HTTPAuthError.Code.alreadyStored`, or the errors of ``find(_:)``.
    public func change(
        _ entry: PasswordEntry, to attributes: PasswordAttributes, _ password: Secret?
    ) throws(HTTPAuthError) -> PasswordEntry? {
        let service = try conversation()
        if attributes.identity != entry.attributes.identity, try self.entry(attributes, in: service) != nil {
            throw .alreadyStored(attributes)
        }
        guard let item = try unlockedItem(of: entry, in: service) else { return nil }
        if let password { try service.set(password, of: item.path) }
        let values = SecretServiceItem.values(of: attributes)
        var all = item.attributes
        for name in SecretServiceItem.names { all[name] = values[name] }
        if all != item.attributes { try service.set(all, of: item.path) }
        let label = attributes.label ?? attributes.usualLabel
        if label != item.label { try service.set(label: label, of: item.path) }
        return try service.item(at: item.path)?.entry
    }

    /// Removes an entry.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func remove(_ entry: PasswordEntry) throws(HTTPAuthError) -> Bool {
        let service = try conversation()
        guard let item = try unlockedItem(of: entry, in: service) else { return false }
        try service.remove(item.path)
        return true
    }

    /// The entries that may match: those with the server or the user or, without both, all entries. Programs need not give theirs a schema. If none
    /// has the server as it is written here, another program may have written it with capital letters, a dot or brackets, which the service
    /// does not know to be equal.
    private func items(
        _ search: PasswordAttributes, in service: SecretServiceConversation
    ) throws(HTTPAuthError) -> [SecretServiceItem] {
        if let server = search.server {
            let found = try service.items(["server": server])
            if !found.isEmpty { return found }
        }
        return try service.items(search.user.map { ["user": $0] } ?? [:])
    }

    /// The item of an entry, unlocked; nil if it was removed, or has other attributes now except the label. Nothing that the caller has not
    /// seen is read, changed or removed.
    private func unlockedItem(
        of entry: PasswordEntry, in service: SecretServiceConversation
    ) throws(HTTPAuthError) -> SecretServiceItem? {
        func find() throws(HTTPAuthError) -> SecretServiceItem? {
            guard let path = entry.path else { return nil }
            let item = try service.item(at: path)
            return item?.entry?.attributes.identity == entry.attributes.identity ? item : nil
        }
        guard let item = try find() else { return nil }
        guard item.isLocked else { return item }
        try service.unlock(item.path)
        // The user may have been asked, and other programs have had time.
        return try find()
    }

    /// The entry with exactly these attributes.
    private func entry(
        _ attributes: PasswordAttributes, in service: SecretServiceConversation
    ) throws(HTTPAuthError) -> PasswordEntry? {
        try items(attributes, in: service).compactMap(\.entry)
            .filter { $0.attributes.identity == attributes.identity }.max { $0.modified < $1.modified }
    }
}

extension SecretServiceItem {
    /// The names of the attributes of an internet password.
    fileprivate static let names = ["server", "protocol", "port", "domain", "user", "object", "authtype"]

    /// The values of the attributes that are not nil.
    fileprivate static func values(of attributes: PasswordAttributes) -> [String: String] {
        let values = [
            attributes.server, attributes.scheme, attributes.port.map { "\($0)" }, attributes.realm, attributes.user,
            attributes.path, attributes.authenticationType,
        ]
        return Dictionary(uniqueKeysWithValues: zip(names, values)).compactMapValues { $0 }
    }

    /// The entry as an internet password; nil if it is none.
    fileprivate var entry: PasswordEntry? {
        guard let server = attributes["server"], attributes["proof"] != Self.hash else { return nil }
        return PasswordEntry(
            attributes: PasswordAttributes(
                server: server, scheme: attributes["protocol"], port: attributes["port"].flatMap { Int($0) },
                realm: attributes["domain"], user: attributes["user"] ?? "", path: attributes["object"],
                authenticationType: attributes["authtype"], label: label),
            created: Int64(clamping: created), modified: Int64(clamping: modified), isLocked: isLocked, path: path)
    }
}

extension PasswordEntry {
    /// Whether an item at the same path was created at the same time. A service may use the path of a removed item for another one; and one
    /// that saves an item anew may keep the path and tell another time (KWallet).
    fileprivate func isSameItem(as other: PasswordEntry) -> Bool { created != 0 && created == other.created }
}
