internal import EventLoops
internal import Glibc
internal import HostResolver

/// Opens a connection through proxies: to the first one, through each of them, and TLS to the target at the end.
///
/// Theory of operation. ``ProxyRouteMachine`` chooses the route, and this type performs it. Each attempt has a
/// connection of its own to its first proxy, opened like any other (addresses raced, TLS to the proxy), so that a
/// failed attempt leaves nothing behind. The layers are stacked on that connection, one for each proxy; the stream
/// reads and writes the last one. Every route has an equal share of the remaining time, so that a proxy that does not
/// answer leaves time for the others.
final class ProxiedOpening: StreamTransport {
    enum Phase {
        case deciding
        case lookingUp(LookupToken, step: Int)
        case connecting(ProxyRouteMachine.Way)
        /// TLS to the proxy with this index, through those before it.
        case securing(ProxyRouteMachine.Way, hop: Int, TLSTransport, step: Int)
        case conversing(ProxyRouteMachine.Way, hop: Int, TunnelTransport, step: Int)
        case securingTarget(ProxyRouteMachine.Way, TLSTransport, step: Int)
        case open(ProxyRoute)
        case failed(StreamError)
    }

    struct State {
        var machine: ProxyRouteMachine
        var phase = Phase.deciding
        var recorder = ReportRecorder()
        /// The connection of the current attempt.
        var first: Connection?
        /// When it began; nil once its steps are in the report.
        var firstBegan: Moment?
        /// The topmost layer so far.
        var engine: Engine?
        /// The result of a lookup, set by its handler.
        var news: Result<[IPAddress], ResolverError>?
        /// When the current route must be open.
        var deadline: Moment?
        var timer: LoopTimer?
        /// The properties that the conversations with proxies provide.
        var told = StreamProperties()
    }

    private let endpoint: Endpoint
    private let host: String
    private let port: UInt16
    let properties: StreamProperties
    private let resolver: any Resolver
    private let limit: Moment?
    private let bell: WaitPoint
    let state: Locked<State>

    /// - Parameters:
    ///   - endpoint: the target.
    ///   - routes: at least one.
    ///   - properties: those of the stream.
    init(to endpoint: Endpoint, through routes: [ProxyRoute], _ properties: StreamProperties, loop: EventLoop)
        throws(StreamError)
    {
        var known: [IPAddress] = []
        switch endpoint {
        case .host(let name, let port): (host, self.port) = (name, port)
        case .addresses(let addresses, let name):
            known = addresses.compactMap(\.ipAddress)
            guard let first = known.first, let port = endpoint.port else {
                throw StreamError(posix: EINVAL, .targetNotForProxies(name ?? "the target", "it is not a TCP address"))
            }
            (host, self.port) = (name ?? first.description, port)
        }
        self.endpoint = endpoint
        self.properties = properties
        resolver = properties[.resolver] ?? SystemResolver.shared
        let longest = properties[.openLimit] ?? .zero
        limit = longest > .zero ? .now + longest : nil
        bell = WaitPoint(loop: loop)
        state = Locked(State(machine: ProxyRouteMachine(routes, host: host, port: port, addresses: known)))
    }

    /// The engine that the stream reads and writes, once open.
    var engine: Engine? { state.withLock { $0.engine } }

    var waitPoint: WaitPoint {
        let (place, isSettled) = state.withLock { state -> (WaitPoint, Bool) in
            switch state.phase {
            case .deciding, .lookingUp, .failed: (bell, state.news != nil)
            case .connecting:
                // It may have opened since the last check. In that case no further signal arrives.
                (state.first?.placeForLayers(.reader) ?? bell, state.first?.settledStatus(.reader) != .opening)
            case .securing(_, _, let tls, _): (tls.waitPoint, false)
            case .conversing(_, _, let tunnel, _): (tunnel.waitPoint, false)
            case .securingTarget(_, let tls, _): (tls.waitPoint, false)
            case .open: (state.engine?.waitPoint ?? bell, false)
            }
        }
        if isSettled { place.signal([.readable, .writable]) }
        return place
    }

    // MARK: Opening

    func tryOpen() throws(StreamError) -> OpenAttempt {
        while true {
            let phase = state.withLock { $0.phase }
            let interest: Interest? =
                switch phase {
                case .deciding: try decide()
                case .lookingUp(_, let step): finishLookup(step)
                case .connecting(let way): try connect(way)
                case .securing(let way, let hop, let tls, let step): try secure(way, hop, tls, step)
                case .conversing(let way, let hop, let tunnel, let step): try converse(way, hop, tunnel, step)
                case .securingTarget(let way, let tls, let step): try secureTarget(way, tls, step)
                case .open: nil
                case .failed(let error): throw error
                }
            if case .open = phase { return .opened }
            if let interest { return .wouldBlock(interest) }
        }
    }

