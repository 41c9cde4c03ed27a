internal import EventLoops
internal import FoundationEssentials
@_spi(Packages) internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// One load of a session: redirects, and for each hop the rounds of authentication, with the origin and with the proxies of the
/// route.
///
/// Theory of operation. A round is a ``SessionAttempt``: the request with the logins for all challenges so far. Its response is
/// evaluated by its sender, the origin (401) or a proxy (407), and a credential that the sender's authentication needs for the
/// next round is looked up or prompted for. Tunnels have their own rounds within the attempt, on their own connection, as long
/// as the credentials stay the same.
struct SessionLoad: ~Copyable {
    private let session: HTTPSession
    private let options: LoadOptions
    /// The request without the session's additions, and its history.
    private var fetch: Fetch
    private var request: HTTPRequest { fetch.request }
    private var body: HTTPBody? { fetch.body }
    /// The connection of the other protocol, once the server has switched.
    private(set) var switched: (pair: StreamPair, received: [UInt8])?
    private var url: URL
    private var origin: HTTPOrigin
    /// The host that the application named, whose site causes all requests of the load.
    private let namedHost: String
    /// User name and password of the caller's own URL; not those of a redirect's target. A user entered at a prompt replaces
    /// them.
    private var login: URLLogin?
    /// The bearer token of the load, until a redirect leads to another origin.
    private var bearer: BearerUse
    /// Whether the route of the current request may carry secure cookies.
    private var isRouteSecure = false
    /// Claims the logins of this hop that belong to connections.
    private var claim = LoginClaim()
    private var prompts = 0
    private var refused: Set<Credential> = []

    /// The logins that are used for the origin, and for each proxy that requires one.
    private var originEntry: KnownAuthentication?
    private var proxyEntries: [KnownAuthentication] = []
    /// The proxies that have required a login, with their own fields.
    private var proxies: [ProtectionSpace: HTTPProxy] = [:]
    /// The number of challenges and lost connections of each server and proxy.
    private var rounds: [ProtectionSpace: Int] = [:]
    /// Whether a leg without its body was taken for the whole request.
    private var sendsWholeBody = false

    init(
        _ request: HTTPRequest, body: HTTPBody?, session: HTTPSession, _ options: LoadOptions
    ) throws(StreamError) {
        guard let url = request.url else { throw .badURL("the request has none.") }
        var plain = try request.withoutLogin(url)
        let origin = try HTTPOrigin(url)
        let body = body ?? plain.ownBody
        plain.body = []
        self.session = session
        self.options = options
        self.url = plain.url ?? url
        self.origin = origin
        namedHost = origin.host
        fetch = Fetch(plain, body: body)
        login = URLLogin(url)
        bearer = BearerUse(session.bearer)
    }

    /// Returns the stream of the final response.
    mutating func run() async throws(StreamError) -> ReadStream {
        while true {
            let stream = try await authenticate()
            guard session.configuration.options.followsRedirects, options.followsRedirects,
                let response = stream[.httpResponse]
            else { return stream }
            let hop: NextRequest?
            do throws(StreamError) {
                recordSpentBody(stream)
                hop = try await self.hop(after: response)
            } catch {
                stream.close()
                throw error.with(stream.report)
            }
            guard let hop else { return stream }
            await discard(stream)
            if hop.origin != origin { (login, bearer) = (nil, BearerUse(nil)) }
            fetch.follow(hop)
            (url, origin) = (hop.url, hop.origin)
        }
    }

    /// Returns the redirect to follow; nil if the response is the result.
    private mutating func hop(after response: HTTPResponse) async throws(StreamError) -> NextRequest? {
        let opensWebSocket = options.upgrade?.utf8.elementsEqual("websocket".utf8) { $0 | 0x20 == $1 } ?? false
        guard
            var hop = try fetch.redirect(
                after: response, session.configuration.options.crossOrigin, opensWebSocket: opensWebSocket)
        else { return nil }
        guard let decide = session.configuration.onRedirect else { return hop }
        guard
            let next = await decide(
                HTTPRedirect(
                    response: response, request: request, next: hop.request, count: fetch.redirects.count))
        else { return nil }
        if next == hop.request { return hop }
        guard let url = next.url, next.body.isEmpty else {
            throw .badURL("the request that onRedirect has returned has no URL, or a body of its own.")
        }
        (hop.origin, hop.url, hop.request) = (try HTTPOrigin(url), url, next)
        return hop
    }

