/// A user name and a password without a realm, as CFNetwork accepts them.
struct Login: Sendable {
    let user: String
    let password: Secret
    let accountDomain: String?

    init(_ user: String, _ password: String, _ accountDomain: String?) {
        self.user = user
        self.password = Secret(password)
        self.accountDomain = accountDomain
    }

    /// Returns the credential for a space. If the scheme uses account domains and none was given, it is taken from
    /// `DOMAIN\user`.
    func credential(for space: ProtectionSpace, _ authentication: HTTPAuthentication) -> Credential {
        var user = user
        var domain = accountDomain
        if authentication.requiresAccountDomain, domain?.isEmpty != false, let mark = user.firstIndex(of: "\\") {
            domain = String(user[..<mark])
            user = String(user[user.index(after: mark)...])
        }
        return Credential(user: user, accountDomain: domain, proof: .password(password), for: space)
    }
}
