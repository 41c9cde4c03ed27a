internal import EventLoops
internal import HTTPAuth

/// The operations of a Secret Service over one bus connection (freedesktop.org Secret Service API, draft 0.2).
final class SecretServiceConversation {
    private static let service = "org.freedesktop.secrets"
    private static let root = "/org/freedesktop/secrets"
    private static let names = "org.freedesktop.Secret"
    private static let properties = "org.freedesktop.DBus.Properties"

    /// The maximum number of entries examined in one search: those with the attributes that the service compares, of which the others
    /// are compared here.
    static let maximumItems = 4096

    private let bus: DBusConnection
    private let replyTimeout: Duration
    private let promptTimeout: Duration?
    private var session: SecretServiceSession?

    init(_ bus: DBusConnection, replyTimeout: Duration, promptTimeout: Duration?) {
        self.bus = bus
        self.replyTimeout = replyTimeout
        self.promptTimeout = promptTimeout
    }

    // MARK: Entries

    /// Returns the entries that match a query, including locked ones.
    func items(_ query: CredentialQuery) throws(HTTPAuthError) -> [SecretServiceItem] {
        try items(SecretServiceItem.search(query)).filter { $0.matches(query) }
    }

    /// Returns the entries with these attributes, including locked ones. Those that are removed meanwhile are left out.
    ///
    /// - Throws: `HTTPAuthError.Code.storeUnavailable` if there are more than ``maximumItems``: an entry that is not examined must not count as
    ///   missing. `HTTPAuthError.Code.timedOut` if the service does not describe all of them within the time limit of one reply.
    func items(_ attributes: [String: String]) throws(HTTPAuthError) -> [SecretServiceItem] {
        let found = try call("SearchItems", "Service", [.dictionary(attributes)])
        let paths = found.prefix(2).flatMap { $0.paths ?? [] }
        guard paths.count <= Self.maximumItems else {
            throw HTTPAuthError(
                .storeUnavailable,
                detail: "the Secret Service has \(paths.count) entries; at most \(Self.maximumItems) are examined")
        }
        let deadline = Moment.now + replyTimeout
        var items: [SecretServiceItem] = []
        for path in paths {
            if let item = try item(at: path, until: deadline) { items.append(item) }
        }
        return items
    }

    /// Returns the entry at a path; nil if there is none.
    func item(at path: String, until deadline: Moment? = nil) throws(HTTPAuthError) -> SecretServiceItem? {
        let all: [String: DBusValue]
        do throws(HTTPAuthError) {
            all = try get("GetAll", "Item", of: path, until: deadline).dictionary ?? [:]
        } catch {
            guard error.detail == HTTPAuthError.noSuchObject else { throw error }
            return nil
        }
        return SecretServiceItem(
            path: path, attributes: (all["Attributes"]?.content?.dictionary ?? [:]).compactMapValues(\.string),
            isLocked: all["Locked"]?.content?.isTrue ?? true, modified: all["Modified"]?.content?.bits ?? 0,
            created: all["Created"]?.content?.bits ?? 0, label: all["Label"]?.content?.string ?? "")
    }

    func secret(of item: String) throws(HTTPAuthError) -> Secret {
        let session = try openSession()
        let reply = try call("GetSecret", "Item", at: item, [.path(session.path)])
        guard let parts = reply.first?.members, parts.count == 4, let iv = parts[1].bytes, let value = parts[2].bytes
        else { throw Self.unexpected("GetSecret") }
        return try session.decrypted(iv, value)
    }

    func set(_ secret: Secret, of item: String) throws(HTTPAuthError) {
        let session = try openSession()
        _ = try call("SetSecret", "Item", at: item, [try session.encrypted(secret)])
    }

    func set(_ attributes: [String: String], of item: String) throws(HTTPAuthError) {
        try set("Attributes", .dictionary(attributes), of: item)
    }

    func set(label: String, of item: String) throws(HTTPAuthError) {
        try set("Label", .string(label), of: item)
    }

    private func set(_ property: String, _ value: DBusValue, of item: String) throws(HTTPAuthError) {
        let body: [DBusValue] = [.string("\(Self.names).Item"), .string(property), .variant(value)]
        _ = try bus.call(.call("Set", Self.properties, at: item, of: Self.service, body), until: .now + replyTimeout)
    }

    func create(
        in collection: String, _ label: String, _ attributes: [String: String], _ secret: Secret
    ) throws(HTTPAuthError) {
        let session = try openSession()
        let properties: [DBusValue] = [
            .entry(.string("\(Self.names).Item.Label"), .variant(.string(label))),
            .entry(.string("\(Self.names).Item.Attributes"), .variant(.dictionary(attributes))),
        ]
        let reply = try call(
            "CreateItem", "Collection", at: collection,
            [
                .array(.entry(key: .string, value: .variant), properties), try session.encrypted(secret),
                .boolean(false),
            ])
        try finish(reply.dropFirst().first, "CreateItem")
    }

    func remove(_ item: String) throws(HTTPAuthError) {
        try finish(try call("Delete", "Item", at: item).first, "Delete")
    }

    // MARK: Key rings and locks

    /// Returns the key ring for new entries.
    func collection() throws(HTTPAuthError) -> String {
        guard let path = try call("ReadAlias", "Service", [.string("default")]).first?.path else {
            throw Self.unexpected("ReadAlias")
        }
        guard path != "/" else {
            throw HTTPAuthError(
                .storeUnavailable, detail: "the Secret Service has no default key ring; create one first")
        }
        return path
    }

    func isLocked(_ collection: String) throws(HTTPAuthError) -> Bool {
        try get("Get", "Collection", "Locked", of: collection).content?.isTrue ?? true
    }

