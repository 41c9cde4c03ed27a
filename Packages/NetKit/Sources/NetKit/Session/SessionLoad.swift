internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// One load of a session: redirects, and for each the rounds of authentication, with the origin and with proxies on the way.
///
/// Theory of operation. A round is a ``SessionAttempt``: the request with what is known for whoever asked so far. Its answer
/// is judged by whom it is from, the origin (401) or a proxy (407), and what that one's conversation needs for the next
/// round is looked up or asked for. Tunnels have their own rounds within the attempt, on their own connection, as long as
/// the credentials are the same.
struct SessionLoad {
    /// How much of an answer that is not wanted is read for the sake of its connection.
    static let discardLimit = 64 * 1024

    /// A user and maybe a password, as a URL names them.
    struct URLLogin {
        var user: String
        var password: String?
    }

    let session: HTTPSession
    /// When the load began.
    private let start = Moment.now
    /// The request without anything of the session's.
    private(set) var request: HTTPRequest
    private(set) var body: HTTPBody?
    private(set) var url: URL
    private(set) var origin: HTTPOrigin
    private var redirects = RedirectPolicy()
    /// User name and password of the caller's own URL; not of one that a redirect leads to. A user that was answered when asked takes
    /// their place.
    var login: URLLogin?
    /// The origin that the application named; those that redirects lead to get less without being asked for.
    private let namedOrigin: HTTPOrigin
    /// Holds the logins of this hop that belong to connections.
    private(set) var claim = LoginClaim()
    var prompts = 0
    var refused: Set<Credential> = []

    /// What is used for the origin, and for each proxy that has asked.
    private var originEntry: KnownAuthentication?
    private var proxyEntries: [KnownAuthentication] = []
    /// The proxies that have asked, with what their own fields say.
    private var proxies: [ProtectionSpace: HTTPProxy] = [:]
    /// How often each place has asked, and how often its connection was lost.
    private var rounds: [ProtectionSpace: Int] = [:]
    /// A leg without its body was taken for the whole request.
    private var sendsWholeBody = false

    init(_ request: HTTPRequest, body: HTTPBody?, session: HTTPSession) throws(StreamError) {
        guard let url = request.url else { throw .badURL("the request has none.") }
        self.session = session
        self.request = try request.withoutLogin(url)
        self.body = body ?? request.body.map { .bytes($0) }
        self.url = self.request.url ?? url
        self.request.body = nil
        origin = try HTTPOrigin(url)
        namedOrigin = origin
        login = url.user(percentEncoded: false).map {
            URLLogin(user: $0, password: url.password(percentEncoded: false))
        }
    }

    /// The stream of the answer that counts.
    mutating func run() async throws(StreamError) -> ReadStream {
        while true {
            let stream = try await authenticate()
            guard session.configuration.followsRedirects, let response = stream[.httpResponse] else { return stream }
            let hop: RedirectPolicy.Hop?
            do throws(StreamError) {
                hop = try redirects.next(
                    after: response, to: request, at: url, of: origin, hasBody: body != nil,
                    session.configuration.crossOrigin)
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
        claim = LoginClaim()
        originEntry = request.fields.contains(.authorization) ? nil : session.find(request, of: login, for: claim)
        proxyEntries =
            request.fields.contains(.proxyAuthorization)
            ? [] : session.findProxies(forTunnels: origin.isSecure, for: claim)
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
                if try await isAnswer(attempt) { return attempt.stream }
                try checkBody(attempt.stream, attempt.stream[.httpResponse]?.status ?? .unauthorized)
            } catch {
                attempt.stream.close()
                if error.underlying is ConnectionGone {
                    try restart(attempt)
                } else if let failure = error.underlying as? ProxyLoginFailure,
                    let known = proxyEntries.first(where: { $0.place == failure.proxy.space })
                {
                    try await replace(known, failure.authentication, after: failure.error)
                } else {
                    throw error
                }
                continue
            }
            await discard(attempt.stream)
            // The connection that a proxy has authenticated is the one that the origin is to authenticate, too.
            if let pool = originEntry?.pool, !attempt.bound.isEmpty, attempt.pool !== pool {
                attempt.pool.handOver(to: pool)
            }
        }
    }

