internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// One transmission of a session's request, signed for the origin and for the proxies that require it.
struct SessionAttempt {
    /// Credentials could not be applied.
    struct Failure: Error {
        let known: KnownAuthentication
        /// The authentication that failed, which may be about to continue with another scheme.
        let authentication: HTTPAuthentication
        let error: HTTPAuthError
    }

    /// The request as signed for the origin.
    var request: HTTPRequest
    /// Whether this is the first leg of a login, which is refused regardless of the body.
    private(set) var leavesBodyOut = false
    let stream: ReadStream

    private let transport: LoadTransport
    private let body: HTTPBody?
    private let session: HTTPSession
    private let options: LoadOptions
    private let originEntry: KnownAuthentication?
    /// The proxies that receive the request itself, and the form of the request for each.
    private var requestProxies: [(known: KnownAuthentication, request: HTTPRequest)] = []
    private var logins: ProxyLogins
    private var needsIdleConnection = false

    /// - Parameter standing: how the origin of the request relates to the one that the application named.
    /// - Throws: as ``HTTPSession/Configuration/options(loading:_:at:)``.
    init(
        _ request: HTTPRequest, at url: URL, _ body: HTTPBody?, _ originEntry: KnownAuthentication?,
        _ session: HTTPSession, _ options: LoadOptions, at standing: OriginStanding
    ) throws(StreamError) {
        var loading = try session.configuration.options(loading: url, session.proxySettings, at: standing)
        loading.totalTimeout = nil  // that of the load, of which the time left is set when the request is sent
        if !options.permitsDecoding { loading.decodesContent = false }
        (stream, transport) = try ReadStream.loading(request, loading, loop: session.loop)
        self.request = request
        self.body = body
        self.originEntry = originEntry
        self.session = session
        self.options = options
        logins = ProxyLogins(session.proxyRules)
    }

    /// The entries whose login belongs to the connection of this attempt.
    var bound: [KnownAuthentication] {
        let all = (originEntry.map { [$0] } ?? []) + requestProxies.map(\.known)
        return all.filter { $0.pool != nil }
    }

    /// The pool of the connection: the origin login's own, a proxy login's own, or the session's.
    var pool: HTTPConnectionPool { bound.first?.pool ?? session.configuration.options.pool }

    /// The request as a proxy received it; nil if the proxy received none.
    func request(sentTo entry: KnownAuthentication) -> HTTPRequest? {
        requestProxies.first { $0.known === entry }?.request
    }

    // MARK: Signing

    /// Adds the fields that the origin and the proxies require.
    mutating func sign(_ proxyEntries: [KnownAuthentication], _ url: URL, wholeBody: Bool) async throws(Failure) {
        if !proxyEntries.isEmpty { await findRequestProxies(proxyEntries, url) }
        needsIdleConnection = !bound.isEmpty && pool.idleCount > 0
        if !needsIdleConnection { bound.forEach { $0.authentication.disconnected() } }
        if let entry = originEntry {
            request = try await apply(entry, to: request)
            leavesBodyOut = entry.authentication.traits.expectsAnotherChallenge
        }
        for index in requestProxies.indices {
            let entry = requestProxies[index].known
            requestProxies[index].request = try await apply(entry, to: requestProxies[index].request)
            let value = requestProxies[index].request.fields.first { $0.name == .proxyAuthorization }?.rawValue
            logins[entry.endpoint]?.value = value
            if entry.authentication.traits.expectsAnotherChallenge { leavesBodyOut = true }
        }
        if body == nil || wholeBody { leavesBodyOut = false }
    }

    private func apply(
        _ entry: KnownAuthentication, to request: HTTPRequest
    ) async throws(Failure) -> HTTPRequest {
        var signed = request
        do throws(HTTPAuthError) {
            try await entry.authentication.apply(
                to: &signed, entry.credential, body: signedBody, channelBinding: entry.binding,
                through: entry.endpoint)
        } catch {
            throw Failure(known: entry, authentication: entry.authentication, error: error)
        }
        return signed
    }

    /// Finds the known proxies on the routes to this URL, and those of them that receive the request itself.
    ///
    /// If a script decides, it is run; the load then reaches the same decision.
    private mutating func findRequestProxies(_ entries: [KnownAuthentication], _ url: URL) async {
        for entry in entries { logins[entry.endpoint] = .init(known: entry) }
        guard url.scheme?.lowercased() == "http", options.upgrade == nil else { return }
        // Invalid settings are reported when they are used.
        for route in (try? await routes(to: url)) ?? [] {
            guard let proxy = route.requestProxy, let known = logins[proxy]?.known,
                !requestProxies.contains(where: { $0.known === known })
            else { continue }
            var form = request
            // An invalid target is reported when it is sent.
            try? form.setTarget(RequestTarget(absolute: url))
            requestProxies.append((known, form))
        }
    }

