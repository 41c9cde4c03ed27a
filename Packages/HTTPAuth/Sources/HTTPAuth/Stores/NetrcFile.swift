/// Credentials from a netrc file, as curl and ftp read it.
///
/// ```swift
/// let netrc = try NetrcFile(path: home + "/.netrc")
/// try netrc.find(CredentialQuery(authentication.space))
/// ```
///
/// An entry is for a machine, in whatever realm. `machine example.org` is good on any port and for any scheme of a server
/// that the application named; one that a redirect led to gets it over https on port 443 only. `machine example.org:8443`
/// is good on that port alone, after a redirect over https only, and `machine http://example.org:8080` for that scheme and
/// port, however the request came there. `default` is good for a server that the application named, and for no redirect
/// (CVE-2025-0167, CVE-2022-27774).
///
/// The file is read once, when the object is made. It is never written. What is found belongs to the space asked for, and
/// so can go nowhere else. Proxies get nothing of it unless you put the object among their stores.
public final class NetrcFile: CredentialStore {
    /// The file.
    public let path: String

    private let entries: [NetrcParser.Entry]

    /// The bytes of the largest file that is read.
    public static let sizeLimit = 1 << 20

    /// Reads a file.
    ///
    /// Throws ``HTTPAuthError/Code/storeUnavailable`` if it cannot be read or is too large,
    /// ``HTTPAuthError/Code/storeNotPrivate`` if others than its owner may read it (allow that with `sharedWithOthers`), and
    /// ``HTTPAuthError/Code/storeMalformed``.
    public init(path: String, sharedWithOthers: Bool = false) throws(HTTPAuthError) {
        self.path = path
        var bytes = try PrivateFile.read(path, limit: Self.sizeLimit, sharedWithOthers: sharedWithOthers)
        defer { bytes.wipe() }
        let parsed = bytes.withUnsafeBytes { bytes in
            Result { () throws(HTTPAuthError) in try NetrcParser.parse(bytes) }
        }
        entries = try parsed.get()
    }

    /// "netrc file" and the path.
    public var name: String { "netrc file \(path)" }

    /// False.
    public var isWritable: Bool { false }

    /// False: the file was read before.
    public var mayBlock: Bool { false }

    /// The first entry for the server, and the user if one is asked for; else the `default`. Entries without a login or a
    /// password are of no use here.
    public func find(_ query: CredentialQuery) -> Credential? {
        let (space, user) = (query.space, query.user)
        let login = login(user: user) { $0.fits(space.host, space.port, space.scheme, isNamed: query.isNamed) }
        return login.map { Credential(user: $0.user, proof: .password($0.password), for: space) }
    }

    /// User and password for a host that the application named, for a protocol that is not HTTP: FTP, for one.
    ///
    /// The password is bound to nothing: that it goes to this host only is up to you.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - port: The port; nil for one that is not known, which no entry with a port fits.
    ///   - scheme: The scheme, such as `ftp`; nil for none, which no entry with a scheme fits.
    ///   - user: The user; nil for any.
    public func login(
        forHost host: String, port: Int? = nil, scheme: String? = nil, user: String? = nil
    ) -> (user: String, password: Secret)? {
        let host = ProtectionSpace.normalized(host: host)
        return login(user: user) { $0.fits(host, port, scheme?.lowercased(), isNamed: true) }
    }

    private func login(
        user: String?, where fits: (NetrcParser.Entry) -> Bool
    ) -> (user: String, password: Secret)? {
        let usable = entries.filter { entry in
            entry.login != nil && entry.password != nil && (user == nil || user == entry.login) && fits(entry)
        }
        let entry = usable.first { $0.machine != nil } ?? usable.first
        guard let entry, let login = entry.login, let password = entry.password else { return nil }
        return (login, password)
    }

    /// Throws ``HTTPAuthError/Code/storeReadOnly``.
    public func save(_ credential: Credential) throws(HTTPAuthError) {
        throw HTTPAuthError(.storeReadOnly, detail: name)
    }

    /// Throws ``HTTPAuthError/Code/storeReadOnly``.
    public func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int {
        throw HTTPAuthError(.storeReadOnly, detail: name)
    }
}
