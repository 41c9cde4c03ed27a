/// An entry of a Secret Service: its attributes, and what they mean for credentials.
struct SecretServiceItem: Hashable {
    static let schema = "org.gnome.keyring.NetworkPassword"

    /// Attributes of ours that an entry need not have: the Windows domain of the account, and that the secret is an NT hash.
    static let optionalAttributes = ["account-domain", "proof"]
    static let hash = "nt-hash"

    var path: String
    var attributes: [String: String]
    var isLocked: Bool
    /// When it was changed last, in seconds since 1970.
    var modified: UInt64

    /// All attributes of an entry for a credential. A space without a realm has an empty one, so that its entry is not taken
    /// for one that is good for the whole server.
    static func attributes(of credential: Credential) -> [String: String] {
        var attributes = search(CredentialQuery(credential.space, user: credential.user))
        attributes["port"] = String(credential.space.port)
        attributes["domain"] = credential.space.realm ?? ""
        attributes["account-domain"] = credential.accountDomain
        if case .ntHash = credential.proof { attributes["proof"] = hash }
        return attributes
    }

    /// What the service is asked for. Port and realm may be absent in entries, so they are looked at here.
    static func search(_ query: CredentialQuery) -> [String: String] {
        let space = query.space
        var attributes = ["xdg:schema": schema, "server": space.host]
        attributes["protocol"] = space.role == .proxy ? "\(space.scheme)-proxy" : space.scheme
        attributes["user"] = query.user
        return attributes
    }

    /// Whether it may be used for a query; an entry without a port is for the usual one.
    func fits(_ query: CredentialQuery) -> Bool {
        let usual = query.space.scheme == "https" ? "443" : "80"
        return Self.search(query).allSatisfy { attributes[$0.key] == $0.value } && attributes["user"] != nil
            && (attributes["port"] ?? usual) == String(query.space.port)
            && (attributes["domain"] == nil || isOfRealm(query.space.realm))
    }

    func isOfRealm(_ realm: String?) -> Bool { attributes["domain"] == realm ?? "" }

    /// Says which of those that fit is the best: the one with the largest.
    func rank(for query: CredentialQuery) -> (Int, Int, UInt64) {
        (isOfRealm(query.space.realm) ? 1 : 0, isLocked ? 0 : 1, modified)
    }

    func credential(_ secret: Secret, for space: ProtectionSpace) -> Credential {
        Credential(
            user: attributes["user"] ?? "", accountDomain: attributes["account-domain"],
            proof: attributes["proof"] == Self.hash ? .ntHash(secret) : .password(secret), for: space)
    }
}