    /// Begins the next route, or the lookup that it needs.
    private func decide() throws(StreamError) -> Interest? {
        switch state.withLock({ $0.machine.next() }) {
        case .failed(let error):
            settle(.failed(error))
            throw error
        case .lookUp(let name, let families):
            beginLookup(name, families)
        case .go(let way):
            try beginWay(way)
        }
        return nil
    }

    private func beginWay(_ way: ProxyRouteMachine.Way) throws(StreamError) {
        startTimer()
        var own = properties
        own[.proxies] = nil
        own[.socksProxy] = nil
        own[.readLimit] = nil
        own[.writeLimit] = nil
        own[.remoteHost] = nil
        let deadline = state.withLock { $0.deadline }
        own[.openLimit] = deadline.map { max(.milliseconds(1), Moment.now.duration(to: $0)) } ?? .zero
        own[.tls] = way.route.hops.first?.tls
        let place = way.route.hops.first.map { Endpoint.host($0.host, port: $0.port) } ?? endpoint
        let connection = Connection(to: place, own, loop: bell.loop)
        state.withLock { state in
            state.first = connection
            state.firstBegan = .now
            state.phase = .connecting(way)
        }
        // An immediate failure is seen by the next check of the connection.
        do throws(StreamError) {
            try connection.open(.reader)
            try connection.open(.writer)
        } catch {}
    }

    private func connect(_ way: ProxyRouteMachine.Way) throws(StreamError) -> Interest? {
        guard let connection = state.withLock({ $0.first }) else { throw .closed }
        switch connection.settledStatus(.reader) {
        case .opening: return [.readable, .writable]
        case .open:
            state.withLock { state in
                state.joinFirst()
                state.engine = .other(ConnectionTransport(connection))
            }
            try climb(way, to: 0, isSecured: true)
        default: giveUp(connection.error(.reader) ?? .closed, at: nil, nil)
        }
        return nil
    }

    /// Adds the next layer: TLS to a proxy, then the conversation with it; after the last proxy, TLS to the target.
    private func climb(_ way: ProxyRouteMachine.Way, to hop: Int, isSecured: Bool = false) throws(StreamError) {
        guard let engine = state.withLock({ $0.engine }) else { throw .closed }
        let route = way.route.isDirect ? nil : way.route.description
        guard hop < way.route.hops.count else {
            guard let configuration = properties[.tls] else { return settle(.open(way.route)) }
            try beginTLS(configuration, host, port, over: engine, through: route) {
                .securingTarget(way, $0, step: $1)
            }
            return
        }
        let proxy = way.route.hops[hop]
        if !isSecured, let configuration = proxy.tls {
            return try beginTLS(configuration, proxy.host, proxy.port, over: engine, through: route) {
                .securing(way, hop: hop, $0, step: $1)
            }
        }
        let tunnel = TunnelTransport(way.machines[hop], over: engine)
        state.withLock { state in
            let step = state.recorder.begin(.proxy(proxy.kind, proxy.place), now: .now)
            state.phase = .conversing(way, hop: hop, tunnel, step: step)
        }
    }

    private func beginTLS(
        _ configuration: TLSConfiguration, _ name: String, _ port: UInt16, over engine: Engine, through route: String?,
        _ phase: (TLSTransport, Int) -> Phase
    ) throws(StreamError) {
        let step = state.withLock { $0.recorder.begin(.tls(name), now: .now) }
        do throws(StreamError) {
            let tls = try TLSTransport(configuration, peerName: name, port: port, through: route, over: engine)
            let next = phase(tls, step)
            state.withLock { $0.phase = next }
        } catch {
            end(step, .failed(error))
            settle(.failed(error))
            throw error
        }
    }

    private func converse(
        _ way: ProxyRouteMachine.Way, _ hop: Int, _ tunnel: TunnelTransport, _ step: Int
    ) throws(StreamError) -> Interest? {
        do throws(StreamError) {
            defer { remember(tunnel.properties) }
            if case .wouldBlock(let interest) = try tunnel.tryOpen() {
                return try interestInTime(interest, "waiting for the proxy \(way.route.hops[hop].place)")
            }
        } catch {
            end(step, .failed(error))
            giveUp(error, at: hop, tunnel.refusal)
            return nil
        }
        end(step, .succeeded(tunnel.summary ?? ""))
        if tunnel.hasSurplus { state.withLock { $0.engine = .other(tunnel) } }
        try climb(way, to: hop + 1)
        return nil
    }

    private func secure(
        _ way: ProxyRouteMachine.Way, _ hop: Int, _ tls: TLSTransport, _ step: Int
    ) throws(StreamError) -> Interest? {
        do throws(StreamError) {
            if case .wouldBlock(let interest) = try tls.tryOpen() {
                return try interestInTime(interest, "waiting for the TLS handshake with \(way.route.hops[hop].place)")
            }
        } catch {
            end(step, .failed(error))
            giveUp(error, at: nil, nil)
            return nil
        }
        end(step, .succeeded(tls.summary))
        state.withLock { $0.engine = .tls(tls) }
        try climb(way, to: hop, isSecured: true)
        return nil
    }

