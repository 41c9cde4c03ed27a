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
