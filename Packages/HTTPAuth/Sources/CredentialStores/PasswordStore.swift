public import HTTPAuth

/// A credential store whose entries can be listed: internet passwords as other programs of the desktop see them.
///
/// A `CredentialStore` finds the one credential for a protection space. This protocol is for programs that manage
/// passwords: it searches by any attributes, for any protocol, and changes exactly one entry.
///
/// ```swift
/// let store: any PasswordStore = SecretServiceStore()
/// for entry in try store.entries(PasswordAttributes(server: "example.org")) {
///     print(entry.attributes.user ?? "", entry.attributes.scheme ?? "any protocol")
/// }
/// ```
///
/// The password of an entry is read, and the entry changed and removed, only if it still has the attributes that the caller has seen, except
/// the label. ``current(_:)`` tells those of now.
///
/// Passwords that were saved as NT hashes are not listed. All members can be called from any thread, and can block.
/// Replaces `SecKeychainSearchRef` and `SecItemCopyMatching` with `kSecClassInternetPassword`.
public protocol PasswordStore: CredentialStore {
    /// Returns the matching entries, the best match first: those that name most of the attributes of the search, then
    /// unlocked ones, then those that were changed last.
    ///
    /// - Throws: The errors of `CredentialStore.find(_:)`.
    func entries(_ search: PasswordAttributes) throws(HTTPAuthError) -> [PasswordEntry]

    /// Returns an entry as it is now; nil if there is no such entry any more. A file knows its entries by their attributes, so
    /// there an entry whose attributes other than the label have changed is another one.
    ///
    /// - Throws: The errors of `CredentialStore.find(_:)`.
    func current(_ entry: PasswordEntry) throws(HTTPAuthError) -> PasswordEntry?

    /// Returns the password of an entry; nil if there is no such entry any more.
    ///
    /// - Throws: The errors of `CredentialStore.find(_:)`.
    func password(of entry: PasswordEntry) throws(HTTPAuthError) -> Secret?

    /// Adds an entry and returns it.
    ///
    /// - Parameters:
    ///   - password: The password.
    ///   - attributes: Its attributes, with a server and a user.
    /// - Throws: `HTTPAuthError.Code.alreadyStored` if there is an entry with the same attributes other than the
    ///   label, or the errors of `CredentialStore.save(_:)`.
    func add(_ password: Secret, _ attributes: PasswordAttributes) throws(HTTPAuthError) -> PasswordEntry

    /// Changes an entry in place and returns it; nil if there is no such entry any more. Data of other programs is kept.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - attributes: All attributes that it has afterwards. Without a label, it is named after the user and the server.
    ///   - password: The new password; nil to keep the present one.
    /// - Throws: `HTTPAuthError.Code.alreadyStored` if another entry has these attributes, or the errors of
    ///   `CredentialStore.save(_:)`.
    func change(
        _ entry: PasswordEntry, to attributes: PasswordAttributes, _ password: Secret?
    ) throws(HTTPAuthError) -> PasswordEntry?

    /// Removes an entry. Returns false if there is no such entry any more.
    ///
    /// - Throws: The errors of `CredentialStore.remove(_:)`.
    func remove(_ entry: PasswordEntry) throws(HTTPAuthError) -> Bool
}

/// What an internet password is for.
///
/// In a search, nil matches any value. An entry without a protocol, a path or an authentication type matches any; one
/// without a port, the default port of its protocol. An entry without a realm matches any realm if another program
/// saved it; the stores of this package save an empty realm, which matches only searches for it or without a realm.
public struct PasswordAttributes: Hashable, Sendable {
    /// The host name or address, in lower case and without brackets.
    public var server: String?

    /// The protocol in lower case, such as `http`; for a proxy, such as `http-proxy`.
    public var scheme: String?

    /// The port number.
    public var port: Int?

    /// The realm; empty for a password without one.
    public var realm: String?

    /// The user name.
    public var user: String?