    /// Unlocks an entry or a key ring. The service may prompt the user.
    func unlock(_ path: String) throws(HTTPAuthError) {
        let reply = try call("Unlock", "Service", [.paths([path])])
        guard reply.count == 2, let unlocked = reply[0].paths else { throw Self.unexpected("Unlock") }
        if !unlocked.contains(path) { try finish(reply[1], "Unlock") }
    }

    /// Completes an operation: if the service returned a prompt instead of a result, shows it to the user and waits.
    private func finish(_ prompt: DBusValue?, _ method: String) throws(HTTPAuthError) {
        guard let path = prompt?.path else { throw Self.unexpected(method) }
        if path == "/" { return }
        guard let promptTimeout else { throw HTTPAuthError(.storeLocked, detail: "the key ring is locked") }
        let rule = "type='signal',interface='\(Self.names).Prompt',path='\(path)'"
        let bus = "/org/freedesktop/DBus"
        _ = try self.bus.call(
            .call("AddMatch", DBusConnection.bus, at: bus, of: DBusConnection.bus, [.string(rule)]),
            until: .now + replyTimeout)
        _ = try call("Prompt", "Prompt", at: path, [.string("")])
        let completed: [DBusValue]
        do throws(HTTPAuthError) {
            completed = try self.bus.signal("Completed", from: path, until: .now + promptTimeout)
        } catch {
            guard error.code == .timedOut else { throw error }
            _ = try? call("Dismiss", "Prompt", at: path)
            throw HTTPAuthError(.storeLocked, detail: "the key ring was not unlocked within \(promptTimeout)")
        }
        guard completed.first?.isTrue == false else {
            throw HTTPAuthError(.storeLocked, detail: HTTPAuthError.declined)
        }
    }

    // MARK: Calls

    /// Opens the session for secrets, encrypted if the service supports it.
    private func openSession() throws(HTTPAuthError) -> SecretServiceSession {
        if let session { return session }
        var random = try Environment.random(SecretServiceSession.KeyAgreement.size)
        defer { random.wipe() }
        let agreement = try SecretServiceSession.KeyAgreement(random: Secret(bytes: random))
        var opened: SecretServiceSession
        do throws(HTTPAuthError) {
            let reply = try call(
                "OpenSession", "Service",
                [
                    .string(SecretServiceSession.KeyAgreement.algorithm),
                    .variant(.bytes(Secret(bytes: agreement.publicKey))),
                ])
            guard reply.count == 2, let theirs = reply[0].content?.bytes, let path = reply[1].path else {
                throw Self.unexpected("OpenSession")
            }
            opened = SecretServiceSession(path: path, key: try agreement.key(with: theirs))
        } catch {
            guard error.detail == HTTPAuthError.notSupported else { throw error }
            let reply = try call("OpenSession", "Service", [.string("plain"), .variant(.string(""))])
            guard reply.count == 2, let path = reply[1].path else { throw Self.unexpected("OpenSession") }
            opened = SecretServiceSession(path: path, key: nil)
        }
        session = opened
        return opened
    }

    private func get(
        _ member: String, _ interface: String, _ property: String? = nil, of path: String, until deadline: Moment? = nil
    ) throws(HTTPAuthError) -> DBusValue {
        let body = [.string("\(Self.names).\(interface)")] + (property.map { [DBusValue.string($0)] } ?? [])
        let message = DBusMessage.call(member, Self.properties, at: path, of: Self.service, body)
        guard let value = try bus.call(message, until: deadline ?? .now + replyTimeout).first else {
            throw Self.unexpected(member)
        }
        return value
    }

    private func call(
        _ member: String, _ interface: String, at path: String = root, _ body: [DBusValue] = []
    ) throws(HTTPAuthError) -> [DBusValue] {
        try bus.call(
            .call(member, "\(Self.names).\(interface)", at: path, of: Self.service, body), until: .now + replyTimeout)
    }

    private static func unexpected(_ method: String) -> HTTPAuthError {
        HTTPAuthError(.storeUnavailable, detail: "unexpected reply from the Secret Service to \(method)")
    }
}

extension HTTPAuthError {
    /// The detail if the user closed the window of the key ring. A service that cannot open one says the same.
    @_spi(Keychain) public static let declined = "the key ring is locked, and the user declined or was not asked"
    static let notSupported = "org.freedesktop.DBus.Error.NotSupported"
    static let noSuchObject = "org.freedesktop.DBus.Error.UnknownObject"

    /// An error from the bus or from a program on it.
    static func busError(_ name: String, _ message: String?) -> HTTPAuthError {
        switch name {
        case notSupported: HTTPAuthError(.storeUnavailable, detail: name)
        // GLib's name for it is the third one.
        case noSuchObject, "org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.UnknownMethod":
            HTTPAuthError(.storeUnavailable, detail: noSuchObject)
        case "org.freedesktop.Secret.Error.IsLocked":
            HTTPAuthError(.storeLocked, detail: "the key ring is locked")
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
            HTTPAuthError(
                .storeMissing,
                detail: "no password service on the session bus, such as gnome-keyring, KWallet or KeePassXC")
        default: HTTPAuthError(.storeUnavailable, detail: oneLine(message.map { "\(name): \($0)" } ?? name))
        }
    }

    /// Makes another program's message safe to display: one line of at most 200 characters, without control characters.
    private static func oneLine(_ text: String) -> String {
        let shown = text.unicodeScalars.prefix(200).map { $0.properties.generalCategory == .control ? " " : String($0) }
        return shown.joined() + (text.unicodeScalars.count > 200 ? "…" : "")
    }
}
