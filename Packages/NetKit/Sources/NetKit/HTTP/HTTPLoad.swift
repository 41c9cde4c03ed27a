internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// One load: from the request to the end of the body, over as many connections and redirects as it takes.
///
/// Theory of operation. Every member takes one or more steps and never waits; ``block`` says what to wait for. Closing,
/// giving back and calls of the application's code are collected in ``deferred``. Protocol decisions are made elsewhere, in types that do no I/O:
/// ``RequestPreparation`` (what is sent), `HeadParser`, `BodyFraming` and `BodyDecoder` (what is received), ``RedirectPolicy``
/// (where next). This one only carries bytes between them and the connection.
///
/// Sending and receiving overlap: a server may answer before it has read the whole request, and one that answers while it
/// reads would wait for ever for a client that stops. So whoever waits to receive sends on meanwhile, unless the answer
/// was a refusal.
struct HTTPLoad: ~Copyable, Sendable {
    enum Phase: Sendable {
        case idle
        /// Nothing of the answer has come.
        case sending
        /// What is left to send, such as a body that waits for a 100 (Continue), goes out meanwhile.
        case receivingHead
        /// The body of a redirect is thrown away, to use the connection again.
        case discarding
        case receivingBody
        case done
    }

    /// How much of a redirect's body is read for the sake of the connection.
    static let discardLimit: Int64 = 64 * 1024

    /// How much of a coded body one step decodes in vain before others have their turn.
    static let turnBudget = 64 * 1024

    /// What a call of the decoder counts against ``turnBudget``, beside the bytes it takes.
    static let decodeCost = 64

    /// How many pieces of a body one step sends before other work of the loop has its turn: 1 MiB.
    static let piecesPerTurn = 16

    /// Not changed any more once the load has begun.
    var settings = Settings()
    let loop: EventLoop
    /// The caller's request, or the one a redirect made of it.
    private(set) var request: HTTPRequest
    private(set) var method: HTTPMethod
    private(set) var url: URL?
    /// Nil before the first connection.
    private(set) var origin: HTTPOrigin?
    private var body: HTTPBody?
    /// A body that can be read only once has been used.
    private(set) var hasSpentBody = false
    /// Nil until a response leads to another request.
    private var redirection: RedirectState?
    var mustBeNew = false
    /// Nil until there is something to know of proxies.
    var proxies: ProxyProgress?

    var phase = Phase.idle
    /// What the last step ended with; nil if it did not end in a wait.
    var block: Block?
    /// Performed once the load's lock has been released; see ``LoadPoint``.
    var deferred = DeferredActions()
    /// When the load must have ended.
    var totalDeadline: Moment?
    /// When the head of the answer must have come, unless more of the request goes out.
    var responseDeadline: Moment?
    /// When the rest of a redirect's body is not waited for any more.
    var discardDeadline: Moment?
    var log = LoadLog()
    var connection: HTTPConnection?
    var sender: RequestSender?
    private var sentHead: [UInt8] = []
    private var lastTLS: LastTLS?
    /// When a body that waits for a 100 (Continue) goes out without.
    var leaveDeadline: Moment?
    /// While the connection takes nothing of the request, and the time for that is limited.
    var stall: WriteStall?

    /// At least a byte of the answer has come.
    var hasReceived = false
    /// The request has gone out just now: its answer cannot be there yet. Who waits in any case need not try first.
    var hasJustSent = false
    /// Sending the present request had to wait for the connection.
    var hasBlockedSending = false
    /// How many pieces of the body were sent since the load waited last.
    var piecesInTurn = 0
    /// A thread waits for the connection's input; see ``lendConnection()``.
    var isConnectionLent = false
    var response: HTTPResponse?
    /// After this answer the connection can carry another request, as far as the head says.
    var isReusable = false
    var interim: [HTTPResponse] = []
    var decoder = BodyDecoder(.none)
    var contentDecoder: ContentDecoder?

    init(_ request: consuming HTTPRequest, body: consuming HTTPBody?, loop: EventLoop) {
        method = request.method
        url = request.url
        self.request = request
        self.body = body
        self.loop = loop
    }

    /// Takes another request, before anything has begun.
    mutating func send(_ request: HTTPRequest, body: HTTPBody?) {
        method = request.method
        url = request.url
        self.request = request
        self.body = body
    }

    // MARK: What can be told

    // Getters that look at the sender are mutating: it cannot be copied, and `sender?` would consume it otherwise.

