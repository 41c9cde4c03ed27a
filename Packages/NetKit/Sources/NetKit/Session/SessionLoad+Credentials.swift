internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// Where a load takes credentials from, and where it keeps them.
extension SessionLoad {
    mutating func drop(_ entry: KnownAuthentication) {
        session.forget(entry)
        if let credential = entry.credential { refused.insert(credential) }
    }

    /// What is known, stored or asked for. One load at a time: what another one has just learned is used, and nobody is
    /// asked twice.
    mutating func entry(
        for authentication: HTTPAuthentication, of challenge: HTTPResponse, after failure: HTTPAuthError?,
        besides old: KnownAuthentication?, from proxy: HTTPProxy?
    ) async throws(StreamError) -> KnownAuthentication? {
        guard await session.turnstile.enter() else { throw .cancelled }
        defer { session.turnstile.leave() }
        let wanted = wantedLogin(for: authentication)
        if let known = session.find(like: authentication, of: wanted, besides: old) { return known }
        let policy = session.configuration.policy(for: authentication.place.role)
        let entry: KnownAuthentication
        // What may not be used unless the user agrees to a weaker login than before.
        var objection: HTTPAuthError?
        if !authentication.requiresUserNameAndPassword {
            entry = KnownAuthentication(authentication, of: challenge, policy, nil, isStored: true, saves: false)
        } else if let credential = try await stored(authentication, proxy, &objection) {
            entry = KnownAuthentication(
                authentication, of: challenge, policy, credential, isStored: true, saves: false)
        } else if let credential = session.credential(like: authentication, of: wanted),
            isUsable(credential, authentication, &objection)
        {
            // Somebody else's connection is being authenticated with it.
            entry = KnownAuthentication(
                authentication, of: challenge, policy, credential, isStored: true, saves: false)
        } else if let answer = await ask(authentication, failure, proxy, objection) {
            let credential = authentication.credential(answer.user, answer.password, answer.accountDomain)
            authentication.approve(credential)
            if let wanted, wanted.user != answer.user { login = URLLogin(user: answer.user) }
            entry = KnownAuthentication(
                authentication, of: challenge, policy, credential, isStored: false, saves: answer.saves)
        } else {
            return nil
        }
        session.remember(entry, for: claim)
        return entry
    }

    /// The user of the URL, whose logins alone will do at its origin, and the password unless that was refused; nil for any user.
    private func wantedLogin(for authentication: HTTPAuthentication) -> URLLogin? {
        guard authentication.place.role == .origin, var login else { return nil }
        if let password = login.password,
            refused.contains(authentication.credential(login.user, Secret(password), nil))
        {
            login.password = nil
        }
        return login
    }

    /// Whether a credential that nobody was asked for may be tried: it was not refused, and is not used in a weaker form
    /// than before.
    private func isUsable(
        _ credential: Credential, _ authentication: HTTPAuthentication, _ objection: inout HTTPAuthError?
    ) -> Bool {
        if refused.contains(credential) { return false }
        guard let reason = authentication.objection(to: credential) else { return true }
        objection = reason
        return false
    }

    /// What the URL of origin or proxy says, or a store, if it may be tried.
    private func stored(
        _ authentication: HTTPAuthentication, _ proxy: HTTPProxy?, _ objection: inout HTTPAuthError?
    ) async throws(StreamError) -> Credential? {
        let login = authentication.place.role == .origin ? self.login : proxy?.accountInURL
        if let login, let password = login.password {
            let credential = authentication.credential(login.user, Secret(password), nil)
            if isUsable(credential, authentication, &objection) { return credential }
        }
        do throws(HTTPAuthError) {
            let query = CredentialQuery(
                authentication.space, user: login?.user, isNamed: authentication.isNamed)
            guard let found = try await session.configuration.stores.find(query) else { return nil }
            return isUsable(found, authentication, &objection) ? found : nil
        } catch {
            throw .authentication(error)
        }
    }

    private mutating func ask(
        _ authentication: HTTPAuthentication, _ failure: HTTPAuthError?, _ proxy: HTTPProxy?,
        _ objection: HTTPAuthError?
    ) async -> AuthenticationPrompt.Answer? {
        guard let prompt = session.configuration.prompt, prompts < session.configuration.promptLimit,
            let method = authentication.method
        else { return nil }
        prompts += 1
        let user = authentication.place.role == .origin ? login?.user : proxy?.accountInURL?.user
        return await prompt(
            AuthenticationPrompt(
                space: authentication.space, method: method,
                requiresAccountDomain: authentication.requiresAccountDomain, url: url, user: user,
                failure: failure?.code == .weakerScheme ? nil : failure,
                downgrade: objection ?? authentication.objection(to: nil)))
    }

    /// Keeps what the server or proxy has accepted and is not stored yet.
    func save(_ entry: KnownAuthentication) async throws(StreamError) {
        guard let (credential, persistently) = entry.takeUnsaved() else { return }
        do throws(HTTPAuthError) {
            // Without a store there is nowhere to keep it, unless the user wanted that.
            try await session.configuration.stores.save(credential, persistently: persistently)
        } catch {
            guard persistently || error.code != .storeReadOnly else { return }
            throw .authentication(error)
        }
    }
}

extension HTTPAuthentication {
    /// A credential for this object's space. Where a domain belongs to the account and none is given, `DOMAIN\user` is split.
    fileprivate func credential(_ user: String, _ password: Secret, _ domain: String?) -> Credential {
        var (user, domain) = (user, domain)
        if requiresAccountDomain, domain?.isEmpty != false, let mark = user.firstIndex(of: "\\") {
            domain = String(user[..<mark])
            user = String(user[user.index(after: mark)...])
        }
        return Credential(user: user, accountDomain: domain, proof: .password(password), for: space)
    }
}

extension Credential {
    /// Whether a URL names this user, also as `DOMAIN\user`, and this password, if it has one. True for a URL without a user.
    func isOf(_ login: SessionLoad.URLLogin?) -> Bool {
        guard let login else { return true }
        guard login.user == user || login.user == accountDomain.map({ "\($0)\\\(user)" }) else { return false }
        return login.password.map { Secret($0) == password } ?? true
    }
}

extension HTTPProxy {
    /// The proxy's account, as the login of a URL.
    fileprivate var accountInURL: SessionLoad.URLLogin? {
        account.map { .init(user: $0.user, password: $0.password.withBytes { String(decoding: $0, as: UTF8.self) }) }
    }
}
