internal import EventLoops
internal import Glibc
public import HTTPAuth

/// A credential store in the desktop's Secret Service: gnome-keyring, KWallet or KeePassXC.
///
/// ```swift
/// let store = SecretServiceStore()
/// try store.check()
/// try store.save(Credential(user: "joe", password: "secret", for: authentication.space))
/// ```
///
/// The store talks to the service over the session bus; nothing has to be linked or installed, and a missing service is
/// an error of the call. Entries have the attributes of the schema `org.gnome.keyring.NetworkPassword` (`server`,
/// `port`, `protocol`, `user`, and the realm as `domain`), so that programs can share them. Entries for proxies have
/// the protocol `http-proxy` or `https-proxy`. Passwords are encrypted on the bus if the service supports it.
///
/// An entry without a realm from another program is valid for the whole server: it is found for every realm, after
/// entries for that realm. It is never changed or removed.
///
/// Replaces `SecKeychainFindInternetPassword`, `SecKeychainAddInternetPassword` and `SecKeychainItemModifyContent`, the
/// keychain functions in Apple's guide.
public final class SecretServiceStore: CredentialStore {
    /// The address of the session bus; nil if there is none.
    public let busAddress: String?

    /// How long the user may take to unlock the key ring; nil to never prompt the user.
    public let promptTimeout: Duration?

    /// The time limit for each reply of the bus or the service, and for the descriptions of all entries that a search examines.
    public let replyTimeout: Duration

    private let runtimeFolder: String?

    /// Creates a store. It connects to the bus for each call and keeps no connection.
    ///
    /// - Parameters:
    ///   - busAddress: The bus address, such as `unix:path=/run/user/1000/bus`. Nil means `DBUS_SESSION_BUS_ADDRESS`
    ///     or, if that is not set, the bus in `XDG_RUNTIME_DIR`.
    ///   - promptTimeout: How long the user may take to unlock a locked key ring, in a window of the service. Nil for
    ///     programs that must not wait; a locked key ring is then an error.
    ///   - replyTimeout: The time limit for each reply.
    public init(
        busAddress: String? = nil, promptTimeout: Duration? = .seconds(120), replyTimeout: Duration = .seconds(25)
    ) {
        self.replyTimeout = replyTimeout
        let folder = Self.variable("XDG_RUNTIME_DIR")
        runtimeFolder = folder
        self.busAddress =
            busAddress ?? Self.variable("DBUS_SESSION_BUS_ADDRESS") ?? folder.map { "unix:path=\($0)/bus" }
        self.promptTimeout = promptTimeout
    }

    /// Returns an environment variable; nil if it is unset or empty.
    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// "Secret Service".
    public var name: String { "Secret Service" }

    /// Checks that there is a service with a default key ring. Does not prompt the user.
    ///
    /// - Throws: `HTTPAuthError.Code.storeMissing` if there is no bus or service; `HTTPAuthError.Code.storeUnavailable`
    ///   if it fails or has no default key ring; `HTTPAuthError.Code.timedOut`.
    public func check() throws(HTTPAuthError) {
        _ = try conversation().collection()
    }

    /// Returns the best matching credential: one for the realm before one for the whole server, then unlocked before
    /// locked, then the most recently changed.
    ///
    /// - Throws: `HTTPAuthError.Code.storeMissing` if there is no bus or service;
    ///   `HTTPAuthError.Code.storeUnavailable` if it fails; `HTTPAuthError.Code.storeLocked` if the entry is locked and
    ///   was not unlocked; `HTTPAuthError.Code.timedOut`.
    public func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential? {
        let service = try conversation()
        let best = try service.items(query).max { $0.rank(for: query) < $1.rank(for: query) }
        guard let best else { return nil }
        if best.isLocked { try service.unlock(best.path) }
        return best.credential(try service.secret(of: best.path), for: query.space)
    }

    /// Saves a credential. An entry for the same user and space is updated in place and keeps its label, date and the
    /// attributes of other programs. A new entry goes to the user's default key ring.
    ///
    /// - Throws: The errors of ``find(_:)``.
    public func save(_ credential: Credential) throws(HTTPAuthError) {
        let service = try conversation()
        guard let old = try entry(for: credential, in: service) else { return try create(credential, in: service) }
        var attributes = SecretServiceItem.attributes(of: credential)
        if old.isLocked { try service.unlock(old.path) }
        try service.set(credential.secret, of: old.path)
        attributes.merge(old.attributes) { new, _ in new }
        for name in SecretServiceItem.optionalAttributes where SecretServiceItem.attributes(of: credential)[name] == nil
        {
            attributes[name] = nil
        }
        if attributes != old.attributes { try service.set(attributes, of: old.path) }
    }