    /// True once the request is on its way.
    var hasBegun: Bool {
        mutating get {
            switch phase {
            case .idle: false
            case .sending: sender?.hasBegun ?? false
            case .receivingHead, .discarding, .receivingBody, .done: true
            }
        }
    }

    /// True once the body has been read to its end.
    var isOver: Bool {
        if case .done = phase { true } else { false }
    }

    /// The head of the answer that counts: not of a redirect that is being followed.
    var finalResponse: HTTPResponse? { redirection?.next == nil ? response : nil }

    /// The request as it was sent last.
    var finalRequest: HTTPRequest? {
        guard let url, !sentHead.isEmpty else { return nil }
        return RequestPreparation.request(from: sentHead, for: url)
    }

    /// What TLS agreed on, on the connection used last.
    var tlsInformation: TLSInformation? {
        // With a proxy it is not the origin's.
        connection?.proxy == nil ? connection?.pair[.tlsInformation] ?? lastTLS?.information : lastTLS?.information
    }

    /// What binds authentication to the connection used last.
    var serverEndPointBinding: [UInt8]? {
        connection?.proxy == nil
            ? connection?.pair[.serverEndPointBinding] ?? lastTLS?.serverEndPoint : lastTLS?.serverEndPoint
    }

    var bodyBytesSent: Int64 { mutating get { sender?.bodyBytesSent ?? 0 } }
    var trailers: HTTPFields { decoder.trailers }

    /// The length of what is read, as the head tells it; nil if it does not.
    var bodyLength: Int64? {
        guard finalResponse != nil else { return nil }
        switch decoder.framing {
        case .none: return 0
        case .length(let length): return contentDecoder == nil ? length : nil
        case .chunked, .untilClose, .tunnel: return nil
        }
    }

    /// What the load is busy with, for messages.
    var step: String {
        mutating get {
            switch phase {
            case .idle: proxies?.decision == nil ? "connecting" : "waiting for the proxy script"
            case .sending: connection?.pair.output.status == .opening ? openingStep : "sending the request"
            case .receivingHead where sender?.isAwaitingLeave == true: "waiting for 100 (Continue)"
            case .receivingHead: "waiting for the response"
            case .discarding, .receivingBody, .done: "receiving the body"
            }
        }
    }

    private var openingStep: String {
        switch connection?.pair.report.steps.last(where: { $0.outcome == .underway })?.kind {
        case .lookup(let name): "looking up \(name)"
        case .proxy(let kind, let place): "connecting through the \(kind) proxy \(place)"
        case .tls: "waiting for the TLS handshake"
        case .connect, .request, nil: "connecting"
        }
    }
}

// MARK: - From connection to connection

extension HTTPLoad {
    /// Ends it at once.
    mutating func close() {
        if isOver, proxies == nil { return }  // nothing is left to release
        leaveDeadline = nil
        stall = nil
        if let decision = proxies?.decision { deferred.add(.cancelDecision(decision)) }
        stopSending()
        dropConnection()
        log.abandon()
    }

    /// Prepares the request, finds or opens a connection.
    mutating func beginHop() throws(StreamError) {
        guard let url else { throw .badURL("the request has none.") }
        let now = Moment.now
        let origin = if let origin { origin } else { try HTTPOrigin(loading: url) }
        self.origin = origin
        let route = try customRoute(to: origin, url)
        let ownLogin = settings.pool?.isOfOneLogin == true ? nil : request.connectionLogin
        let key = HTTPConnectionKey(
            origin, route?.properties ?? StreamProperties(), loop: loop, ownLogin: ownLogin)
        let idle = takeIdle(key, at: now)
        if idle == nil, settings.needsIdleConnection { throw .connectionGone }
        let head = try prepareHead(of: url, to: origin, route, idle)
        sentHead = head.bytes
        if log.deferred == nil { log.deferred = DeferredLog(settings.properties) }
        log.beginRequest(method, url, at: now)
        connection = if let idle { idle } else { try open(key, route) }
        sender = RequestSender(head.bytes, body: body, length: head.bodyLength, asksLeave: head.asksLeave, loop: loop)
        if body != nil {
            sender?.begin()
            noteSpentBody()
        }
        leaveDeadline = nil
        stall = nil
        hasReceived = false
        hasBlockedSending = false
        piecesInTurn = 0
        phase = .sending
        restartResponseClock()
    }

    /// The properties and the route of a connection that is not made by default.
    private final class CustomRoute {
        let properties: StreamProperties
        let approach: HTTPApproach

