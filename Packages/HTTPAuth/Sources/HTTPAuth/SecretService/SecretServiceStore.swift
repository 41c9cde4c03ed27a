/// Credentials kept by the desktop's Secret Service: gnome-keyring, KWallet, KeePassXC.
///
/// ```swift
/// let store = SecretServiceStore()
/// try store.check()
/// try store.save(Credential(user: "joe", password: "secret", for: authentication.space))
/// ```
///
/// The service is asked over the session bus, and that there is one is found out by asking: nothing has to be linked or
/// installed. Entries have the attributes of the schema `org.gnome.keyring.NetworkPassword` (`server`, `port`, `protocol`,
/// `user`, and the realm as `domain`), so that programs share them; what is a proxy's has the protocol `http-proxy` or
/// `https-proxy`. Passwords cross the bus encrypted where the service can do that.
///
/// An entry that another program made without a realm is good for the whole server: it is found for every realm of it,
/// after those of the realm itself, and neither changed nor removed.
///
/// Replaces the keychain of Apple's guide: `SecKeychainFindInternetPassword`, `SecKeychainAddInternetPassword` and
/// `SecKeychainItemModifyContent`.
public final class SecretServiceStore: CredentialStore {
    /// The address of the session bus; nil if there is none.
    public let busAddress: String?

    /// How long the user may take to unlock the key ring; nil if the user is not asked.
    public let promptLimit: Duration?

    /// How long to wait for each reply of the bus and the service.
    public let replyLimit: Duration

    private let runtimeFolder: String?

    /// Makes a store. Nothing is connected yet, and no connection is kept between the calls.
    ///
    /// - Parameters:
    ///   - busAddress: such as `unix:path=/run/user/1000/bus`; nil for what `DBUS_SESSION_BUS_ADDRESS` says, or else the
    ///     bus in `XDG_RUNTIME_DIR`.
    ///   - promptLimit: how long the user may take to unlock a key ring that is locked. The service shows the window. Nil
    ///     for programs that must not wait: a locked key ring is an error then.
    ///   - replyLimit: how long to wait for each reply.
    public init(
        busAddress: String? = nil, promptLimit: Duration? = .seconds(120), replyLimit: Duration = .seconds(25)
    ) {
        self.replyLimit = replyLimit
        let folder = Surroundings.variable("XDG_RUNTIME_DIR")
        runtimeFolder = folder
        self.busAddress =
            busAddress ?? Surroundings.variable("DBUS_SESSION_BUS_ADDRESS") ?? folder.map { "unix:path=\($0)/bus" }
        self.promptLimit = promptLimit
    }

    /// "Secret Service".
    public var name: String { "Secret Service" }

    /// Whether there is a service with a key ring to save to. Asks nobody to unlock it.
    ///
    /// Throws ``HTTPAuthError/Code/storeUnavailable``.
    public func check() throws(HTTPAuthError) {
        _ = try conversation().collection()
    }

    /// The credential that fits best: of the realm rather than of the whole server, then unlocked rather than locked, then
    /// the last one changed.
    ///
    /// Throws ``HTTPAuthError/Code/storeUnavailable`` if there is no bus, no service, or one that fails;
    /// ``HTTPAuthError/Code/storeLocked`` if what fits is locked and was not unlocked; ``HTTPAuthError/Code/timedOut``.
    public func find(_ query: CredentialQuery) throws(HTTPAuthError) -> Credential? {
        let service = try conversation()
        let best = try service.items(query).max { $0.rank(for: query) < $1.rank(for: query) }
        guard let best else { return nil }
        if best.isLocked { try service.unlock(best.path) }
        return best.credential(try service.secret(of: best.path), for: query.space)
    }

    /// Keeps a credential. The entry of the same user and space is changed in place: label, date and the attributes of
    /// other programs stay. A new entry goes to the key ring that the user has made the default.
    ///
    /// Throws as ``find(_:)``.
    public func save(_ credential: Credential) throws(HTTPAuthError) {
        let service = try conversation()
        let query = CredentialQuery(credential.space, user: credential.user)
        let old = try service.items(query).filter { $0.isOfRealm(query.space.realm) }.max { $0.modified < $1.modified }
        var attributes = SecretServiceItem.attributes(of: credential)
        guard let old else {
            let collection = try service.collection()
            if try service.isLocked(collection) { try service.unlock(collection) }
            let label = "\(credential.user) at \(credential.space)"
            return try service.create(in: collection, label, attributes, credential.secret)
        }
        if old.isLocked { try service.unlock(old.path) }
        try service.set(credential.secret, of: old.path)
        attributes.merge(old.attributes) { new, _ in new }
        for name in SecretServiceItem.optionalAttributes where SecretServiceItem.attributes(of: credential)[name] == nil
        {
            attributes[name] = nil
        }
        if attributes != old.attributes { try service.set(attributes, of: old.path) }
    }

    /// Forgets what fits. Throws as ``find(_:)``.
    @discardableResult
    public func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int {
        let service = try conversation()
        let items = try service.items(query).filter { $0.isOfRealm(query.space.realm) }
        for item in items {
            if item.isLocked { try service.unlock(item.path) }
            try service.remove(item.path)
        }
        return items.count
    }

    private func conversation() throws(HTTPAuthError) -> SecretServiceConversation {
        guard let busAddress else {
            throw HTTPAuthError(
                .storeUnavailable, detail: "there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set")
        }
        let addresses = DBusAddress.parse(busAddress, runtimeFolder: runtimeFolder)
        let bus = try DBusConnection(addresses, until: .now + replyLimit)
        return SecretServiceConversation(bus, replyLimit: replyLimit, promptLimit: promptLimit)
    }
}

extension Credential {
    fileprivate var secret: Secret {
        switch proof {
        case .password(let secret), .ntHash(let secret): secret
        }
    }
}