    /// Returns the routes to a URL; none for a direct connection.
    private func routes(to url: URL) async throws(StreamError) -> [ProxyRoute] {
        let routes = stream[.proxies] ?? []
        guard routes.isEmpty, let settings = stream[.http(\.proxySettings)] else { return routes }
        return try await settings.resolvedRoutes(for: url)
    }

    /// Whether the route of the request is secure, so that it may carry secure cookies and bearer tokens: it is encrypted, or it leads to
    /// this machine without a proxy.
    func isRouteSecure(to origin: HTTPOrigin, at url: URL) async throws(StreamError) -> Bool {
        if origin.isSecure { return true }
        guard origin.isSecureWithoutProxy else { return false }
        if stream[.http(\.endpoints)]?[origin] != nil { return true }
        return try await routes(to: url).allSatisfy(\.isDirect)
    }

    /// The body, for schemes that sign it.
    private var signedBody: AuthenticationBody {
        switch body?.source {
        case nil: .bytes([])
        case .bytes(let bytes): .bytes(bytes)
        case .repeatable, .once: .unknown
        }
    }

    // MARK: The stream

    /// Waits for the permission to send, and sets the request of the stream and what is left of ``HTTPOptions/totalTimeout``, which
    /// all attempts of a load share.
    ///
    /// - Parameter redirects: the responses that led to the request.
    /// - Throws: ``StreamError/timedOut`` if no time is left.
    func prepareStream(to origin: HTTPOrigin, after redirects: [HTTPResponse]) async throws(StreamError) {
        var permit: Admission.Permit?
        // A load that a closure of the session waits for would otherwise wait for the loads that wait for the closure.
        if let admission = session.admission, !RunningClosure.encloses(callOf: session, session.bearer) {
            do throws(WaitError) {
                permit = try await admission.admit(
                    to: ProtectionSpace(.origin, of: origin), until: options.deadline)
            } catch .timedOut {
                throw .timedOut("waiting for one of the session's connections", after: options.timeout)
            } catch {
                throw .cancelled
            }
        }
        if let left = try options.timeLeft(for: "authenticating or following redirects") {
            try stream.set(.http(\.totalTimeout), to: left)
        }
        let sent = try completed(request)
        transport.send(
            sent, body: leavesBodyOut ? .bytes([]) : body, after: redirects, pool: pool,
            SessionSettings(
                logins: logins, needsIdleConnection: needsIdleConnection, upgrade: options.upgrade, permit: permit))
        bound.forEach { $0.begin(stream) }
    }

    /// The request as it is sent, with the session's own fields.
    private func completed(_ request: HTTPRequest) throws(StreamError) -> HTTPRequest {
        var sent = request
        do throws(HTTPMessageError) {
            if let body, !leavesBodyOut, !body.isRepeatable, !sent.fields.contains(.expect) {
                // A server or proxy that refuses the request then does so before the body has been used.
                try sent.fields.set("100-continue", for: .expect)
            }
            if options.upgrade == nil, !sent.fields.contains(.accept) { try sent.fields.append("*/*", for: .accept) }
        } catch {
            throw StreamError(error)
        }
        if leavesBodyOut { sent.fields.remove(.expect) }
        for name in HTTPSession.omissibleFields where sent.fields[name]?.isEmpty == true { sent.fields.remove(name) }
        return sent
    }

    /// Passes the connection's channel binding to the logins that continue on it.
    func bind() {
        if let originEntry { bind(originEntry) }
        for proxy in requestProxies where stream[.httpAnsweringProxy]?.space == proxy.known.endpoint {
            bind(proxy.known)
        }
    }

    /// Passes the channel binding of the connection with the login's server or proxy to the login.
    func bind(_ login: KnownAuthentication) {
        login.bind(login.endpoint.role == .origin ? stream[.serverEndPointBinding] : transport.proxyBinding)
    }

    /// Returns the connection that carries another protocol now; nil if the server has not switched.
    func takeSwitched() throws(StreamError) -> (pair: StreamPair, received: [UInt8])? { try transport.takeSwitched() }

    /// The verdict on the credentials for the proxy that refused a tunnel; nil without a tunnel.
    var tunnelVerdict: AuthenticationVerdict? { transport.tunnelVerdict }

    /// Restarts the origin's login, because a proxy has stopped the request and the origin has not seen it.
    func restartOriginLogin() {
        if let originEntry, originEntry.pool != nil { originEntry.authentication.disconnected() }
    }
}
