internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// One load of a session: redirects, and for each the rounds of authentication.
struct SessionLoad {
    /// How much of an answer that is not wanted is read for the sake of its connection.
    static let discardLimit = 64 * 1024

    private let session: HTTPSession
    /// The request without anything of the session's.
    private var request: HTTPRequest
    private var body: HTTPBody?
    private var url: URL
    private var origin: HTTPOrigin
    private var redirects = RedirectPolicy()
    /// User name and password of the caller's own URL; not of one that a redirect leads to.
    private var login: (user: String, password: String?)?
    private var prompts = 0
    private var refused: Set<Credential> = []
    private var hasOwnField: Bool { request.fields.contains(.authorization) }

    init(_ request: HTTPRequest, body: HTTPBody?, session: HTTPSession) throws(StreamError) {
        guard let url = request.url else { throw .badURL("the request was made without one.") }
        self.session = session
        self.request = try request.withoutLogin(url)
        self.body = body ?? request.body.map { .bytes($0) }
        self.url = self.request.url ?? url
        origin = try HTTPOrigin(url)
        login = url.user(percentEncoded: false).map { ($0, url.password(percentEncoded: false)) }
    }

    /// The stream of the answer that counts.
    mutating func run() async throws(StreamError) -> ReadStream {
        while true {
            let stream = try await authenticate()
            guard session.configuration.followsRedirects, let response = stream[.httpResponse] else { return stream }
            let hop: RedirectPolicy.Hop?
            do throws(StreamError) {
                hop = try redirects.next(after: response, to: request, at: url, of: origin)
                if hop?.keepsBody == true { try checkBody(stream, response.status) }
            } catch {
                stream.close()
                throw error
            }
            guard let hop else { return stream }
            await discard(stream)
            if hop.origin != origin { login = nil }
            (request, url, origin) = (hop.request, hop.url, hop.origin)
            if !hop.keepsBody { body = nil }
        }
    }

    // MARK: Rounds

    /// Sends the request until it is answered with anything but a challenge that can be met.
    private mutating func authenticate() async throws(StreamError) -> ReadStream {
        var entry = hasOwnField ? nil : session.find(request)
        for _ in 0...session.configuration.policy.limits.roundCount {
            entry?.checkConnection()
            var signed = request
            if let known = entry {
                do throws(HTTPAuthError) {
                    try await known.authentication.apply(
                        to: &signed, known.credential, body: signedBody, channelBinding: known.binding)
                } catch {
                    entry = try await successor(of: known, after: error)
                    continue
                }
            }
            let stream = try makeStream(signed, entry)
            let verdict: AuthenticationVerdict
            do throws(StreamError) {
                try stream.open()
                verdict = try self.verdict(on: try await stream.response(), to: signed, entry)
            } catch {
                stream.close()
                throw error
            }
            entry?.bind(to: stream)
            switch verdict {
            case .accepted:
                try save(entry, stream)
                return stream
            case .apply: break
            case .refused, .otherSpace, .failed:
                guard !hasOwnField, let next = try await next(after: verdict, stream, entry) else { return stream }
                next.bind(to: stream)
                entry = next
            }
            do throws(StreamError) {
                try checkBody(stream, .unauthorized)
            } catch {
                stream.close()
                throw error
            }
            await discard(stream)
        }
        throw .authentication(HTTPAuthError(.tooManyRounds, scheme: entry?.authentication.method?.name))
    }

    private func verdict(
        on response: HTTPResponse, to signed: HTTPRequest, _ entry: KnownAuthentication?
    ) throws(StreamError) -> AuthenticationVerdict {
        guard let entry else { return response.status == .unauthorized ? .otherSpace : .accepted }
        do throws(HTTPAuthError) {
            return try entry.authentication.update(with: response, to: signed)
        } catch {
            session.forget(entry)
            throw .authentication(error)
        }
    }

    private func makeStream(
        _ signed: HTTPRequest, _ entry: KnownAuthentication?
    ) throws(StreamError) -> ReadStream {
        var signed = signed
        if let body, !body.isRepeatable, !signed.fields.contains(.expect) {
            // Whoever refuses the request does it before the body is spent.
            do throws(HTTPMessageError) { try signed.fields.set("100-continue", for: .expect) } catch {
                throw StreamError(error)
            }
        }
        let stream = ReadStream(request: signed, body: body, loop: session.loop)
        try session.configuration.prepare(stream)
        try stream.set(.httpFollowsRedirects, to: false)
        try stream.set(.httpKeepsConnection, to: true)
        try stream.set(.httpPool, to: entry?.pool ?? session.configuration.pool)
        entry?.begin(stream)
        return stream
    }

    // MARK: Credentials

    /// What to try after a challenge that the credential at hand does not meet; nil if there is nothing.
    private mutating func next(
        after verdict: AuthenticationVerdict, _ stream: ReadStream, _ entry: KnownAuthentication?
    ) async throws(StreamError) -> KnownAuthentication? {
        var failure: HTTPAuthError?
        if let entry, verdict != .otherSpace {
            failure = entry.authentication.error
            drop(entry)
            guard failure?.asksForOtherCredentials == true else { return nil }
        }
        guard let response = stream[.httpResponse],
            let authentication = HTTPAuthentication(response: response, policy: session.configuration.policy),
            authentication.isValid
        else { return nil }
        return try await self.entry(for: authentication, after: failure, besides: entry)
    }

