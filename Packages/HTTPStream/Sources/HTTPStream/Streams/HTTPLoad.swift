internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// One load: from the request to the end of the response body, over any number of connections and redirects.
///
/// Theory of operation. A load is a loop over requests: the caller's, then those of hops and rounds (``Fetch``); a dead connection repeats
/// the current one. ``LoadState`` has the data of the request. Each member takes steps and never waits; ``LoadClock/block`` tells what to wait
/// for. Closing, returning connections to a pool, and calls of the application's code are collected in ``deferred``.
///
/// The load decides, and leaves the rest to others: ``Fetch`` (the next request), ``ProxyProgress`` (the route), ``HTTPConnection`` and
/// ``HTTPCarrier`` (the bytes), ``LoadClock`` (the time limits). It does not know which version of HTTP a carrier uses.
struct HTTPLoad: ~Copyable, Sendable {
    /// Constant once the load has begun, except ``StreamProperty/writeTimeout``.
    var settings: LoadSettings
    /// Unowned, because the ``LoadTransport`` that owns the load is a point of this loop, and keeps it.
    unowned(unsafe) let loop: EventLoop
    private(set) var fetch: Fetch
    private(set) var state = LoadState.deciding(mayReuse: true)
    private(set) var extras: LoadExtras?
    /// Whether the request was sent just now, so its response cannot have arrived. A caller that blocks need not try a read first.
    var hasJustSent = false
    /// Whether a thread waits for the connection's input; see ``lendConnection()``.
    var isConnectionLent = false
    /// Actions to perform once the load's lock has been released; see ``LoadTransport``.
    var deferred = DeferredActions()
    var clock = LoadClock()
    var log = LoadLog()

    init(
        _ request: consuming HTTPRequest, body: consuming HTTPBody?, _ settings: consuming LoadSettings, loop: EventLoop
    ) {
        self.settings = settings
        fetch = Fetch(consume request, body: consume body)
        self.loop = loop
    }

    /// Replaces the request. Requires that the load has not begun.
    ///
    /// - Parameter redirects: the responses that led to the request.
    mutating func send(_ request: HTTPRequest, body: HTTPBody?, after redirects: [HTTPResponse]) {
        fetch = Fetch(request, body: body)
        fetch.inherit(redirects)
    }

    /// The state of the proxies; nil for a load without proxies.
    var proxies: ProxyProgress? { extras?.proxies }

    private mutating func ensureExtras() -> LoadExtras {
        let made = extras ?? LoadExtras()
        extras = made
        return made
    }
}

// MARK: - Up to the body

extension HTTPLoad {
    /// The outcome of several steps.
    enum Progress {
        /// The load has reached the requested state.
        case done
        /// The load has to wait; see ``LoadClock/block``.
        case blocked(Interest)
        /// The ``deferred`` actions have to be performed first: the next step may need their results.
        case again
    }

    /// Takes steps until the request is being sent, or a wait is necessary.
    mutating func begin() throws(StreamError) -> Progress {
        while !state.isRequestUnderway {
            if let interest = try advance(), !state.isRequestUnderway { return blockedUnlessReadingBody(interest) }
            if !deferred.isEmpty { return .again }
        }
        if hasJustSent { _ = clock.wait(for: .input) }
        return .done
    }

    /// Takes steps until the head of the final response has been received, or a wait is necessary.
    private mutating func advanceToBody() throws(StreamError) -> Progress {
        while !state.isAtBody {
            if let interest = try advance() { return blockedUnlessReadingBody(interest) }
            if !deferred.isEmpty, !state.isAtBody { return .again }
        }
        return .done
    }

    /// A wait for a read of the body that this same step requested ends as soon as the read has been performed.
    private func blockedUnlessReadingBody(_ interest: Interest) -> Progress {
        deferred.bodyReading == nil ? .blocked(interest) : .again
    }

    /// Takes one step. Returns nil if another step may follow.
    private mutating func advance() throws(StreamError) -> Interest? {
        switch state {
        case .deciding(let mayReuse): return try decide(mayReuse: mayReuse)
        case .opening(let connection): return try open(connection)
        case .exchanging(let carrier): return try exchange(carrier)
        case .discarding(let discard): return try advance(discard)
        case .receiving, .switched, .refused, .finished, .abandoned: return nil
        }
    }

