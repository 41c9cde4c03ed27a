internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
@_spi(Packages) internal import HTTPMessage
@_spi(Packages) internal import StreamKit

/// One load: from the request to the end of the response body, over any number of connections and redirects.
///
/// Theory of operation. A load is a loop over requests: the caller's, then those of hops and rounds (``Fetch``); a dead connection repeats
/// the current one. ``LoadState`` has the data of the request. Each member takes steps and never waits; ``LoadClock/block`` tells what to wait
/// for. Closing, returning connections to a pool, and calls of the application's code are collected in ``deferred``.
///
/// The load decides, and leaves the rest to others: ``Fetch`` (the next request), ``ProxyProgress`` (the route), ``HTTPConnection`` and
/// ``HTTPCarrier`` (the bytes), ``LoadClock`` (the time limits; its file has the waits). The versions of HTTP that a request may use, and
/// the search for a connection, are in LoadConnections.swift. The version of a carrier matters here only where a connection is shared.
struct HTTPLoad: ~Copyable, Sendable {
    /// Constant once the load has begun, except ``StreamProperty/writeTimeout``.
    var settings: LoadSettings
    /// Unowned, because the ``LoadTransport`` that owns the load is a point of this loop, and keeps it.
    unowned(unsafe) let loop: EventLoop
    private(set) var fetch: Fetch
    private(set) var state = LoadState.unopened
    private(set) var extras: LoadExtras?
    /// The caller that waits without the load's lock; see ``lendConnection()``.
    var lending = Lending.none
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
    /// Begins the load, before its first step.
    mutating func start() {
        clock.begin(within: settings.options.totalTimeout)
        state = .deciding
    }

    /// Takes steps until the request is being sent, or a wait is necessary.
    mutating func begin() throws(StreamError) -> LoadProgress {
        while !state.isRequestUnderway {
            if let interest = try advance(), !state.isRequestUnderway { return blockedUnlessReadingBody(interest) }
            if !deferred.isEmpty { return .again }
        }
        if lending == .justSent { _ = clock.wait(for: .input) }
        return .done
    }

    /// Takes steps until the head of the final response has been received, or a wait is necessary.
    private mutating func advanceToBody() throws(StreamError) -> LoadProgress {
        while !state.isAtBody {
            if let interest = try advance() { return blockedUnlessReadingBody(interest) }
            if !deferred.isEmpty, !state.isAtBody { return .again }
        }
        return .done
    }

    /// A wait for a read of the body that this same step requested ends as soon as the read has been performed.
    private func blockedUnlessReadingBody(_ interest: Interest) -> LoadProgress {
        deferred.bodyReading == nil ? .blocked(interest) : .again
    }

    /// Takes one step. Returns nil if another step may follow.
    private mutating func advance() throws(StreamError) -> Interest? {
        switch state {
        case .deciding: return try decide(mayReuse: true)
        case .redialing: return try decide(mayReuse: false)
        case .standingBy(let standby):
            switch standby.step {
            case .waits(let end): return clock.wait(for: .standby, before: end)
            case .ended(let hasFailed): if hasFailed { ensureExtras().attempts.waitsForDials = false }
            }
            state = .deciding
            return nil
        case .opening(let connection): return try open(connection)
        case .exchanging(let carrier): return try exchange(carrier)
        case .discarding(let discard): return try advance(discard)
        case .receiving, .switched, .refused, .finished, .abandoned: return nil
        case .unopened: throw .notOpen
        }
    }

    // MARK: Deciding and opening