    /// What to try when a credential could not even be applied.
    private mutating func successor(
        of entry: KnownAuthentication, after error: HTTPAuthError
    ) async throws(StreamError) -> KnownAuthentication {
        // The scheme could not start, and the next one wants a credential of another realm, or one at all.
        let isOther = error.code == .wrongProtectionSpace || error.code == .missingUserName
        drop(entry)
        guard isOther || error.asksForOtherCredentials, entry.authentication.isValid,
            let next = try await self.entry(for: entry.authentication, after: isOther ? nil : error, besides: entry)
        else { throw .authentication(error) }
        return next
    }

    private mutating func drop(_ entry: KnownAuthentication) {
        session.forget(entry)
        if let credential = entry.credential { refused.insert(credential) }
    }

    /// One load at a time: what another one has just learned is used, and nobody is asked twice.
    private mutating func entry(
        for authentication: HTTPAuthentication, after failure: HTTPAuthError?, besides old: KnownAuthentication?
    ) async throws(StreamError) -> KnownAuthentication? {
        guard await session.turnstile.enter() else { throw .cancelled }
        defer { session.turnstile.leave() }
        if let known = session.find(like: authentication, besides: old) { return known }
        let entry: KnownAuthentication
        if !authentication.requiresUserNameAndPassword {
            entry = KnownAuthentication(authentication, nil, isStored: true, saves: false)
        } else if let credential = try stored(authentication) {
            entry = KnownAuthentication(authentication, credential, isStored: true, saves: false)
        } else if let answer = await ask(authentication, failure) {
            let credential = authentication.credential(answer.user, answer.password, answer.accountDomain)
            entry = KnownAuthentication(authentication, credential, isStored: false, saves: answer.saves)
        } else {
            return nil
        }
        session.remember(entry)
        return entry
    }

    /// What the URL says, or a store; not what was refused already.
    private func stored(_ authentication: HTTPAuthentication) throws(StreamError) -> Credential? {
        if let login, let password = login.password {
            let credential = authentication.credential(login.user, Secret(password), nil)
            if !refused.contains(credential) { return credential }
        }
        do throws(HTTPAuthError) {
            let found = try session.configuration.stores.find(CredentialQuery(authentication.space, user: login?.user))
            return found.flatMap { refused.contains($0) ? nil : $0 }
        } catch {
            throw .authentication(error)
        }
    }

    private mutating func ask(
        _ authentication: HTTPAuthentication, _ failure: HTTPAuthError?
    ) async -> AuthenticationPrompt.Answer? {
        guard let prompt = session.configuration.prompt, prompts < session.configuration.promptLimit,
            let method = authentication.method
        else { return nil }
        prompts += 1
        return await prompt(
            AuthenticationPrompt(
                space: authentication.space, method: method,
                requiresAccountDomain: authentication.requiresAccountDomain, url: url, user: login?.user,
                failure: failure))
    }

    /// The server has accepted what is not stored yet.
    private func save(_ entry: KnownAuthentication?, _ stream: ReadStream) throws(StreamError) {
        guard let (credential, persistently) = entry?.takeUnsaved() else { return }
        do throws(HTTPAuthError) {
            // Without a store there is nowhere to keep it, unless the user wanted that.
            try session.configuration.stores.save(credential, persistently: persistently)
        } catch {
            guard persistently || error.code != .storeReadOnly else { return }
            stream.close()
            throw .authentication(error)
        }
    }

    // MARK: Bodies

    /// The body, for schemes that sign it.
    private var signedBody: AuthenticationBody {
        switch body?.source {
        case nil: .bytes([])
        case .bytes(let bytes): .bytes(bytes)
        case .repeatable, .once: .unknown
        }
    }

    /// A body that can be had once and was begun cannot be sent again.
    private func checkBody(_ stream: ReadStream, _ status: HTTPStatus) throws(StreamError) {
        guard body?.isRepeatable == false, (stream[.httpBodyBytesSent] ?? 0) > 0 else { return }
        throw .bodyNotRepeatable(status.code)
    }

    /// Reads what is left of an answer, so that its connection can be used again, and closes.
    private func discard(_ stream: ReadStream) async {
        var piece = [UInt8](repeating: 0, count: 4096)
        var count = 0
        do throws(StreamError) {
            while count < Self.discardLimit, case let more = try await stream.read(into: &piece), more > 0 {
                count += more
            }
        } catch {
            // It is closed anyway, and with it the connection.
        }
        stream.close()
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

extension HTTPRequest {
    /// The same request for its URL without user and password, which are nobody else's business.
    fileprivate func withoutLogin(_ url: URL) throws(StreamError) -> HTTPRequest {
        guard url.user(percentEncoded: true) != nil || url.password(percentEncoded: true) != nil,
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return self }
        (parts.user, parts.password) = (nil, nil)
        guard let plain = parts.url else { throw .badURL("it has no form without a user.") }
        do throws(HTTPMessageError) {
            var request = try HTTPRequest(method: method, url: plain, version: version)
            request.fields = fields
            request.body = body
            return request
        } catch {
            throw StreamError(error)
        }
    }
}