    // MARK: Deciding and opening

    /// Finds or opens a connection for the request.
    private mutating func decide(mayReuse: Bool) throws(StreamError) -> Interest? {
        guard let url = fetch.url else { throw .badURL("the request has none.") }
        let isDirect = settings.isDirect
        if !isDirect,
            try ensureExtras().ensureProxies().awaitsDecision(on: url, to: fetch.ensureOrigin(), settings, loop: loop)
        {
            return clock.wait(for: .decision)
        }
        let now = Moment.now
        let reuses = mayReuse && settings.options.keepsConnection
        let trust = settings.trust(mayRepeat: fetch.mayRepeat)
        if reuses, isDirect, !settings.offersSwitch, fetch.isBare || settings.ownLogin(of: fetch.request) == nil,
            let idle = settings.takeUsualIdle(at: url, loop, now, trusting: trust, &deferred)
        {
            try carry(over: idle, host: nil, since: now)
            return nil
        }
        let origin = try fetch.ensureOrigin()
        if isDirect, origin.isFTP { throw .ftpNeedsProxy }
        let plan =
            isDirect
            ? nil
            : try ensureExtras().ensureProxies().plan(
                of: fetch.request, at: url, to: origin, fetch.standing, settings)
        let key = HTTPConnectionKey(
            origin, plan?.properties ?? StreamProperties(), endpoint: settings.endpoint(of: origin), loop: loop,
            ownLogin: settings.ownLogin(of: fetch.request), isTunnelled: settings.offersSwitch)
        if reuses, let idle = settings.takeIdle(key, now, trusting: trust, &deferred) {
            try carry(over: idle, host: origin.hostField, since: now)
            return nil
        }
        if settings.session?.needsIdleConnection == true { throw .connectionGone }
        if let body = fetch.body { _ = try RequestPreparation.length(of: fetch.request, body) }
        beginRequest(at: now)
        let pair = settings.makePair(for: key, plan, log: log.logger, loop)
        log.beginConnection(pair)
        try pair.open()
        state = .opening(
            HTTPConnection(pair: pair, key: key, limits: settings.options.limits, proxy: plan?.route.proxy))
        return nil
    }

    private mutating func beginRequest(at now: Moment) {
        if log.logger == nil { log.logger = DeferredLog(settings.options.connection) }
        if log.hasRequest { log.keepRequest(fetch) }
        log.beginRequest(at: now)
        clock.beginRequest(at: now, responseTimeout: settings.responseTimeout)
    }

    private mutating func open(_ connection: HTTPConnection) throws(StreamError) -> Interest? {
        let output = connection.pair.output
        if output.status == .opening { return try wait(for: .room, nil) }
        if output.status == .error {
            try recover(from: output.error ?? .closed, connection, nil)
            return nil
        }
        try carry(over: connection, host: try fetch.ensureOrigin().hostField)
        return nil
    }

    /// Begins the exchange on an open connection.
    ///
    /// - Parameters:
    ///   - host: the value of `Host` for the origin, unless the application has named another; nil if the connection ends at the origin.
    ///   - moment: the begin of the request on an idle connection; nil if it had to wait for a new one.
    private mutating func carry(
        over connection: HTTPConnection, host: String?, since moment: Moment? = nil
    ) throws(StreamError) {
        if let moment { beginRequest(at: moment) }
        let form = try fetch.form(through: connection.proxy, proxies, settings.session?.logins)
        var host = host
        if let named = settings.options.host, fetch.isAtNamedOrigin { host = named }
        state = .exchanging(
            try connection.makeCarrier(
                of: fetch, as: form, host: host, settings.preparation, limits: settings.options.limits,
                hasWaited: moment == nil))
    }

    // MARK: Exchanging

