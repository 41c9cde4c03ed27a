/// A read-only credential store in a netrc file, in the format of curl and ftp.
///
/// ```swift
/// let netrc = try NetrcFile(path: home + "/.netrc")
/// try netrc.find(CredentialQuery(authentication.space))
/// ```
///
/// An entry is valid for one machine and any realm:
/// - `machine example.org` is valid for every port and scheme of a server that the application named. After a redirect
///   it is valid only for https on port 443.
/// - `machine example.org:8443` is valid for that port only; after a redirect, only for https.
/// - `machine http://example.org:8080` is valid for that scheme and port, also after a redirect.
/// - `default` is valid for servers that the application named, and never after a redirect (CVE-2025-0167,
///   CVE-2022-27774).
///
/// The file is read once, when the object is created, and never written. A credential belongs to the space of the query
/// and cannot be used elsewhere. Proxies use the file only if you add the object to their stores.
public final class NetrcFile: CredentialStore {
    /// The path of the file.
    public let path: String

    private let entries: [NetrcParser.Entry]

    /// The maximum size of a file that is read, in bytes.
    public static let sizeLimit = 1 << 20

    /// Reads a file.
    ///
    /// - Throws: ``HTTPAuthError/Code/storeUnavailable`` if the file cannot be read or is too large;
    ///   ``HTTPAuthError/Code/storeNotPrivate`` if other users can read it, unless `sharedWithOthers` is true;
    ///   ``HTTPAuthError/Code/storeMalformed``.
    public init(path: String, sharedWithOthers: Bool = false) throws(HTTPAuthError) {
        self.path = path
        var bytes = try PrivateFile.read(path, limit: Self.sizeLimit, sharedWithOthers: sharedWithOthers)
        defer { bytes.wipe() }
        let parsed = bytes.withUnsafeBytes { bytes in
            Result { () throws(HTTPAuthError) in try NetrcParser.parse(bytes) }
        }
        entries = try parsed.get()
    }

    /// "netrc file" followed by the path.
    public var name: String { "netrc file \(path)" }

    /// Returns false.
    public var isWritable: Bool { false }

    /// Returns false, because the file has already been read.
    public var mayBlock: Bool { false }

    /// Returns the first entry that matches the server and, if given, the user; otherwise the `default`. Entries
    /// without a login or a password are ignored.
    public func find(_ query: CredentialQuery) -> Credential? {
        let (space, user) = (query.space, query.user)
        let login = login(user: user) { $0.matches(space.host, space.port, space.scheme, isNamed: query.isNamed) }
        return login.map { Credential(user: $0.user, proof: .password($0.password), for: space) }
    }

    /// Returns the user and password for a host that the application named, for protocols other than HTTP, such as FTP.
    ///
    /// The password is not bound to a protection space. The caller must send it to this host only.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - port: The port. Nil if it is unknown; entries with a port do not match then.
    ///   - scheme: The scheme, such as `ftp`. Nil for none; entries with a scheme do not match then.
    ///   - user: The user name; nil matches any user.
    public func login(
        forHost host: String, port: Int? = nil, scheme: String? = nil, user: String? = nil
    ) -> (user: String, password: Secret)? {
        let host = ProtectionSpace.normalized(host: host)
        return login(user: user) { $0.matches(host, port, scheme?.lowercased(), isNamed: true) }
    }

    private func login(
        user: String?, where matches: (NetrcParser.Entry) -> Bool
    ) -> (user: String, password: Secret)? {
        let usable = entries.filter { entry in
            entry.login != nil && entry.password != nil && (user == nil || user == entry.login) && matches(entry)
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