        init(_ properties: StreamProperties, _ approach: HTTPApproach) {
            self.properties = properties
            self.approach = approach
        }
    }

    /// Returns nil for the default, which costs nothing then.
    private mutating func customRoute(to origin: HTTPOrigin, _ url: URL) throws(StreamError) -> CustomRoute? {
        if settings.namesNoProxy, proxies == nil { return nil }
        var properties = try connectionProperties(for: url)
        if !origin.isSecure, !settings.followsRedirects, properties[.tls] != nil { throw .tlsNeverUsed }
        if let named = redirection?.namedOrigin, origin != named, let tls = properties[.tls] {
            properties[.tls] = settings.crossOrigin.tls(tls)
        }
        return CustomRoute(properties, takeApproach(to: origin, properties))
    }

    private mutating func takeIdle(_ key: HTTPConnectionKey, at now: Moment) -> HTTPConnection? {
        guard settings.keepsConnection, !mustBeNew else { return nil }
        // A request that can be sent twice may meet a connection that has ended just now; see ``retry(after:)``.
        let mayRepeat = method.isIdempotent && body?.isRepeatable != false && !settings.needsIdleConnection
        let idle = (settings.pool ?? .shared).take(
            key, at: now, trusting: mayRepeat ? HTTPConnectionPool.trust : .zero
        ) { deferred.add(.close($0.pair)) }
        idle?.accept(settings.limits)
        return idle
    }

    // Mutating, although it changes nothing: a borrowed load would be copied for the call.
    private mutating func prepareHead(
        of url: URL, to origin: HTTPOrigin, _ route: CustomRoute?, _ idle: HTTPConnection?
    ) throws(StreamError) -> RequestPreparation.Head {
        let preparation = RequestPreparation(
            keepsConnection: settings.keepsConnection, decodesContent: settings.decodesContent)
        if route == nil, !origin.isFTP, request.fields.isEmpty {
            return try preparation.prepare(request, method, to: origin, body: body)
        }
        let proxy = if let idle { idle.proxy } else { route?.approach.proxy }
        if origin.isFTP, proxy == nil { throw .ftpNeedsProxy }
        let known: AuthenticationBody = body == nil ? .bytes(request.body ?? []) : .unknown
        let form = try HTTPApproach.form(
            request, of: url, for: proxy, owner: proxies?.owner, settings.proxyLogins, body: known)
        if proxy?.ownLogin != nil { proxies?.signed = request.fields.contains(.proxyAuthorization) ? nil : form }
        return try preparation.prepare(form, method, to: origin, body: body)
    }

    private mutating func open(_ key: HTTPConnectionKey, _ route: CustomRoute?) throws(StreamError) -> HTTPConnection {
        var properties = route?.properties ?? StreamProperties()
        let approach = route?.approach ?? HTTPApproach()
        properties[.proxies] = approach.routes
        properties[.tls] = approach.proxy?.tls
        if key.origin.isSecure {
            var tls = key.tls ?? TLSConfiguration()
            if tls.applicationProtocols.isEmpty { tls.applicationProtocols = ["http/1.1"] }
            properties[.tls] = tls
        }
        properties[.writeLimit] = nil  // the load has the limit
        log.deferred?.install(in: &properties)
        let (host, port) = approach.proxy.map { ($0.host, $0.port) } ?? (key.origin.host, key.origin.port)
        let pair = StreamPair(host: host, port: port, properties: properties, loop: loop)
        log.beginConnection(pair)
        try pair.open()
        return HTTPConnection(pair: pair, key: key, limits: settings.limits, proxy: approach.proxy)
    }

    /// A connection from the pool may have died unseen: the request is sent once more, on a new one, where that is safe.
    ///
    /// Safe means that the server cannot have begun on it, or that doing it twice is the same as once (RFC 9110 §9.2.2).
    mutating func retry(after error: StreamError) throws(StreamError) {
        if try answerForProxy(error) { return }
        log.failed(error)
        if takeNextApproach(after: error) { return }
        let mayRepeat = sender?.hasBegun != true || method.isIdempotent
        guard connection?.isReused == true, !mustBeNew, !hasReceived, mayRepeat, !hasSpentBody else { throw error }
        stopSending()
        if settings.needsIdleConnection { throw .connectionGone }
        dropConnection()
        log.tell(.sendsAgain)
        mustBeNew = true
        phase = .idle
    }

