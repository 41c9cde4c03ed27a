/// A user name and a password without a realm, as CFNetwork accepts them.
struct Login: Sendable {
    let user: String
    let password: Secret
    let accountDomain: String?

    init(_ user: String, _ password: Secret, _ accountDomain: String?) {
        self.user = user
        self.password = password
        self.accountDomain = accountDomain
    }

    init(_ user: String, _ password: String, _ accountDomain: String?) {
        self.init(user, Secret(password), accountDomain)
    }

    /// Returns the credential for a space. If the scheme uses account domains and none was given, it is taken from
    /// `DOMAIN\user`.
    func credential(for space: ProtectionSpace, _ authentication: HTTPAuthentication) -> Credential {
        var user = user
        var domain = accountDomain
        if authentication.requiresAccountDomain, domain?.isEmpty != false,
            let mark = user.unicodeScalars.firstIndex(of: "\\")
        {
            domain = String(user[..<mark])
            user = String(user.unicodeScalars[mark...].dropFirst())
        }
        return Credential(user: user, accountDomain: domain, proof: .password(password), for: space)
    }
}

extension HTTPAuthentication {
    /// Returns the credential of a login for this object's space.
    ///
    /// - Parameters:
    ///   - user: The user name. If ``requiresAccountDomain`` and `accountDomain` is empty or nil, `DOMAIN\user` is split.
    ///   - password: The password.
    ///   - accountDomain: The domain of the account; nil if there is none.
    public func credential(user: String, password: Secret, accountDomain: String? = nil) -> Credential {
        Login(user, password, accountDomain).credential(for: space, self)
    }
}