    /// The path of the URL.
    public var path: String?

    /// The authentication type, such as `basic` or `digest`.
    public var authenticationType: String?

    /// The name of the entry, which programs show to the user.
    public var label: String?

    /// Creates attributes.
    public init(
        server: String? = nil, scheme: String? = nil, port: Int? = nil, realm: String? = nil, user: String? = nil,
        path: String? = nil, authenticationType: String? = nil, label: String? = nil
    ) {
        self.server = server.map { ProtectionSpace.normalized(host: $0) }
        self.scheme = scheme?.lowercased()
        self.port = port
        self.realm = realm
        self.user = user
        self.path = path
        self.authenticationType = authenticationType
        self.label = label
    }

    /// The attributes that no two entries have in common.
    var identity: PasswordAttributes {
        var identity = self
        identity.label = nil
        identity.realm = realm ?? ""
        return identity
    }

    /// The name of an entry to which its program gives none.
    var usualLabel: String { "\(user ?? "") at \(server ?? "")" }

    /// Returns whether an entry with these attributes belongs to a search.
    func matches(_ search: PasswordAttributes) -> Bool {
        func isSame<Value: Equatable>(_ own: Value?, _ wanted: Value?) -> Bool { wanted == nil || own == wanted }
        func mayBe(_ own: String?, _ wanted: String?) -> Bool { own == nil || isSame(own, wanted) }
        return isSame(server, search.server) && isSame(user ?? "", search.user) && isSame(label, search.label)
            && mayBe(scheme, search.scheme) && mayBe(realm, search.realm) && mayBe(path, search.path)
            && mayBe(authenticationType, search.authenticationType)
            && isSame(port ?? (scheme ?? search.scheme).flatMap(Self.defaultPort) ?? search.port, search.port)
    }

    /// Returns the number of attributes that a search and a matching entry name.
    func agreement(with search: PasswordAttributes) -> Int {
        let pairs = [
            (scheme, search.scheme), (realm, search.realm), (path, search.path),
            (authenticationType, search.authenticationType), (port.map { "\($0)" }, search.port.map { "\($0)" }),
        ]
        return pairs.count { $0 != nil && $0 == $1 }
    }

    private static func defaultPort(of scheme: String) -> Int? {
        switch scheme {
        case "http", "http-proxy": 80
        case "https", "https-proxy": 443
        case "ftp", "ftp-proxy": 21
        case "ftps": 990
        case "imap": 143
        case "imaps": 993
        case "ldap": 389
        case "ldaps": 636
        case "pop3": 110
        case "pop3s": 995
        case "smtp": 25
        case "socks": 1080
        case "ssh", "sftp": 22
        case "telnet": 23
        default: nil
        }
    }
}

/// An entry of a store, without its password.
public struct PasswordEntry: Hashable, Sendable {
    /// The attributes. The server and the user are not nil.
    public let attributes: PasswordAttributes

    /// When the entry was added, in seconds since 1970.
    public let created: Int64

    /// When the entry was changed last, in seconds since 1970.
    public let modified: Int64

    /// Whether the key ring must be unlocked before the password can be read.
    public let isLocked: Bool

    /// The object path in a Secret Service; nil in a file, whose entries are known by their attributes.
    let path: String?
}

extension HTTPAuthError {
    static func alreadyStored(_ attributes: PasswordAttributes) -> HTTPAuthError {
        HTTPAuthError(.alreadyStored, detail: attributes.usualLabel)
    }
}

extension [PasswordEntry] {
    /// The matching entries, the best match first.
    func ranked(for search: PasswordAttributes) -> [PasswordEntry] {
        func rank(_ entry: PasswordEntry) -> (Int, Int, Int64) {
            (entry.attributes.agreement(with: search), entry.isLocked ? 0 : 1, entry.modified)
        }
        // The sort is stable, and entries that were saved later come last.
        return filter { $0.attributes.matches(search) }.reversed().sorted { rank($0) > rank($1) }
    }
}