    /// Finds or opens a connection for the request.
    private mutating func decide(mayReuse: Bool) throws(StreamError) -> Interest? {
        guard let url = fetch.url else { throw .badURL("the request has none.") }
        let (isDirect, now) = (settings.isDirect, Moment.now)
        let reuses = mayReuse && settings.options.keepsConnection
        let trust = settings.trust(mayRepeat: fetch.mayRepeat)
        if reuses, let usual = try settings.takeUsual(for: fetch, at: url, loop, now, trusting: trust, &deferred) {
            try carry(over: usual, host: nil, since: now)
            return nil
        }
        let origin = try fetch.origin()
        if isDirect, origin.isFTP { throw .ftpNeedsProxy }
        var plan: ConnectionPlan?
        if !isDirect {
            let proxies = ensureExtras().ensureProxies()
            if try proxies.awaitsDecision(on: url, to: origin, settings, loop: loop) {
                return clock.wait(for: .decision)
            }
            plan = try proxies.plan(of: fetch.request, at: url, to: origin, fetch.standing, settings)
        }
        let key = HTTPConnectionKey(
            origin, plan?.properties ?? StreamProperties(), endpoint: settings.endpoint(of: origin), loop: loop,
            ownLogin: settings.ownLogin(of: fetch.request), isTunnelled: settings.offersSwitch)
        let proxy = plan?.route.proxy
        let versions = try settings.versions(of: fetch.request, for: key, endsAtProxy: proxy != nil)
        if reuses,
            let idle = settings.takeShared(key, versions, proxy: proxy)
                ?? settings.takeIdle(key, versions, now, trusting: trust, &deferred)
        {
            try carry(over: idle, host: origin.hostField, since: now)
            return nil
        }
        if settings.session?.needsIdleConnection == true { throw .connectionGone }
        if let body = fetch.body { _ = try RequestPreparation.length(of: fetch.request, body) }
        let proxyTLS = try proxy?.tlsOfRequests()
        let opening = try settings.open(key, versions, extras?.attempts, shares: reuses) {
            settings.makePair(for: key, plan, proxyTLS, versions, log: log.logger, loop)
        }
        switch opening {
        case .shared(let link):
            try carry(
                over: HTTPConnection(sharing: link, isReused: true, proxy: proxy), host: origin.hostField, since: now)
        case .awaited(let dial): state = .standingBy(Standby(for: dial, within: settings.openTimeout, loop))
        case .begun(let pair, let dial):
            beginRequest(at: now)
            log.beginConnection(pair)
            let limits = settings.options.limits
            state = .opening(HTTPConnection(pair: pair, key: key, limits: limits, proxy: proxy, dial: dial))
        }
        return nil
    }

    private mutating func beginRequest(at now: Moment) {
        if log.hasRequest { log.keepRequest(fetch) }
        log.beginRequest(at: now)
        if log.logger == nil, let logger = DeferredLog(settings.options.connection) { log.use(logger) }
        clock.beginRequest(at: now, responseTimeout: settings.responseTimeout)
    }

    private mutating func open(_ connection: HTTPConnection) throws(StreamError) -> Interest? {
        let output = connection.pair.output
        if output.status == .opening { return try wait(for: .room, nil) }
        if output.status == .error {
            try recover(from: output.error ?? .closed, connection, nil)
            return nil
        }
        let versions = try settings.versions(
            of: fetch.request, for: connection.key, endsAtProxy: connection.endsAtProxy)
        let carried = try settings.carried(connection, versions)
        if carried.pair.input !== connection.pair.input {
            // Another load has opened one in the meantime.
            log.endConnection()
            deferred.add(.close(connection.pair))
        }
        state = .opening(carried)
        try carry(over: carried, host: try fetch.origin().hostField)
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
        let form = try fetch.form(over: connection, proxies, settings)
        var host = host
        if let named = settings.options.host, fetch.isAtNamedOrigin { host = named }
        state = .exchanging(
            try connection.makeCarrier(
                of: fetch, as: form, host: host, settings.preparation, limits: settings.options.limits,
                hasWaited: moment == nil))
    }

    // MARK: Exchanging

