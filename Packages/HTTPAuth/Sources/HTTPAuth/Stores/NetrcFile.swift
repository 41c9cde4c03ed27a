/// Credentials from a netrc file, as curl and ftp read it: for a machine, whatever port, scheme and realm asks.
///
/// ```swift
/// let netrc = try NetrcFile(path: home + "/.netrc")
/// try netrc.find(CredentialQuery(authentication.space))
/// ```
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

    /// The first entry for the host, and the user if one is asked for; else the `default`. Entries without a login or a
    /// password are of no use here.
    public func find(_ query: CredentialQuery) -> Credential? {
        login(forHost: query.space.host, user: query.user).map { login in
            Credential(user: login.user, proof: .password(login.password), for: query.space)
        }
    }

    /// User and password for a host, for a protocol that is not HTTP: FTP, for one. The same entry as ``find(_:)``.
    ///
    /// The password is bound to nothing: that it goes to this host only is up to you.
    public func login(forHost host: String, user: String? = nil) -> (user: String, password: Secret)? {
        let fits = entries.filter { entry in
            entry.login != nil && entry.password != nil && (user == nil || user == entry.login)
        }
        let host = ProtectionSpace.normalized(host: host)
        let entry =
            fits.first { $0.machine.map { ProtectionSpace.normalized(host: $0) } == host }
            ?? fits.first { $0.machine == nil }
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