    private mutating func exchange(_ carrier: any HTTPCarrier) throws(StreamError) -> Interest? {
        if hasJustSent {
            hasJustSent = false
            return clock.wait(for: .input)
        }
        let step: HeadStep
        do throws(CarrierFailure) {
            step = try carrier.advance(&deferred)
        } catch {
            guard error.source == .connection, let connection = carrier.connection else { throw error.error }
            try recover(from: error.error, connection, carrier)
            return nil
        }
        clock.noteSent(carrier.bytesSent, responseTimeout: settings.responseTimeout)
        switch step {
        case .needs(let need): return try wait(for: need, carrier)
        case .sent(let justNow):
            clock.endPause()
            hasJustSent = justNow
        case .interim(var head):
            head.setURL(of: fetch.request)
            if carrier.hasBegunRequestBody { clock.endPause() }
            ensureExtras().interim.append(head)
        case .switched:
            state = .switched(carrier)
            noteAnswer(carrier)
        case .head(let status, let refusesExpectation):
            state = .receiving(carrier)
            noteAnswer(carrier)
            // A 408 may have crossed the request, which the server has not seen then (RFC 9110 §15.5.9).
            if status == .requestTimeout, let connection = carrier.connection, connection.isReused,
                fetch.method.isIdempotent, extras?.interim.isEmpty != false, !fetch.isBodySpent(by: carrier)
            {
                log.keepRequest(fetch, answer: carrier.response)
                try sendAgain(withoutReuseOf: connection, carrier)
                return nil
            }
            if proxies != nil || refusesExpectation || settings.options.followsRedirects,
                let next = try hop(after: carrier, refusesExpectation)
            {
                carrier.stop(&deferred)
                let limit = settings.options.keepsConnection ? settings.options.discardTimeout : .zero
                state = .discarding(Discard(carrier, next: next, deadline: .now + limit))
                return nil
            }
            if settings.options.decodesContent { carrier.decodeContent(limit: settings.options.maximumDecodedLength) }
            try finishIfComplete(carrier)
        }
        return nil
    }

    private mutating func noteAnswer(_ carrier: any HTTPCarrier) {
        clock.endWaitForHead()
        log.answered(carrier.response, fetch, at: carrier.lastRead)
        if let proxies, let connection = carrier.connection { proxies.recordAnswer(on: connection) }
    }

    /// The request to which a response leads; nil for the result of the load.
    private mutating func hop(
        after carrier: any HTTPCarrier, _ refusesExpectation: Bool
    ) throws(StreamError) -> Fetch.NextRequest? {
        guard var head = carrier.response else { return nil }
        head.setURL(of: fetch.request)
        fetch.hasSpentBody = fetch.isBodySpent(by: carrier)
        if let proxies, let proxy = carrier.connection?.proxy,
            proxies.isLoginRequired(by: head, from: proxy, canRepeat: !fetch.hasSpentBody)
        {
            return try fetch.round(fetch.request, after: head.status)
        }
        if refusesExpectation {
            return try fetch.round(RequestPreparation.withoutExpectation(fetch.request), after: head.status)
        }
        return settings.options.followsRedirects ? try fetch.redirect(after: head, settings.options.crossOrigin) : nil
    }

    // MARK: Discarding

    private mutating func advance(_ discard: Discard) throws(StreamError) -> Interest? {
        var discard = discard
        switch discard.advance(&deferred) {
        case .needs(let need):
            state = .discarding(discard)
            return clock.wait(for: need, before: discard.deadline)
        case .ended(let connection, let isReusable):
            if let connection { release(connection, discard.carrier, isReusable: isReusable) }
        }
        log.keepRequest(fetch, answer: discard.carrier.response)
        if discard.next.redirect == nil {
            log.emit(.sendsAgain(afterClose: false))
        } else {
            log.emit(.followsRedirect(discard.next.url))
            proxies?.resetForNextURL()
        }
        fetch.follow(discard.next)
        extras?.interim = []
        state = .deciding(mayReuse: true)
        return nil
    }
}

// MARK: - The body of the response

extension HTTPLoad {
    /// Advances to the body, and reads payload into `target`. Returns nil to be called again after the ``deferred`` actions.
    mutating func read(into target: inout MutableRawSpan) throws(StreamError) -> Attempt? {
        try receive { (carrier, deferred) throws(CarrierFailure) in try carrier.read(into: &target, &deferred) }
    }

