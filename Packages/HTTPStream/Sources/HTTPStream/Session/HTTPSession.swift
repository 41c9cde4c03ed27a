public import EventLoops
public import FoundationEssentials
internal import HTTPAuth
public import HTTPMessage
public import StreamKit

/// Performs requests with redirects, decoded bodies, persistent connections, the environment's proxies, and authentication.
///
/// ```swift
/// let session = HTTPSession()
/// let page = try await session.get(URL(string: "https://www.example.org/")!)
/// print(page.status, page.body.count)
/// ```
///
/// ``configuration`` has the options of all loads, such as a prompt for credentials:
///
/// ```swift
/// var configuration = HTTPSession.Configuration()
/// configuration.prompt = { question in
///     print(question.text)                    // http://example.org:80 requires a user name and a password …
///     return .init(user: "joe", password: readPassword())
/// }
/// let session = HTTPSession(configuration)
/// let stream = try await session.open(HTTPRequest(method: .get, url: url))
/// for try await chunk in stream.chunks() { print(chunk.count, "bytes") }
/// ```
///
/// A load proceeds as in figures 4-1 and 4-2 of the CFNetwork guide. The request is sent. A 401 of the server or a 407 of a proxy
/// makes an `HTTPAuthentication` object, or finds the session's existing one for the protection space. Credentials come from the
/// URL (of the server, or of the proxy), from ``Configuration/stores``, or from ``Configuration/prompt``. The request is sent
/// again until the response is not a challenge, or no further credential is available; the last response is then the result. A
/// server and several chained proxies may all require logins.
///
/// Credentials are sent only after a challenge of the same server or proxy, regardless of redirects and of proxies that replace
/// another one. A connection that was authenticated as a whole (NTLM, Negotiate) is used for its own user only, and so is a
/// tunnel. With TLS, those schemes use channel binding (RFC 5929); their first leg carries no body, and the login begins again if
/// the connection is closed before the next leg.
///
/// A session keeps cookies in memory, see ``cookies``: those of each response, including redirects and challenges, are sent with
/// the following requests to which they belong. A program that acts for several users makes a session for each of them.
///
/// If a proxy refuses a tunnel, the response is its 407, and `StreamProperty.httpProxyResponse` contains its body.
public final class HTTPSession: Sendable {
    /// The options of the loads.
    public let configuration: Configuration

    /// The cookies of the session; nil if ``Configuration/cookies`` says that it has none.
    public let cookies: HTTPCookies?

    let loop: EventLoop
    private let known = Locked<[KnownAuthentication]>([])
    /// The forms of the logins so far: none becomes weaker unless the user agrees.
    let memory = AuthenticationMemory()
    /// The bearer token for its origin.
    let bearer: BearerMemory?
    /// What may be sent to a proxy before its challenge.
    let proxyRules: ProxyLogins.Rules
    /// Admits one load at a time to find the login for a protection space, so that several loads with the same challenge cause one prompt.
    let logins = Admission(limit: 1)
    /// Limits the number of connections to each origin; nil without a limit.
    let admission: Admission?
    /// The proxy settings of the loads; nil for ``Configuration/Proxies/direct`` and for routes that the application chooses.
    let proxySettings: Result<ProxySettings, StreamError>?

    /// Makes a session.
    public init(_ configuration: Configuration = Configuration(), loop: EventLoop = .shared) {
        self.configuration = configuration
        self.loop = loop
        cookies = configuration.cookies.storage(configuration.time)
        bearer = configuration.bearerTokens.map { BearerMemory($0) }
        proxyRules = ProxyLogins.Rules(configuration.policy(for: .proxy), memory)
        proxySettings = configuration.proxies.settings
        let limit = configuration.maximumConnectionsPerOrigin
        precondition(limit > 0, "HTTPSession: maximumConnectionsPerOrigin must be positive")
        admission = limit == .max ? nil : Admission(limit: limit)
    }

    /// Loads the resource of a URL with GET and reads the whole response.
    ///
    /// - Parameters:
    ///   - url: The URL, `http` or `https`.
    ///   - limit: The maximum number of bytes of the response body; a longer one is an error.
    ///   - timeout: The time limit of this load; nil for ``HTTPOptions/totalTimeout``.
    /// - Throws: The error of the load. A response such as 404 is not an error.
    public func get(
        _ url: URL, limit: Int = 16 << 20, within timeout: Duration? = nil
    ) async throws(StreamError) -> HTTPResponse {
        try await load(.get(url), limit: limit, within: timeout)
    }