    // MARK: Rounds

    /// Sends the request until the response is not a challenge that can be met.
    private mutating func authenticate() async throws(StreamError) -> ReadStream {
        claim = LoginClaim()
        originEntry = request.fields.contains(.authorization) ? nil : session.find(request, of: login, for: claim)
        proxyEntries =
            request.fields.contains(.proxyAuthorization)
            ? [] : session.findProxies(forTunnels: origin.isSecure || options.upgrade != nil, for: claim)
        rounds = [:]
        sendsWholeBody = false
        while true {
            let (attempt, failure) = try await sign()
            if let failure {
                try await replace(failure.known, failure.authentication, after: failure.error)
                continue
            }
            guard let attempt else { throw .closed }
            do throws(StreamError) {
                if try await receiveResponse(to: attempt) {
                    if options.upgrade != nil { switched = try attempt.takeSwitched() }
                    return attempt.stream
                }
                recordSpentBody(attempt.stream)
                try fetch.checkBody(attempt.stream[.httpResponse]?.status ?? .unauthorized)
            } catch {
                attempt.stream.close()
                let error = error.with(attempt.stream.report)
                if error.underlying is ConnectionGone {
                    try restart(attempt)
                } else if let failure = error.underlying as? ProxyLoginFailure,
                    let known = proxyEntries.first(where: { $0.endpoint == failure.proxy.space })
                {
                    try await replace(known, failure.authentication, after: failure.error)
                } else {
                    throw error
                }
                continue
            }
            await discard(attempt.stream)
            // The origin must authenticate the same connection that a proxy has authenticated.
            if let pool = originEntry?.pool, !attempt.bound.isEmpty, attempt.pool !== pool {
                attempt.pool.handOver(to: pool)
            }
        }
    }

    /// Returns the request with the fields of all known logins; or the one that could not be applied.
    private mutating func sign() async throws(StreamError) -> (SessionAttempt?, SessionAttempt.Failure?) {
        var attempt = try SessionAttempt(
            request, at: url, body, originEntry, session, options, at: fetch.standing)
        do throws(StreamError) {
            try await addSecrets(to: &attempt)
        } catch {
            attempt.stream.close()
            throw error
        }
        do throws(SessionAttempt.Failure) {
            try await attempt.sign(proxyEntries, url, wholeBody: sendsWholeBody)
        } catch {
            attempt.stream.close()
            return (nil, error)
        }
        do throws(StreamError) {
            try await attempt.prepareStream(to: origin, after: fetch.redirects)
        } catch {
            attempt.stream.close()
            throw error
        }
        return (attempt, nil)
    }

    /// Adds the session's cookies and the bearer token that the route may carry.
    private mutating func addSecrets(to attempt: inout SessionAttempt) async throws(StreamError) {
        if let cookies = session.cookies {
            isRouteSecure = try await attempt.isRouteSecure(to: origin, at: url)
            if !cookies.isEmpty {
                try await cookies.add(
                    to: &attempt.request, at: url, origin, isSecure: isRouteSecure, causedBy: namedHost)
            }
        }
        guard originEntry == nil else { return }
        try await bearer.sign(&attempt.request, to: origin, options)
        if bearer.token != nil, try await !attempt.isRouteSecure(to: origin, at: url) {
            throw .noBearerToken("a proxy would receive it in clear text")
        }
    }

    /// Opens the stream and waits for the head. Returns whether the response is final; if not, prepares the next round.
    private mutating func receiveResponse(to attempt: SessionAttempt) async throws(StreamError) -> Bool {
        let stream = attempt.stream
        try open(stream)
        let response = try await stream.response()
        attempt.bind()
        if response.status == .proxyAuthenticationRequired, let proxy = stream[.httpAnsweringProxy] {
            attempt.restartOriginLogin()
            return try await !meetChallenge(response, by: proxy, attempt)
        }
        if let cookies = session.cookies, response.fields.contains(.setCookie) {
            await cookies.store(response, from: url, origin, isSecure: isRouteSecure)
        }
        try await accepted(by: stream[.httpAnsweringProxy], response, attempt)
        let isChallenge = response.status == .unauthorized
        if attempt.leavesBodyOut, !isChallenge {
            // The server has taken the first leg of a login, without its body, for the whole request.
            sendsWholeBody = true
            try restart(attempt)
            return false
        }
        guard let entry = originEntry else {
            if isChallenge, bearer.token != nil { return try await !bearer.renew(for: origin, options) }
            if request.fields.contains(.authorization) || !isChallenge { return true }
            return try await !meetChallenge(response, verdict: .otherRealm, nil, attempt)
        }
        let verdict = try judge(entry) { () throws(HTTPAuthError) in
            try entry.authentication.update(with: response, to: attempt.request)
        }
        if verdict == .accepted, response.status != .proxyAuthenticationRequired {
            entry.login.accept()
            LoginEvent.log(.accepted, at: entry.endpoint, by: entry.authentication.method, stream)
        }
        try await save(entry)
        return try await !meetChallenge(response, verdict: verdict, entry, attempt)
    }