    /// Returns what a read would, without reading. Returns nil to be called again after the ``deferred`` actions.
    mutating func peek() throws(StreamError) -> Attempt? {
        try receive { (carrier, deferred) throws(CarrierFailure) in try carrier.peek(&deferred) }
    }

    private mutating func receive(
        _ body: (any HTTPCarrier, inout DeferredActions) throws(CarrierFailure) -> BodyStep
    ) throws(StreamError) -> Attempt? {
        switch try advanceToBody() {
        case .done: break
        case .blocked(let interest): return .wouldBlock(interest)
        case .again: return nil
        }
        while case .receiving(let carrier) = state {
            let step: BodyStep
            do throws(CarrierFailure) {
                step = try body(carrier, &deferred)
            } catch {
                throw error.error
            }
            switch step {
            case .needs(let need):
                clock.noteSent(carrier.bytesSent, responseTimeout: nil)
                guard let interest = try wait(for: need, carrier) else { continue }
                return deferred.bodyReading == nil ? .wouldBlock(interest) : nil
            case .payload(let count):
                try finishIfComplete(carrier)
                return .moved(count)
            case .ended(let connection, let isReusable): finish(carrier, connection, isReusable)
            }
        }
        return .ended
    }

    private mutating func finishIfComplete(_ carrier: any HTTPCarrier) throws(StreamError) {
        let end: BodyStep?
        do throws(CarrierFailure) {
            end = try carrier.endIfComplete()
        } catch {
            throw error.error
        }
        if case .ended(let connection, let isReusable) = end { finish(carrier, connection, isReusable) }
    }

    private mutating func finish(_ carrier: any HTTPCarrier, _ connection: HTTPConnection, _ isReusable: Bool) {
        release(connection, carrier, isReusable: isReusable)
        endPermit()
        state = .finished(carrier)
    }

    /// Lends the input of the connection to the caller, if the only thing to do now is to wait for it. Until the caller resets
    /// ``isConnectionLent``, only the caller may use it.
    mutating func lendConnection() -> (input: any CarrierInput, fills: Bool)? {
        guard let block = clock.block, block.deadline == nil, block.need == .input, let carrier = state.carrier,
            let input = carrier.input
        else { return nil }
        isConnectionLent = true
        return (input, carrier.fillsBuffer)
    }

    /// Returns the connection that carries another protocol now, with the bytes of that protocol received so far; nil if the
    /// server has not switched.
    mutating func takeSwitched() -> (pair: StreamPair, received: [UInt8])? {
        guard case .switched(let carrier) = state, let connection = carrier.connection else { return nil }
        let received = carrier.takeSwitched(&deferred)
        giveUp(connection)
        endPermit()
        state = .finished(carrier)
        return (connection.pair, received)
    }
}

// MARK: - From connection to connection

extension HTTPLoad {
    /// Ends the load at once.
    mutating func close() {
        if let decision = proxies?.decision { deferred.add(.cancelDecision(decision)) }
        if state.hasDeliveredBody { return }
        if case .discarding(let discard) = state { log.keepRequest(fetch, answer: discard.carrier.response) }
        if let connection = state.connection { release(connection, state.carrier, isReusable: false) }
        endPermit()
        log.abandon(fetch)
        state = .abandoned(state.carrier)
    }

    /// Continues after a failure of the connection: by another route, or with the same request on a new connection.
    ///
    /// - Throws: `error`, if neither is possible.
    private mutating func recover(
        from error: StreamError, _ connection: HTTPConnection, _ carrier: (any HTTPCarrier)?
    ) throws(StreamError) {
        if answerForProxy(error, connection) { return }
        log.failed(error, fetch)
        if let carrier { fetch.hasSpentBody = fetch.isBodySpent(by: carrier) }
        let isUntouched = carrier.map { $0.bytesSent == 0 && !$0.hasReceived } ?? true
        if isUntouched, !connection.isReused, !fetch.hasSpentBody, proxies?.takeNextRoute(after: error) == true {
            log.emit(.triesNextProxy)
            release(connection, carrier, isReusable: false)
            state = .deciding(mayReuse: true)
            return
        }
        guard connection.isReused, carrier?.mayRepeat == true, !fetch.hasSpentBody else {
            guard isUntouched, let proxy = connection.proxy else { throw error }
            throw error.with([.unreachableProxy: .text(proxy.hostAndPort)])
        }
        try sendAgain(withoutReuseOf: connection, carrier)
    }

