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
        try item(of: entry, in: conversation())?.entry
    }

    /// Returns the password of an entry. May ask the user to unlock the key ring.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func password(of entry: PasswordEntry) throws(HTTPAuthError) -> Secret? {
        let service = try conversation()
        guard let item = try item(of: entry, in: service) else { return nil }
        if item.isLocked { try service.unlock(item.path) }
        return try service.secret(of: item.path)
    }

    /// Adds an entry to the user's default key ring. The service cannot search and create in one step, so another program
    /// can create the same entry in between.
    ///
    /// - Throws: ``HTTPAuthError/Code/alreadyStored``, or the errors of ``find(_:)``.
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

    /// Changes an entry in place. One whose attributes other than the label have changed since it was read is another one.
    ///
    /// - Throws: ``HTTPAuthError/Code/alreadyStored``, or the errors of ``find(_:)``.
    public func change(
        _ entry: PasswordEntry, to attributes: PasswordAttributes, _ password: Secret?
    ) throws(HTTPAuthError) -> PasswordEntry? {
        let service = try conversation()
        guard let item = try item(of: entry, in: service, isUnchanged: true) else { return nil }
        if attributes.identity != entry.attributes.identity, try self.entry(attributes, in: service) != nil {
            throw .alreadyStored(attributes)
        }
        if item.isLocked { try service.unlock(item.path) }
        if let password { try service.set(password, of: item.path) }
        let values = SecretServiceItem.values(of: attributes)
        var all = item.attributes
        for name in SecretServiceItem.names { all[name] = values[name] }
        if all != item.attributes { try service.set(all, of: item.path) }
        let label = attributes.label ?? attributes.usualLabel
        if label != item.label { try service.set(label: label, of: item.path) }
        return try items(attributes, in: service).first { $0.path == item.path }?.entry
    }

    /// Removes an entry. One whose attributes other than the label have changed since it was read is another one.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func remove(_ entry: PasswordEntry) throws(HTTPAuthError) -> Bool {
        let service = try conversation()
        guard let item = try item(of: entry, in: service, isUnchanged: true) else { return false }
        if item.isLocked { try service.unlock(item.path) }
        try service.remove(item.path)
        return true
    }

    /// The entries that may match: those with the server or the user or, without both, all entries. Programs need not give theirs a schema.
    private func items(
        _ search: PasswordAttributes, in service: SecretServiceConversation
    ) throws(HTTPAuthError) -> [SecretServiceItem] {
        if let server = search.server { return try service.items(["server": server]) }
        return try service.items(search.user.map { ["user": $0] } ?? [:])
    }

    /// The item of an entry. A service may use the path of a removed item for another one, which was created at another time.
    ///
    /// - Parameter isUnchanged: whether an item that has other attributes now, except the label, is another one. Nothing that the caller has
    ///   not seen is changed or removed.
    private func item(
        of entry: PasswordEntry, in service: SecretServiceConversation, isUnchanged: Bool = false
    ) throws(HTTPAuthError) -> SecretServiceItem? {
        guard let item = try items(entry.attributes, in: service).first(where: { $0.path == entry.path }),
            let found = item.entry, found.created == entry.created
        else { return nil }
        // Without the time of its creation, an item is known by its user, beside its server.
        if found.created == 0, found.attributes.user != entry.attributes.user { return nil }
        return !isUnchanged || found.attributes.identity == entry.attributes.identity ? item : nil
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