    /// Opens a stream and reports it to ``HTTPSession/Configuration/onRequest``, whether or not it could be opened.
    private func open(_ stream: ReadStream) throws(StreamError) {
        defer { session.configuration.onRequest?(stream) }
        #if Metrics || Tracing
        options.observation?.willOpen(stream)
        #endif
        try stream.open()
    }

    /// Answers a proxy's challenge in the next round. Returns whether it can be met.
    private mutating func meetChallenge(
        _ response: HTTPResponse, by proxy: HTTPProxy, _ attempt: SessionAttempt
    ) async throws(StreamError) -> Bool {
        if request.fields.contains(.proxyAuthorization) { return false }
        proxies[proxy.space] = proxy
        let entry = proxyEntries.first { $0.endpoint == proxy.space }
        var verdict = attempt.tunnelVerdict
        if verdict == nil, let entry, let sent = attempt.request(sentTo: entry) {
            verdict = try judge(entry) { () throws(HTTPAuthError) in
                try entry.authentication.update(with: response, to: sent)
            }
        }
        return try await meetChallenge(response, verdict: verdict ?? .otherRealm, entry, attempt, from: proxy)
    }

    /// Prepares the answer to a challenge for the next round. Returns whether it can be met.
    private mutating func meetChallenge(
        _ response: HTTPResponse, verdict: AuthenticationVerdict, _ entry: KnownAuthentication?,
        _ attempt: SessionAttempt, from proxy: HTTPProxy? = nil
    ) async throws(StreamError) -> Bool {
        let endpoint = proxy?.space ?? entry?.endpoint ?? ProtectionSpace(.origin, of: origin)
        switch verdict {
        case .accepted: return false
        case .apply:
            try count(endpoint)
            LoginEvent.log(.goesOn, at: endpoint, by: entry?.authentication.method, attempt.stream)
            return true
        case .refused, .otherRealm, .failed:
            var failure: HTTPAuthError?
            var objection: HTTPAuthError?
            if let entry, verdict != .otherRealm {
                failure = verdict == .refused ? HTTPAuthError(.credentialRefused) : entry.authentication.error
                failure = entry.authentication.error ?? failure
                drop(entry)
                LoginEvent.log(.refused, at: endpoint, by: entry.authentication.method, attempt.stream)
                guard failure?.asksForOtherCredentials == true else { return false }
            }
            guard
                let authentication = HTTPAuthentication(
                    response: response, from: proxy?.space,
                    policy: session.configuration.policy(for: endpoint.role), memory: session.memory,
                    isNamed: proxy?.isNamed ?? fetch.isAtNamedOrigin),
                authentication.isValid,
                let next = try await self.entry(
                    for: authentication, of: response, after: failure, besides: entry, from: proxy, &objection)
            else {
                LoginEvent.log(.unanswered, at: endpoint, by: nil, attempt.stream)
                return false
            }
            try count(endpoint)
            LoginEvent.log(.begins, at: next.endpoint, by: next.authentication.method, attempt.stream)
            attempt.bind(next)
            use(next)
            return true
        }
    }

