internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// One sending of a session's request, signed for the origin and for the proxies that have asked.
struct SessionAttempt {
    /// Credentials could not be applied.
    struct Failure: Error {
        let known: KnownAuthentication
        /// The conversation in which it happened, which may be about to go on with another scheme.
        let authentication: HTTPAuthentication
        let error: HTTPAuthError
    }

    /// As it was signed for the origin.
    private(set) var request: HTTPRequest
    /// This is the first leg of a login, which is refused whatever it holds.
    private(set) var leavesBodyOut = false
    let stream: ReadStream

    private let exchange: HTTPExchange
    private let body: HTTPBody?
    private let session: HTTPSession
    private let originEntry: KnownAuthentication?
    /// The proxies that take the request itself, and what each is told.
    private var takers: [(known: KnownAuthentication, request: HTTPRequest)] = []
    private var logins: ProxyLogins
    private var needsIdleConnection = false

    /// - Parameter isNamed: whether the request goes to the origin that the application named.
    /// - Throws: what `prepare` throws; `EINVAL` if it sets what is the session's own.
    init(
        _ request: HTTPRequest, _ body: HTTPBody?, _ originEntry: KnownAuthentication?, _ session: HTTPSession,
        isNamed: Bool
    ) throws(StreamError) {
        exchange = HTTPExchange(request, body: nil, loop: session.loop)
        stream = ReadStream(transport: exchange)
        self.request = request
        self.body = body
        self.originEntry = originEntry
        self.session = session
        logins = ProxyLogins(session.proxyRules)
        try stream.set(.httpResponseLimit, to: session.configuration.responseLimit)
        try stream.set(.httpDiscardLimit, to: session.configuration.discardLimit)
        try stream.set(.httpKeepsConnection, to: true)
        try session.configuration.prepare(stream)
        try checkPreparation()
        if session.configuration.followsRedirects, stream[.urlDemandsTLS] == false {
            // It is for the hops with https, and each hop is prepared anew.
            try stream.set(.tls, to: nil)
        }
        if !isNamed, let tls = stream[.tls] { try stream.set(.tls, to: session.configuration.crossOrigin.tls(tls)) }
    }

    /// Refuses what `prepare` must not set because the session decides it: it would have no effect.
    private func checkPreparation() throws(StreamError) {
        if stream[.httpFollowsRedirects] == true {
            throw .sessionDecides("httpFollowsRedirects", instead: "followsRedirects")
        }
        if stream[.httpCrossOriginPolicy] != CrossOriginPolicy() {
            throw .sessionDecides("httpCrossOriginPolicy", instead: "crossOrigin")
        }
        if stream[.httpDiscardLimit] != session.configuration.discardLimit {
            throw .sessionDecides("httpDiscardLimit", instead: "discardLimit")
        }
        if stream[.httpPool] != nil { throw .sessionDecides("httpPool", instead: "pool") }
        if stream[.httpKeepsConnection] != true { throw .sessionDecides("httpKeepsConnection", instead: "pool") }
    }

    /// The entries whose login belongs to the connection of this attempt.
    var bound: [KnownAuthentication] {
        let all = (originEntry.map { [$0] } ?? []) + takers.map(\.known)
        return all.filter { $0.pool != nil }
    }

    /// The pool of the connection: the origin's own, a proxy's own, or everybody's.
    var pool: HTTPConnectionPool { bound.first?.pool ?? session.configuration.pool }

    /// What a proxy was told with the request; nil if it got none.
    func told(_ entry: KnownAuthentication) -> HTTPRequest? { takers.first { $0.known === entry }?.request }

    // MARK: Signing

    /// Puts the fields on that the origin and the proxies want.
    mutating func sign(_ proxyEntries: [KnownAuthentication], _ url: URL, wholeBody: Bool) async throws(Failure) {
        if !proxyEntries.isEmpty { await findTakers(proxyEntries, url) }
        needsIdleConnection = !bound.isEmpty && pool.idleCount > 0
        if !needsIdleConnection { bound.forEach { $0.authentication.disconnected() } }
        if let entry = originEntry {
            request = try await apply(entry, to: request)
            leavesBodyOut = entry.authentication.traits.expectsAnotherChallenge
        }
        for index in takers.indices {
            let entry = takers[index].known
            takers[index].request = try await apply(entry, to: takers[index].request)
            let value = takers[index].request.fields.first { $0.name == .proxyAuthorization }?.rawValue
            logins[entry.place]?.value = value
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
                through: entry.place)
        } catch {
            throw Failure(known: entry, authentication: entry.authentication, error: error)
        }
        return signed
    }

    /// Which of the known proxies are on the ways to this URL, and which of those take the request itself.
    ///
    /// A script that is to decide is run; its decision is the one that the load will come to.
    private mutating func findTakers(_ entries: [KnownAuthentication], _ url: URL) async {
        for entry in entries { logins[entry.place] = .init(known: entry) }
        guard url.scheme?.lowercased() == "http" else { return }
        var routes = stream[.proxies] ?? []
        if routes.isEmpty, stream[.socksProxy] == nil, let settings = stream[.httpProxySettings] {
            // What is wrong with them is told when they are used.
            routes = (try? await settings.resolvedRoutes(for: url)) ?? []
        }
        for route in routes {
            guard let proxy = route.hops.last as? HTTPProxy, let known = logins[proxy]?.known,
                !takers.contains(where: { $0.known === known })
            else { continue }
            var form = request
            // A target that cannot be sent fails where it is sent.
            try? form.setTarget(RequestTarget(absolute: url))
            takers.append((known, form))
        }
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

    /// Gives the stream what it is to send, and what is left of `StreamProperty.httpTotalLimit`, which all attempts of a load
    /// share.
    ///
    /// - Parameter start: when the load began.
    /// - Throws: ``StreamError/timedOut`` if nothing is left.
    func prepareStream(of start: Moment) throws(StreamError) {
        if let limit = stream[.httpTotalLimit], limit > .zero {
            let left = Moment.now.duration(to: start + limit)
            guard left > .zero else { throw .timedOut("authenticating or following redirects", after: limit) }
            try stream.set(.httpTotalLimit, to: left)
        }
        var sent = request
        if let body, !leavesBodyOut, !body.isRepeatable, !sent.fields.contains(.expect) {
            // Whoever refuses the request does it before the body is spent.
            do throws(HTTPMessageError) { try sent.fields.set("100-continue", for: .expect) } catch {
                throw StreamError(error)
            }
        }
        if leavesBodyOut { sent.fields.remove(.expect) }
        exchange.send(sent, body: leavesBodyOut ? .bytes([]) : body)
        try stream.set(.httpPool, to: pool)
        try stream.set(.httpProxyLogins, to: logins)
        if needsIdleConnection { try stream.set(.httpNeedsIdleConnection, to: true) }
        bound.forEach { $0.begin(stream) }
    }

    /// The connection is what the next leg is bound to.
    func bind() {
        originEntry?.bind(to: stream)
        for taker in takers where stream[.httpAnsweringProxy]?.space == taker.known.place {
            taker.known.bind(to: stream)
        }
    }

    /// A proxy has stopped the request: a login that the origin has not seen begins anew.
    func originWasNotAsked() {
        if let originEntry, originEntry.pool != nil { originEntry.authentication.disconnected() }
    }
}
