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
        if let known = session.find(like: authentication, besides: old) { return known }
        let policy = session.configuration.policy(for: authentication.place.role)
        let entry: KnownAuthentication
        if !authentication.requiresUserNameAndPassword {
            entry = KnownAuthentication(authentication, of: challenge, policy, nil, isStored: true, saves: false)
        } else if let credential = try await stored(authentication, proxy) {
            entry = KnownAuthentication(
                authentication, of: challenge, policy, credential, isStored: true, saves: false)
        } else if let credential = session.credential(like: authentication), !refused.contains(credential) {
            // Somebody else's connection is being authenticated with it.
            entry = KnownAuthentication(
                authentication, of: challenge, policy, credential, isStored: true, saves: false)
        } else if let answer = await ask(authentication, failure, proxy) {
            let credential = authentication.credential(answer.user, answer.password, answer.accountDomain)
            entry = KnownAuthentication(
                authentication, of: challenge, policy, credential, isStored: false, saves: answer.saves)
        } else {
            return nil
        }
        session.remember(entry)
        return entry
    }

    /// What the URL of origin or proxy says, or a store; not what was refused already.
    private func stored(
        _ authentication: HTTPAuthentication, _ proxy: HTTPProxy?
    ) async throws(StreamError) -> Credential? {
        let login = authentication.place.role == .origin ? self.login : proxy?.ownLogin
        if let login, let password = login.password {
            let credential = authentication.credential(login.user, Secret(password), nil)
            if !refused.contains(credential) { return credential }
        }
        do throws(HTTPAuthError) {
            let query = CredentialQuery(authentication.space, user: login?.user)
            let found = try await session.configuration.stores.find(query)
            return found.flatMap { refused.contains($0) ? nil : $0 }
        } catch {
            throw .authentication(error)
        }
    }

    private mutating func ask(
        _ authentication: HTTPAuthentication, _ failure: HTTPAuthError?, _ proxy: HTTPProxy?
    ) async -> AuthenticationPrompt.Answer? {
        guard let prompt = session.configuration.prompt, prompts < session.configuration.promptLimit,
            let method = authentication.method
        else { return nil }
        prompts += 1
        let user = authentication.place.role == .origin ? login?.user : proxy?.ownLogin?.user
        return await prompt(
            AuthenticationPrompt(
                space: authentication.space, method: method,
                requiresAccountDomain: authentication.requiresAccountDomain, url: url, user: user, failure: failure))
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

extension HTTPProxy {
    /// User and password that the proxy's own fields carry, as those of a proxy's URL do.
    fileprivate var ownLogin: (user: String, password: String?)? {
        guard let value = fields[.proxyAuthorization], value.lowercased().hasPrefix("basic "),
            let bytes = Data(base64Encoded: value.dropFirst(6).drop { $0 == " " }.description)
        else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : nil)
    }
}