    /// Finds another credential, after one that could not be applied.
    private mutating func replace(
        _ known: KnownAuthentication, _ authentication: HTTPAuthentication, after error: HTTPAuthError
    ) async throws(StreamError) {
        // The scheme could not start, and the next one needs a credential of another realm, or needs one at all.
        let isOther = [.wrongProtectionSpace, .missingUserName, .weakerScheme].contains(error.code)
        drop(known)
        proxyEntries.removeAll { $0 === known }
        if originEntry === known { originEntry = nil }
        try count(known.endpoint)
        var objection: HTTPAuthError?
        guard isOther || error.asksForOtherCredentials, authentication.isValid,
            let next = try await entry(
                for: authentication, of: known.challenge, after: isOther ? nil : error, besides: known,
                from: proxies[known.endpoint], &objection)
        else { throw .authentication(objection ?? error) }
        use(next)
    }

    private mutating func use(_ entry: KnownAuthentication) {
        switch entry.endpoint.role {
        case .origin: originEntry = entry
        case .proxy:
            proxyEntries.removeAll { $0.endpoint == entry.endpoint }
            proxyEntries.append(entry)
        }
    }

    /// Restarts the logins of a connection that was closed.
    private mutating func restart(_ attempt: SessionAttempt) throws(StreamError) {
        for entry in attempt.bound {
            try count(entry.endpoint)
            entry.authentication.disconnected()
        }
    }

    /// Limits the number of rounds per server and proxy.
    private mutating func count(_ endpoint: ProtectionSpace) throws(StreamError) {
        let endpoint = endpoint.with(realm: nil)
        rounds[endpoint, default: 0] += 1
        guard rounds[endpoint, default: 0] > session.configuration.policy(for: endpoint.role).limits.roundCount else {
            return
        }
        throw .authentication(HTTPAuthError(.tooManyRounds))
    }

    private func judge(
        _ entry: KnownAuthentication, _ body: () throws(HTTPAuthError) -> AuthenticationVerdict
    ) throws(StreamError) -> AuthenticationVerdict {
        do throws(HTTPAuthError) {
            return try body()
        } catch {
            session.forget(entry)
            throw .authentication(error)
        }
    }

    /// Records that the proxies of the route have accepted their logins, since the request has passed them.
    private func accepted(
        by proxy: HTTPProxy?, _ response: HTTPResponse, _ attempt: SessionAttempt
    ) async throws(StreamError) {
        if let entry = proxyEntries.first(where: { $0.endpoint == proxy?.space }),
            let sent = attempt.request(sentTo: entry)
        {
            _ = try judge(entry) { () throws(HTTPAuthError) in
                try entry.authentication.update(with: response, to: sent)
            }
            entry.login.accept()
            LoginEvent.log(.accepted, at: entry.endpoint, by: entry.authentication.method, attempt.stream)
        }
        for entry in proxyEntries { try await save(entry) }
    }

    // MARK: Bodies

    /// Records whether a body that can be read only once was begun, so that it cannot be sent again.
    private mutating func recordSpentBody(_ stream: ReadStream) {
        if (stream[.httpBodyBytesSent] ?? 0) > 0 { fetch.spendBody() }
    }

    /// Reads the rest of a response so that its connection can be used again, and closes the stream.
    func discard(_ stream: ReadStream) async {
        let end = Moment.now + session.configuration.options.discardTimeout
        var piece = [UInt8](repeating: 0, count: 4096)
        var count = 0
        do throws(StreamError) {
            while count < Discard.maximumSize, case let left = Moment.now.duration(to: end), left > .zero {
                try stream.set(.readTimeout, to: left)
                let more = try await stream.read(into: &piece)
                if more == 0 { break }
                count += more
            }
        } catch {
            // The stream is closed anyway, and with it the connection.
        }
        stream.close()
    }
}

// MARK: - Credentials

extension SessionLoad {
    private mutating func drop(_ entry: KnownAuthentication) {
        session.forget(entry)
        if let credential = entry.credential { refused.insert(credential) }
    }