    /// Follows the redirect whose head has come.
    mutating func followHop() throws(StreamError) {
        dropConnection()
        guard let redirection, let hop = redirection.next.take() else { throw .closed }
        request = hop.request
        method = request.method
        url = hop.url
        let repeats = proxies?.repeats ?? false
        log.tell(repeats ? .sendsAgain : .followsRedirect(hop.url))
        if redirection.namedOrigin == nil { redirection.namedOrigin = origin }
        origin = hop.origin
        if !hop.keepsBody { body = nil }
        mustBeNew = false
        if repeats { proxies?.repeats = false } else { proxies?.turnToNextURL() }
        if let response { log.keepStatusLine(of: response) }
        response = nil
        interim = []
        phase = .idle
    }

    /// Returns whether the response leads to another request, which ``followHop()`` then begins.
    mutating func leadsOn() throws(StreamError) -> Bool {
        guard proxies != nil || settings.followsRedirects || sender?.isAwaitingLeave == true, let response,
            let next = try hop(after: response)
        else { return false }
        let redirection = redirection ?? RedirectState()
        self.redirection = redirection
        redirection.next = next
        return true
    }

    private mutating func hop(after head: HTTPResponse) throws(StreamError) -> RedirectPolicy.Hop? {
        if let hop = hopWithLogin(after: head) { return hop }
        guard settings.followsRedirects || head.status.code == 417, let url, let origin else { return nil }
        var hop: RedirectPolicy.Hop?
        if head.status.code == 417, sender?.isAwaitingLeave == true {
            // The server knows no expectations: once more, without (RFC 9110 §10.1.1).
            var plain = request
            plain.fields.remove(.expect)
            hop = RedirectPolicy.Hop(request: plain, url: url, origin: origin, keepsBody: true)
        } else if settings.followsRedirects {
            let redirection = redirection ?? RedirectState()
            self.redirection = redirection
            hop = try redirection.redirects.next(
                after: head, to: request, at: url, of: origin, hasBody: body != nil, settings.crossOrigin)
        }
        if let hop, hop.keepsBody, hasSpentBody { throw .bodyNotRepeatable(head.status.code) }
        return hop
    }

    /// The body has been read: the connection goes to the pool, or away.
    mutating func letGo() {
        guard let connection else { return }
        phase = .done
        if connection.key.origin.isSecure {
            lastTLS = LastTLS(connection.pair)
        }
        rememberProxy()
        log.endConnection()
        guard isReusable, sender?.isComplete == true, connection.buffer.isEmpty else {
            stopSending()
            return dropConnection()
        }
        self.connection = nil
        connection.requests += 1
        deferred.add(.keep(connection, settings.pool ?? .shared))
    }

    /// Sends a body that has waited for a 100 (Continue).
    mutating func giveLeave() {
        leaveDeadline = nil
        sender?.giveLeave()
        noteSpentBody()
    }

    private mutating func noteSpentBody() {
        if sender?.hasSpentBody == true { hasSpentBody = true }
    }

    /// True while a call opens or reads the stream of the request's body, without the load's lock.
    var isFetching: Bool { mutating get { sender?.isFetching ?? false } }

    /// Ends the wait for a ``DeferredActions/fetch`` that has been performed.
    mutating func endFetch() {
        // The time that the body's stream takes is not the server's.
        restartResponseClock()
        if block?.reason == .fetch { block = nil }
    }

    /// Sends no more, and closes the body's stream.
    mutating func stopSending() {
        if let source = sender?.stop() { deferred.add(.closeBody(source)) }
    }

    mutating func dropConnection() {
        rememberProxy()
        if let pair = connection?.pair { deferred.add(.close(pair)) }
        connection = nil
    }
}

// MARK: - State outside the load

// A load is moved and destroyed with each of its fields. These are needed by few loads, so they are objects of their own.

extension HTTPLoad {
    /// The redirects of a load.
    private final class RedirectState: @unchecked Sendable {
        // Unchecked: only its load refers to it, under the lock of the load.

        /// The origin that the application named; nil before the first redirect.
        var namedOrigin: HTTPOrigin?
        var redirects = RedirectPolicy()
        /// The next request, once the response that leads to it has been read.
        var next: RedirectPolicy.Hop?
    }

    /// The result of TLS on the last connection, which the load no longer has.
    private final class LastTLS: Sendable {
        let information: TLSInformation?
        let serverEndPoint: [UInt8]?

        init(_ pair: StreamPair) {
            information = pair[.tlsInformation]
            serverEndPoint = pair[.serverEndPointBinding]
        }
    }
}