    /// The request with the fields of everybody who is known to ask; or what could not be applied.
    private func sign() async throws(StreamError) -> (SessionAttempt?, SessionAttempt.Failure?) {
        var attempt = try SessionAttempt(request, body, originEntry, session, isNamed: isAtNamedOrigin)
        do throws(SessionAttempt.Failure) {
            try await attempt.sign(proxyEntries, url, wholeBody: sendsWholeBody)
        } catch {
            attempt.stream.close()
            return (nil, error)
        }
        try attempt.prepareStream(of: start)
        return (attempt, nil)
    }

    /// Opens, waits for the head, and says whether that is the answer; if not, the next round is prepared.
    private mutating func isAnswer(_ attempt: SessionAttempt) async throws(StreamError) -> Bool {
        let stream = attempt.stream
        try stream.open()
        let response = try await stream.response()
        attempt.bind()
        if response.status == .proxyAuthenticationRequired, let proxy = stream[.httpAnsweringProxy] {
            attempt.originWasNotAsked()
            return try await !isMet(response, by: proxy, attempt)
        }
        try await accepted(by: stream[.httpAnsweringProxy], response, attempt)
        let isChallenge = response.status == .unauthorized
        if attempt.leavesBodyOut, !isChallenge {
            // Somebody has taken for the request what was only the beginning of a login.
            sendsWholeBody = true
            try restart(attempt)
            return false
        }
        guard let entry = originEntry else {
            if request.fields.contains(.authorization) || !isChallenge { return true }
            return try await !isMet(response, verdict: .otherSpace, nil, attempt)
        }
        let verdict = try judge(entry) { () throws(HTTPAuthError) in
            try entry.authentication.update(with: response, to: attempt.request)
        }
        if verdict == .accepted, response.status != .proxyAuthenticationRequired {
            entry.accept()
            LoginNews.tell(.accepted, at: entry.place, by: entry.authentication.method, stream)
        }
        try await save(entry)
        return try await !isMet(response, verdict: verdict, entry, attempt)
    }

    /// Whether a proxy's challenge can be met.
    private mutating func isMet(
        _ response: HTTPResponse, by proxy: HTTPProxy, _ attempt: SessionAttempt
    ) async throws(StreamError) -> Bool {
        if request.fields.contains(.proxyAuthorization) { return false }
        proxies[proxy.space] = proxy
        let entry = proxyEntries.first { $0.place == proxy.space }
        var verdict = attempt.stream[.httpTunnelVerdict]
        if verdict == nil, let entry, let told = attempt.told(entry) {
            verdict = try judge(entry) { () throws(HTTPAuthError) in
                try entry.authentication.update(with: response, to: told)
            }
        }
        return try await isMet(response, verdict: verdict ?? .otherSpace, entry, attempt, from: proxy)
    }

    /// Whether there is something to say to a challenge; then it is said in the next round.
    private mutating func isMet(
        _ response: HTTPResponse, verdict: AuthenticationVerdict, _ entry: KnownAuthentication?,
        _ attempt: SessionAttempt, from proxy: HTTPProxy? = nil
    ) async throws(StreamError) -> Bool {
        let place = proxy?.space ?? entry?.place ?? ProtectionSpace(.origin, of: origin)
        switch verdict {
        case .accepted: return false
        case .apply:
            try count(place)
            LoginNews.tell(.goesOn, at: place, by: entry?.authentication.method, attempt.stream)
            return true
        case .refused, .otherSpace, .failed:
            var failure: HTTPAuthError?
            if let entry, verdict != .otherSpace {
                failure = verdict == .refused ? HTTPAuthError(.credentialRefused) : entry.authentication.error
                failure = entry.authentication.error ?? failure
                drop(entry)
                LoginNews.tell(.refused, at: place, by: entry.authentication.method, attempt.stream)
                guard failure?.asksForOtherCredentials == true else { return false }
            }
            guard
                let authentication = HTTPAuthentication(
                    response: response, from: proxy?.space,
                    policy: session.configuration.policy(for: place.role), memory: session.memory,
                    isNamed: proxy?.isNamed ?? isAtNamedOrigin),
                authentication.isValid,
                let next = try await self.entry(
                    for: authentication, of: response, after: failure, besides: entry, from: proxy)
            else {
                LoginNews.tell(.unanswered, at: place, by: nil, attempt.stream)
                return false
            }
            try count(place)
            LoginNews.tell(.begins, at: next.place, by: next.authentication.method, attempt.stream)
            next.bind(to: attempt.stream)
            use(next)
            return true
        }
    }