    private mutating func exchange(_ carrier: any HTTPCarrier) throws(StreamError) -> Interest? {
        // Only for `read`, which had no chance to borrow; every other caller has called `noteTime()`.
        if lending == .justSent {
            lending = .none
            return clock.wait(for: .input)
        }
        let sentBefore = carrier.bytesSent
        let step: HeadStep
        do throws(CarrierFailure) {
            step = try carrier.advance(&deferred)
        } catch {
            guard error.source == .connection, let connection = carrier.connection else { throw error.error }
            try recover(from: error.error, connection, carrier)
            return nil
        }
        if carrier.bytesSent > sentBefore { clock.noteSent(responseTimeout: settings.responseTimeout) }
        switch step {
        case .needs(let need): return try wait(for: need, carrier)
        case .sent(let justNow):
            clock.endPause()
            if justNow {
                lending.noteSent()
            } else if case .http2? = carrier.connection?.line {
                // The permit limits connections, and this one is shared.
                endPermit()
            }
        case .interim(var head):
            head.setURL(of: fetch.request)
            if carrier.hasBegunRequestBody { clock.endPause() }
            ensureExtras().interim.append(head)
        case .switched:
            state = .switched(carrier)
            noteAnswer(carrier)
        case .head(let verdict):
            state = .receiving(carrier)
            noteAnswer(carrier)
            fetch.spendBody(by: carrier)
            if verdict == .crossed, let connection = carrier.connection, connection.isReused, !fetch.hasSpentBody {
                log.keepRequest(fetch, answer: carrier.response, carrier.streamPlace)
                try sendAgain(withoutReuseOf: connection, carrier)
                return nil
            }
            if proxies != nil || verdict == .refusesExpectation || settings.options.followsRedirects,
                let next = try fetch.next(after: carrier, verdict, proxies, settings)
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
        log.keepRequest(fetch, answer: discard.carrier.response, discard.carrier.streamPlace)
        if discard.next.redirect == nil {
            log.emit(.sendsAgain(afterClose: false))
        } else {
            log.emit(.followsRedirect(discard.next.url))
            proxies?.resetForNextURL()
        }
        fetch.follow(discard.next)
        extras?.interim = []
        extras?.attempts = Attempts()
        state = .deciding
        return nil
    }
}

// MARK: - The body of the response

extension HTTPLoad {
    /// Advances to the body, and reads payload into `target`. Returns nil to be called again after the ``deferred`` actions.
    mutating func read(into target: inout MutableRawSpan) throws(StreamError) -> Attempt? {
        try receive { (carrier, deferred) throws(CarrierFailure) in try carrier.read(into: &target, &deferred) }
    }

    /// Returns what a read would, without reading, as ``read(into:)`` does. A failure of the body is left to the read: the head before it is
    /// valid, and may be all that the caller needs, as that of a redirect.
    mutating func peek() throws(StreamError) -> Attempt? {
        if extras?.bodyFailure != nil { return .moved(1) }
        return try receive(keepsFailure: true) { (carrier, deferred) throws(CarrierFailure) in
            try carrier.peek(&deferred)
        }
    }

    private mutating func receive(
        keepsFailure: Bool = false,
        _ body: (any HTTPCarrier, inout DeferredActions) throws(CarrierFailure) -> BodyStep
    ) throws(StreamError) -> Attempt? {
        switch try advanceToBody() {
        case .done: break
        case .blocked(let interest): return .wouldBlock(interest)
        case .again: return nil
        }
        if let failure = extras?.bodyFailure { throw failure }
        while case .receiving(let carrier) = state {
            let sentBefore = carrier.bytesSent
            let step: BodyStep
            do throws(CarrierFailure) {
                step = try body(carrier, &deferred)
            } catch {
                guard keepsFailure else { throw error.error }
                ensureExtras().bodyFailure = error.error
                return .moved(1)
            }
            if carrier.bytesSent > sentBefore { clock.noteSent(responseTimeout: nil) }
            switch step {
            case .needs(let need):
                guard let interest = try wait(for: need, carrier) else { continue }
                return deferred.bodyReading == nil ? .wouldBlock(interest) : nil
            case .payload(let count):
                try finishIfComplete(carrier)
                return .moved(count)
            case .ended(let end): finish(carrier, end)
            }
        }
        return .ended
    }

    private mutating func finishIfComplete(_ carrier: any HTTPCarrier) throws(StreamError) {
        do throws(CarrierFailure) {
            if let end = try carrier.endIfComplete() { finish(carrier, end) }
        } catch {
            throw error.error
        }
    }

    private mutating func finish(_ carrier: any HTTPCarrier, _ end: ResponseEnd) {
        release(end.connection, carrier, isReusable: end.isReusable)
        endPermit()
        state = .finished(carrier)
    }