    /// A target that cannot be trusted is not tried over another route.
    private func secureTarget(
        _ way: ProxyRouteMachine.Way, _ tls: TLSTransport, _ step: Int
    ) throws(StreamError) -> Interest? {
        do throws(StreamError) {
            if case .wouldBlock(let interest) = try tls.tryOpen() {
                return try interestInTime(interest, "waiting for the TLS handshake")
            }
        } catch {
            end(step, .failed(error))
            settle(.failed(error))
            throw error
        }
        end(step, .succeeded(tls.summary))
        state.withLock { $0.engine = .tls(tls) }
        settle(.open(way.route))
        return nil
    }

    // MARK: Failing and closing

    private func giveUp(_ error: StreamError, at hop: Int?, _ refusal: TunnelRefusal?) {
        let connection = state.withLock { state -> Connection? in
            state.machine.failed(error, at: hop, refusal)
            state.phase = .deciding
            state.engine = nil
            return state.takeFirst()
        }
        connection.map(ProxiedOpening.drop)
    }

    private func settle(_ phase: Phase) {
        var ended: [Int] = []
        let (timer, unwanted) = state.withLock { state -> (LoopTimer?, Connection?) in
            state.phase = phase
            var unwanted: Connection?
            if case .failed = phase {
                ended = state.recorder.endAll(.abandoned, now: .now)
                state.engine = nil
                unwanted = state.takeFirst()
            }
            return (state.timer.take(), unwanted)
        }
        timer?.cancel()
        unwanted.map(ProxiedOpening.drop)
        tellLogger(ended)
    }

    private static func drop(_ connection: Connection) {
        connection.close(.writer)
        connection.close(.reader)
    }

    func close() {
        let phase = state.withLock { $0.phase }
        switch phase {
        case .open:
            engine?.transport.close()
            return
        case .lookingUp(let token, _): token.cancel()
        case .deciding, .connecting, .securing, .conversing, .securingTarget, .failed: break
        }
        settle(.failed(.closed))
        bell.signal([.readable, .writable])
    }

    // MARK: Time

    /// Starts a route's share of the time.
    private func startTimer() {
        guard let limit else { return }
        let now = Moment.now
        let old = state.withLock { state -> LoopTimer? in
            let deadline = now + now.duration(to: limit) / max(1, state.machine.remainingRoutes)
            state.deadline = deadline
            let timer = bell.loop.schedule(at: deadline) { [weak self] in
                self?.waitPoint.signal([.readable, .writable])
            }
            defer { state.timer = timer }
            return state.timer
        }
        old?.cancel()
    }

    private func interestInTime(_ interest: Interest, _ step: String) throws(StreamError) -> Interest {
        if let deadline = state.withLock({ $0.deadline }), Moment.now >= deadline {
            throw StreamError(posix: ETIMEDOUT, .openTimedOut(step))
        }
        return interest
    }

    // MARK: Looking up

    private func beginLookup(_ name: String, _ families: AddressFamilies) {
        let step = state.withLock { $0.recorder.begin(.lookup(name), now: .now) }
        do throws(ResolverError) {
            let request = AddressRequest(try HostName(name), families: families, until: limit?.instant)
            let gathered = Locked<[IPAddress]>([])
            let token = resolver.start(request) { [self] event in
                switch event {
                case .batch(let batch): gathered.withLock { $0 += batch.addresses }
                case .finished(let error):
                    let result: Result<[IPAddress], ResolverError> =
                        if let error { .failure(error) } else { .success(gathered.withLock { $0 }) }
                    state.withLock { $0.news = result }
                    bell.signal(.readable)
                }
            }
            state.withLock { $0.phase = .lookingUp(token, step: step) }
        } catch {
            let failure = StreamError(error, name: name)
            end(step, .failed(failure))
            state.withLock { $0.machine.lookupFailed(failure, hasNoData: false) }
        }
    }

    private func finishLookup(_ step: Int) -> Interest? {
        guard let news = state.withLock({ $0.news.take() }) else { return .readable }
        switch news {
        case .success(let addresses):
            end(step, .succeeded(addresses.count == 1 ? "1 address" : "\(addresses.count) addresses"))
            state.withLock { $0.machine.found(addresses) }
        case .failure(let error):
            let failure = StreamError(error, name: host)
            end(step, .failed(failure))
            state.withLock { $0.machine.lookupFailed(failure, hasNoData: error.code == .noData) }
        }
        state.withLock { $0.phase = .deciding }
        return nil
    }
}