    /// Takes what else may do for credentials that could not even be applied.
    private mutating func replace(
        _ known: KnownAuthentication, _ authentication: HTTPAuthentication, after error: HTTPAuthError
    ) async throws(StreamError) {
        // The scheme could not start, and the next one wants a credential of another realm, or one at all.
        let isOther = [.wrongProtectionSpace, .missingUserName, .weakerScheme].contains(error.code)
        drop(known)
        proxyEntries.removeAll { $0 === known }
        if originEntry === known { originEntry = nil }
        try count(known.place)
        guard isOther || error.asksForOtherCredentials, authentication.isValid,
            let next = try await entry(
                for: authentication, of: known.challenge, after: isOther ? nil : error, besides: known,
                from: proxies[known.place])
        else { throw .authentication(error) }
        use(next)
    }

    /// Whether the request goes to the origin that the application named.
    private var isAtNamedOrigin: Bool { origin == namedOrigin }

    private mutating func use(_ entry: KnownAuthentication) {
        switch entry.place.role {
        case .origin: originEntry = entry
        case .proxy:
            proxyEntries.removeAll { $0.place == entry.place }
            proxyEntries.append(entry)
        }
    }

    /// A login whose connection is gone begins anew.
    private mutating func restart(_ attempt: SessionAttempt) throws(StreamError) {
        for entry in attempt.bound {
            try count(entry.place)
            entry.authentication.disconnected()
        }
    }

    /// Nobody asks for ever.
    private mutating func count(_ place: ProtectionSpace) throws(StreamError) {
        let place = place.with(realm: nil)
        rounds[place, default: 0] += 1
        guard rounds[place, default: 0] > session.configuration.policy(for: place.role).limits.roundCount else {
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

    /// The request has come through: what the proxies on the way were told was right.
    private func accepted(
        by proxy: HTTPProxy?, _ response: HTTPResponse, _ attempt: SessionAttempt
    ) async throws(StreamError) {
        if let entry = proxyEntries.first(where: { $0.place == proxy?.space }), let told = attempt.told(entry) {
            _ = try judge(entry) { () throws(HTTPAuthError) in
                try entry.authentication.update(with: response, to: told)
            }
            entry.accept()
            LoginNews.tell(.accepted, at: entry.place, by: entry.authentication.method, attempt.stream)
        }
        for entry in proxyEntries { try await save(entry) }
    }

    // MARK: Bodies

    /// A body that can be had once and was begun cannot be sent again.
    private func checkBody(_ stream: ReadStream, _ status: HTTPStatus) throws(StreamError) {
        guard body?.isRepeatable == false, (stream[.httpBodyBytesSent] ?? 0) > 0 else { return }
        throw .bodyNotRepeatable(status.code)
    }

    /// Reads what is left of an answer, so that its connection can be used again, and closes.
    private func discard(_ stream: ReadStream) async {
        let end = Moment.now + session.configuration.discardLimit
        var piece = [UInt8](repeating: 0, count: 4096)
        var count = 0
        do throws(StreamError) {
            while count < Self.discardLimit, case let left = Moment.now.duration(to: end), left > .zero {
                try stream.set(.readLimit, to: left)
                let more = try await stream.read(into: &piece)
                if more == 0 { break }
                count += more
            }
        } catch {
            // It is closed anyway, and with it the connection.
        }
        stream.close()
    }
}

extension HTTPRequest {
    /// The same request for its URL without user and password, which are nobody else's business.
    fileprivate func withoutLogin(_ url: URL) throws(StreamError) -> HTTPRequest {
        guard url.user(percentEncoded: true) != nil || url.password(percentEncoded: true) != nil,
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return self }
        (parts.user, parts.password) = (nil, nil)
        guard let plain = parts.url else { throw .badURL("its user name cannot be removed.") }
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

extension ProtectionSpace {
    fileprivate init(_ role: Role, of origin: HTTPOrigin) {
        self.init(role, scheme: origin.scheme, host: origin.host, port: Int(origin.port))
    }
}