    /// Returns a login that is known, stored or prompted for. One load at a time for each protection space: a login that another load
    /// has just made is used, and the user is asked only once. Nil also for a load within the prompt for this space.
    ///
    /// - Parameter objection: receives the reason why a credential that was found may not be used unless the user agrees to a weaker login
    ///   than before.
    private mutating func entry(
        for authentication: HTTPAuthentication, of challenge: HTTPResponse, after failure: HTTPAuthError?,
        besides old: KnownAuthentication?, from proxy: HTTPProxy?, _ objection: inout HTTPAuthError?
    ) async throws(StreamError) -> KnownAuthentication? {
        let prompt = RunningClosure(of: session, for: authentication.space)
        guard let wait = prompt.beginWait() else { return nil }
        defer { wait.end() }
        let permit: Admission.Permit
        do throws(WaitError) {
            permit = try await session.logins.admit(to: authentication.space, until: options.deadline)
        } catch .timedOut {
            throw .timedOut("waiting for another login of the session", after: options.timeout)
        } catch {
            throw .cancelled
        }
        defer { permit.end() }
        let wanted = wantedLogin(for: authentication)
        if let known = session.find(like: authentication, of: wanted, besides: old) { return known }
        let policy = session.configuration.policy(for: authentication.peer.role)
        let pool = session.configuration.options.pool
        let entry: KnownAuthentication
        if !authentication.requiresUserNameAndPassword {
            entry = KnownAuthentication(
                authentication, of: challenge, policy, nil, isStored: true, saves: false, pool: pool)
        } else if let credential = try await stored(authentication, proxy, &objection) {
            entry = KnownAuthentication(
                authentication, of: challenge, policy, credential, isStored: true, saves: false, pool: pool)
        } else if let credential = session.credential(like: authentication, of: wanted),
            isUsable(credential, authentication, &objection)
        {
            // Another load's connection is being authenticated with it.
            entry = KnownAuthentication(
                authentication, of: challenge, policy, credential, isStored: true, saves: false, pool: pool)
        } else if let answer = try await ask(authentication, failure, proxy, objection) {
            let credential = authentication.credential(
                user: answer.user, password: answer.password, accountDomain: answer.accountDomain)
            authentication.approve(credential)
            if let wanted, wanted.user != answer.user { login = URLLogin(user: answer.user) }
            entry = KnownAuthentication(
                authentication, of: challenge, policy, credential, isStored: false, saves: answer.saves,
                pool: pool)
        } else {
            return nil
        }
        session.remember(entry, for: claim)
        return entry
    }

    /// The user of the URL, to whose logins its origin is limited, and the password unless that was refused; nil for any user.
    private func wantedLogin(for authentication: HTTPAuthentication) -> URLLogin? {
        guard authentication.peer.role == .origin, var login else { return nil }
        if let password = login.password,
            refused.contains(authentication.credential(user: login.user, password: Secret(password)))
        {
            login.password = nil
        }
        return login
    }

    /// Whether a credential may be tried without a prompt: it was not refused, and its form is not weaker than before.
    private func isUsable(
        _ credential: Credential, _ authentication: HTTPAuthentication, _ objection: inout HTTPAuthError?
    ) -> Bool {
        if refused.contains(credential) { return false }
        guard let reason = authentication.objection(to: credential) else { return true }
        objection = reason
        return false
    }

    /// The credential in the URL of origin or proxy, or one from a store, if it may be tried.
    private func stored(
        _ authentication: HTTPAuthentication, _ proxy: HTTPProxy?, _ objection: inout HTTPAuthError?
    ) async throws(StreamError) -> Credential? {
        let login = authentication.peer.role == .origin ? self.login : proxy?.accountInURL
        if let login, let password = login.password {
            let credential = authentication.credential(user: login.user, password: Secret(password))
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
    ) async throws(StreamError) -> AuthenticationPrompt.Answer? {
        guard let prompt = session.configuration.prompt, prompts < session.configuration.maximumPrompts,
            let method = authentication.method
        else { return nil }
        prompts += 1
        let user = authentication.peer.role == .origin ? login?.user : proxy?.accountInURL?.user
        return try await AuthenticationPrompt(
            space: authentication.space, method: method, requiresAccountDomain: authentication.requiresAccountDomain,
            url: url, user: user, failure: failure?.code == .weakerScheme ? nil : failure,
            downgrade: objection ?? authentication.objection(to: nil)
        ).answer(of: prompt, within: RunningClosure(of: session, for: authentication.space), options)
    }

    /// Saves a credential that the server or proxy has accepted and that is not stored yet.
    private func save(_ entry: KnownAuthentication) async throws(StreamError) {
        guard let (credential, persistently) = entry.takeUnsaved() else { return }
        do throws(HTTPAuthError) {
            // Without a store it cannot be saved, which is an error only if the user has requested it.
            try await session.configuration.stores.save(credential, persistently: persistently)
        } catch {
            guard persistently || error.code != .storeReadOnly else { return }
            throw .authentication(error)
        }
    }
}