    /// Lends the input of the connection to the caller, if the only thing to do now is to wait for it. Until the caller ends the
    /// ``lending``, only the caller may use it.
    mutating func lendConnection() -> (input: any CarrierInput, fills: Bool)? {
        guard let block = clock.block, block.deadline == nil, block.need == .input, let carrier = state.carrier,
            let input = carrier.input
        else { return nil }
        lending.begin()
        return (input, carrier.fillsBuffer)
    }

    /// Returns the connection that carries another protocol now, with the bytes of that protocol received so far; nil if the
    /// server has not switched.
    mutating func takeSwitched() -> (pair: StreamPair, received: [UInt8])? {
        guard case .switched(let carrier) = state, let connection = carrier.connection else { return nil }
        let taken = carrier.takeSwitched(&deferred)
        giveUp(connection)
        endPermit()
        state = .finished(carrier)
        return taken
    }
}

// MARK: - From connection to connection

extension HTTPLoad {
    /// Ends the load at once.
    mutating func close() {
        if let decision = proxies?.decision { deferred.add(.cancelDecision(decision)) }
        if state.hasDeliveredBody { return }
        if case .unopened = state { return endPermit() }
        if case .standingBy(let standby) = state { standby.abandon() }
        if case .discarding(let discard) = state {
            log.keepRequest(fetch, answer: discard.carrier.response, discard.carrier.streamPlace)
        }
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
        if let carrier { fetch.spendBody(by: carrier) }
        let isUntouched = carrier.map { $0.bytesSent == 0 && !$0.hasReceived } ?? true
        if isUntouched, !connection.isReused, !fetch.hasSpentBody, proxies?.takeNextRoute(after: error) == true {
            log.emit(.triesNextProxy)
            release(connection, carrier, isReusable: false)
            state = .deciding
            return
        }
        let repetition = carrier?.repetition ?? .none
        let mayRepeat =
            switch repetition {
            case .none: false
            case .ifReused: connection.isReused
            // Without a limit: each of these connections has served another request, so their number is limited by that of the requests.
            case .elsewhere: true
            case .overHTTP1 where settings.options.versions == .http2: false
            case .again, .afterPause, .overHTTP1:
                ensureExtras().attempts.permitRepetition(isSent: !isUntouched)
            }
        guard mayRepeat, !fetch.hasSpentBody else {
            guard isUntouched, let proxy = connection.proxy else { throw error }
            throw error.with([.unreachableProxy: .text(proxy.hostAndPort)])
        }
        log.keepRequest(fetch, carrier?.streamPlace)
        try sendAgain(withoutReuseOf: connection, carrier, repetition)
    }

    /// Sends the same request on another connection, or again on the same one.
    private mutating func sendAgain(
        withoutReuseOf connection: HTTPConnection, _ carrier: (any HTTPCarrier)?, _ repetition: Repetition = .ifReused
    ) throws(StreamError) {
        if settings.session?.needsIdleConnection == true { throw .connectionGone }
        log.emit(.sendsAgain(afterClose: repetition == .ifReused))
        release(connection, carrier, isReusable: false)
        state = repetition == .ifReused ? .redialing : .deciding
        switch repetition {
        case .none, .ifReused, .again, .elsewhere: break
        case .overHTTP1: settings.pool.noteHTTP1(connection.key)
        case .afterPause: state = .standingBy(Standby(for: ensureExtras().attempts.pause, loop))
        }
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
        // Returns the earlier outcome, if there is one.
        let dialled = connection.dial?.fail()
        if case .http2(let link) = connection.line {
            if !isReusable { carrier?.abandon(&deferred) }
            link.drainUnlessPooled()
        } else if case .http2? = dialled {
            // The connection belongs to its link, which others share.
        } else if isReusable {
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
        if let security = connection.security { ensureExtras().security = security }
        log.endConnection()
    }

    /// Permits another request of the session, after the connection has been released, or if it is shared.
    private mutating func endPermit() {
        if let permit = settings.session?.permit { deferred.add(.endPermit(permit)) }
    }
}