    /// Sends the same request on a new connection.
    private mutating func sendAgain(
        withoutReuseOf connection: HTTPConnection, _ carrier: (any HTTPCarrier)?
    ) throws(StreamError) {
        if settings.session?.needsIdleConnection == true { throw .connectionGone }
        log.emit(.sendsAgain(afterClose: true))
        release(connection, carrier, isReusable: false)
        state = .deciding(mayReuse: false)
    }

    /// Handles the refusal of a tunnel. A proxy that requires a login is treated like a server that does (HM-094): its 407 is the
    /// response, see ``HTTPProxyRefusal/loginResponse``. Any other refusal is a failure. Returns false then.
    private mutating func answerForProxy(_ error: StreamError, _ connection: HTTPConnection) -> Bool {
        guard let refusal = error.underlying as? HTTPProxyRefusal else { return false }
        ensureExtras().ensureProxies().record(refusal)
        guard let head = refusal.loginResponse else { return false }
        log.answered(head, fetch)
        clock.endWaitForHead()
        release(connection, nil, isReusable: false)
        endPermit()
        state = .refused(head)
        return true
    }

    /// Ends the use of a connection: returns it to the pool, or closes it.
    private mutating func release(_ connection: HTTPConnection, _ carrier: (any HTTPCarrier)?, isReusable: Bool) {
        giveUp(connection)
        if isReusable {
            connection.isReused = true
            deferred.connectionReturn = .init(connection: connection, pool: settings.pool)
        } else {
            carrier?.abandon(&deferred)
            deferred.add(.close(connection.pair))
        }
    }

    /// Keeps what a connection tells, because the load gives it up.
    private mutating func giveUp(_ connection: HTTPConnection) {
        proxies?.recordTunnel(of: connection.pair)
        if connection.isSecure, let information = connection.pair[.tlsInformation] {
            ensureExtras().keep(information, binding: connection.pair[.serverEndPointBinding])
        }
        log.endConnection()
    }

    /// Permits another request of the session, after the connection has been released.
    private mutating func endPermit() {
        if let permit = settings.session?.permit { deferred.add(.endPermit(permit)) }
    }
}

// MARK: - Waiting

extension HTTPLoad {
    /// Ends a step in a wait, possibly with a time limit of its own. Returns nil to take the next step at once.
    ///
    /// - Throws: a time-out, if the connection has accepted no bytes for longer than `StreamProperty.writeTimeout`.
    private mutating func wait(for need: Need, _ carrier: (any HTTPCarrier)?) throws(StreamError) -> Interest? {
        if need == .permission, clock.isPauseOver(after: settings.options.continueTimeout) {
            clock.endPause()
            carrier?.permitBody()
            return nil
        }
        if need == .room, let limit = settings.writeTimeout, clock.isPauseOver(after: limit) {
            throw .timedOut(activity, after: limit)
        }
        return clock.wait(for: need)
    }

    /// Where to wait for the end of a block; nowhere if a step only ended its turn.
    func places(of block: LoadClock.Block) -> (WaitPoint.Readiness?, WaitPoint.Readiness?) {
        state.places(for: block.need, decision: proxies?.decision?.point)
    }

    /// Whether a call opens or reads the stream of the request's body, without the load's lock.
    var isReadingBody: Bool { state.carrier?.isReadingBody ?? false }

    /// Ends the wait for a ``DeferredActions/fetch`` that has been performed.
    mutating func endBodyReading() {
        // The time that the body's stream takes does not count for the server.
        clock.endBodyReading(responseTimeout: state.response == nil ? settings.responseTimeout : nil)
    }

    /// Begins a step. Throws a time-out if a time limit has passed.
    mutating func beginStep() throws(StreamError) {
        defer { clock.endWait() }
        guard !state.hasDeliveredBody, let passed = clock.passedLimit(isHeadAwaited: state.response == nil, settings)
        else {
            return
        }
        throw .timedOut(activity, after: passed)
    }

    private var activity: String { state.activity(clock.block?.need, awaitsScript: proxies?.decision != nil) }
}