    /// Saves a credential in a new entry of the user's default key ring. The service cannot search and create in one
    /// step, so another program can create the same entry in between.
    ///
    /// - Throws: `HTTPAuthError.Code.alreadyStored` if there is an entry for the same user and space, or the errors of
    ///   ``find(_:)``.
    public func add(_ credential: Credential) throws(HTTPAuthError) {
        let service = try conversation()
        guard try entry(for: credential, in: service) == nil else { throw .alreadyStored(credential) }
        try create(credential, in: service)
    }

    /// Removes the matching credentials and returns their number.
    ///
    /// - Throws: The errors of ``find(_:)``.
    @discardableResult
    public func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int {
        let service = try conversation()
        let items = try service.items(query).filter { $0.hasRealm(query.space.realm) }
        for item in items {
            if item.isLocked { try service.unlock(item.path) }
            try service.remove(item.path)
        }
        return items.count
    }

    /// Returns the newest entry for the same user and space.
    private func entry(
        for credential: Credential, in service: SecretServiceConversation
    ) throws(HTTPAuthError) -> SecretServiceItem? {
        let query = CredentialQuery(credential.space, user: credential.user)
        return try service.items(query).filter { $0.hasRealm(query.space.realm) }.max { $0.modified < $1.modified }
    }

    private func create(_ credential: Credential, in service: SecretServiceConversation) throws(HTTPAuthError) {
        let collection = try service.collection()
        if try service.isLocked(collection) { try service.unlock(collection) }
        let label = "\(credential.user) at \(credential.space)"
        try service.create(in: collection, label, SecretServiceItem.attributes(of: credential), credential.secret)
    }

    func conversation() throws(HTTPAuthError) -> SecretServiceConversation {
        guard let busAddress else {
            throw HTTPAuthError(
                .storeMissing, detail: "there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set")
        }
        let addresses = DBusAddress.parse(busAddress, runtimeFolder: runtimeFolder)
        let bus = try DBusConnection(addresses, until: .now + replyTimeout)
        return SecretServiceConversation(bus, replyTimeout: replyTimeout, promptTimeout: promptTimeout)
    }
}

extension Credential {
    fileprivate var secret: Secret {
        switch proof {
        case .password(let secret), .ntHash(let secret): secret
        }
    }
}

/// An entry of a Secret Service, and the mapping of its attributes to credentials.
struct SecretServiceItem: Hashable {
    static let schema = "org.gnome.keyring.NetworkPassword"

    /// Optional attributes of this package: the Windows domain of the account, and a mark that the secret is an NT
    /// hash.
    static let optionalAttributes = ["account-domain", "proof"]
    static let hash = "nt-hash"

    var path: String
    var attributes: [String: String]
    var isLocked: Bool
    /// The time of the last change, in seconds since 1970.
    var modified: UInt64
    /// The time at which it was added, in seconds since 1970.
    var created: UInt64 = 0
    var label = ""

    /// Returns all attributes of the entry for a credential. A space without a realm gets an empty `domain`, so that
    /// the entry is not mistaken for one that is valid for the whole server.
    static func attributes(of credential: Credential) -> [String: String] {
        var attributes = search(CredentialQuery(credential.space, user: credential.user))
        attributes["port"] = String(credential.space.port)
        attributes["domain"] = credential.space.realm ?? ""
        attributes["account-domain"] = credential.accountDomain
        if case .ntHash = credential.proof { attributes["proof"] = hash }
        return attributes
    }

    /// Returns the attributes to search for. Entries may lack a port and a realm, so ``matches(_:)`` checks those.
    static func search(_ query: CredentialQuery) -> [String: String] {
        let space = query.space
        var attributes = ["xdg:schema": schema, "server": space.host]
        attributes["protocol"] = space.role == .proxy ? "\(space.scheme)-proxy" : space.scheme
        attributes["user"] = query.user
        return attributes
    }

    /// Returns whether the entry matches a query. An entry without a port is for the scheme's default port.
    func matches(_ query: CredentialQuery) -> Bool {
        let usual = query.space.scheme == "https" ? "443" : "80"
        return Self.search(query).allSatisfy { attributes[$0.key] == $0.value } && attributes["user"] != nil
            && (attributes["port"] ?? usual) == String(query.space.port)
            && (attributes["domain"] == nil || hasRealm(query.space.realm))
    }

    func hasRealm(_ realm: String?) -> Bool { attributes["domain"] == realm ?? "" }

    /// Returns the rank of a matching entry; the highest is the best match.
    func rank(for query: CredentialQuery) -> (Int, Int, UInt64) {
        (hasRealm(query.space.realm) ? 1 : 0, isLocked ? 0 : 1, modified)
    }

    func credential(_ secret: Secret, for space: ProtectionSpace) -> Credential {
        Credential(
            user: attributes["user"] ?? "", accountDomain: attributes["account-domain"],
            proof: attributes["proof"] == Self.hash ? .ntHash(secret) : .password(secret), for: space)
    }
}