    /// Sends a request and returns the stream of the final response, whose head has arrived: see `StreamProperty.httpResponse`.
    /// Read the stream to its end, or close it.
    ///
    /// The session adds `Accept: */*`, which some servers insist on, unless the request has its own. A field of the request with an
    /// empty value keeps the session from adding that field, and is not sent itself: `Accept`, `Authorization`, `Cookie`, `Expect`.
    ///
    /// - Parameters:
    ///   - request: The request. Its own `Authorization` is sent as it is, and disables authentication with the server; its own
    ///     `Proxy-Authorization` does so for proxies. Its own `Cookie` is sent as it is, and the session then adds no cookies;
    ///     a redirect to another origin removes it (see ``CrossOriginPolicy``).
    ///   - body: The body, apart from the request. A body that can be read only once is sent after the server's consent
    ///     (`100-continue`), since it cannot be sent again; an `Expect` with an empty value sends it at once, without that field.
    ///   - timeout: The time limit of this load, including redirects, logins, retries and the body; nil for
    ///     ``HTTPOptions/totalTimeout``.
    /// - Throws: the error of the load. A 401 response is not an error: no credential was available, or the user declined the
    ///   prompt.
    public func open(
        _ request: HTTPRequest, body: HTTPBody? = nil, within timeout: Duration? = nil
    ) async throws(StreamError) -> ReadStream {
        try await open(
            request, body: body,
            LoadOptions(timeout: timeout ?? configuration.effectiveTimeout, time: configuration.time))
    }

    /// Sends a request with other options than those of the session.
    func open(
        _ request: HTTPRequest, body: HTTPBody?, _ options: LoadOptions
    ) async throws(StreamError) -> ReadStream {
        var retries = 0
        #if Metrics || Tracing
        return try await observing(request, options) { (request, options) throws(StreamError) in
            try await openRetrying(request, body, options, &retries)
        }
        #else
        return try await openRetrying(request, body, options, &retries)
        #endif
    }

    /// Sends a request and reads the whole response.
    ///
    /// - Parameters:
    ///   - request: As for ``open(_:body:within:)``.
    ///   - body: The body, apart from the request.
    ///   - limit: The maximum number of bytes of the response body; a longer one is an error. ``Configuration/readTimeout`` and
    ///     ``Configuration/bodyTimeout`` limit the time.
    ///   - timeout: The time limit of this load; nil for ``HTTPOptions/totalTimeout``.
    ///   - progress: Called while bytes are sent and received, on any thread.
    public func load(
        _ request: HTTPRequest, body: HTTPBody? = nil, limit: Int = 16 << 20, within timeout: Duration? = nil,
        progress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) async throws(StreamError) -> HTTPResponse {
        let observer = progress.map(ProgressObserver.init)
        let observed = observer?.observe(body ?? request.ownBody)
        #if Metrics || Tracing
        let options = LoadOptions(timeout: timeout ?? configuration.effectiveTimeout, time: configuration.time)
        return try await observing(request, options) { (request, options) throws(StreamError) in
            var retries = 0
            let stream = try await openRetrying(request, observed ?? body, options, &retries)
            return try await readAndClose(stream, limit, observer)
        }
        #else
        let stream = try await open(request, body: observed ?? body, within: timeout)
        return try await readAndClose(stream, limit, observer)
        #endif
    }

    /// Reads the whole response of a stream.
    private func readAndClose(
        _ stream: ReadStream, _ limit: Int, _ observer: ProgressObserver?
    ) async throws(StreamError) -> HTTPResponse {
        defer { stream.close() }
        do throws(StreamError) {
            var response = try await stream.response()
            observer?.begin(stream)
            var bytes: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: ReadStream.chunkSize)
            let end = Moment.now + configuration.bodyTimeout
            let readTimeout = stream[.readTimeout] ?? configuration.readTimeout
            while true {
                let left = Moment.now.duration(to: end)
                guard left > .zero else { throw .timedOut("receiving the body", after: configuration.bodyTimeout) }
                try stream.set(.readTimeout, to: min(left, readTimeout))
                try StreamError.checkCancellation()
                let count = try await stream.read(into: &piece)
                if count == 0 { break }
                guard bytes.count + count <= limit else { throw .bodyTooLong(limit) }
                bytes += piece[..<count]
                observer?.received(bytes.count)
            }
            response.body = bytes
            return response
        } catch {
            throw error.with(stream.report)
        }
    }

    /// Removes all credentials from memory, with the state negotiated with them and the user's agreements, and closes the idle
    /// connections that they belong to. ``Configuration/stores`` and ``cookies`` keep their contents.
    public func forgetCredentials() {
        let dropped = known.withLock { known in
            defer { known = [] }
            return known
        }
        dropped.forEach(close)
        memory.forget()
        bearer?.forget()
    }
}

extension HTTPSession {
    /// Sends a request, again if the policy for retries requires it, and returns the stream of the final response.
    ///
    /// - Parameter retries: the number of retries of the load so far.
    func openRetrying(
        _ request: HTTPRequest, _ body: HTTPBody?, _ options: LoadOptions, _ retries: inout Int
    ) async throws(StreamError) -> ReadStream {
        let policy = configuration.retries
        while true {
            var load = try SessionLoad(request, body: body, session: self, options)
            guard policy.permits(request, body), retries < policy.maximumRetries else { return try await load.run() }
            let delay: Duration
            do throws(StreamError) {
                let stream = try await load.run()
                guard let response = stream[.httpResponse],
                    let pause = policy.delay(
                        after: response, retries: retries,
                        now: HTTPDate(secondsSinceEpoch: configuration.time.secondsSinceEpoch),
                        random: .random(in: 0...1)),
                    leavesTime(pause, options)
                else { return stream }
                await load.discard(stream)
                delay = pause
            } catch {
                guard let pause = policy.delay(after: error, retries: retries, random: .random(in: 0...1)),
                    leavesTime(pause, options)
                else { throw error }
                delay = pause
            }
            retries += 1
            do { try await configuration.time.sleep(for: delay) } catch { throw .cancelled }
        }
    }

    /// Whether the time limit of a load has not passed after a pause.
    func leavesTime(_ pause: Duration, _ options: LoadOptions) -> Bool {
        options.deadline.map { configuration.time.now + pause < $0 } ?? true
    }
}

extension HTTPSession {
    /// The fields that the session adds, or another part of it does, unless the request has one with an empty value.
    static let omissibleFields: [HTTPFieldName] = [.accept, .authorization, .cookie, .expect]

    /// Returns the session's login that applies to a request to its origin, claimed for its load.
    ///
    /// - Parameter login: The user, and optionally the password, of the caller's URL: another user's login does not apply.
    func find(
        _ request: HTTPRequest, of login: URLLogin?, for claim: LoginClaim
    ) -> KnownAuthentication? {
        known.withLock {
            $0.last {
                $0.endpoint.role == .origin && $0.authentication.isValid && $0.isOf(login)
                    && $0.authentication.appliesTo(request) && $0.claim(for: claim)
            }
        }
    }

    /// Returns the session's logins for proxies, one for each, claimed for a load. Logins for tunnels need not be claimed, since
    /// each tunnel has its own connection.
    func findProxies(forTunnels: Bool, for claim: LoginClaim) -> [KnownAuthentication] {
        known.withLock { known in
            var found: [KnownAuthentication] = []
            for entry in known.reversed() where entry.endpoint.role == .proxy {
                guard entry.authentication.isValid, !found.contains(where: { $0.endpoint == entry.endpoint }),
                    forTunnels || entry.claim(for: claim)
                else { continue }
                found.append(entry)
            }
            return found
        }
    }

    /// Returns a login that another load has made for the same protection space and realm while this one waited.
    func find(
        like authentication: HTTPAuthentication, of login: URLLogin?, besides old: KnownAuthentication?
    ) -> KnownAuthentication? {
        known.withLock { known in
            known.last {
                $0 !== old && $0.isOf(login) && $0.authentication.isValid && !$0.authentication.isConnectionBound
                    && $0.authentication.space == authentication.space
            }
        }
    }

    /// Returns the credential of a login for the same protection space that belongs to another load's connection.
    func credential(like authentication: HTTPAuthentication, of login: URLLogin?) -> Credential? {
        known.withLock { known in
            known.last {
                $0.authentication.isValid && $0.credential?.space == authentication.space && $0.isOf(login)
            }?.credential
        }
    }

    /// Publishes a login, claimed for the load that made it.
    func remember(_ entry: KnownAuthentication, for claim: LoginClaim) {
        _ = entry.claim(for: claim)
        known.withLock { known in
            known.append(entry)
            // A server that invents realms must not make this grow without bound.
            if known.count > Self.maximumKnownLogins { known.removeFirst() }
        }
    }

    func forget(_ entry: KnownAuthentication) {
        known.withLock { $0.removeAll { $0 === entry } }
        close(entry)
    }

    /// Closes the idle connections that were made with an entry's credential.
    private func close(_ entry: KnownAuthentication) {
        entry.pool?.drain()
        if entry.endpoint.role == .proxy { configuration.options.pool.drop(of: entry.login) }
    }

    /// The maximum number of logins that one session keeps; the oldest is removed first.
    static let maximumKnownLogins = 256
}
