internal import EventLoops
internal import Glibc
internal import HostResolver

#if Logging
internal import Logging
#endif

/// Opens a connection through proxies: to the first one, through each of them, and TLS to the target at the end.
///
/// Theory of operation. ``ProxyRouteMachine`` chooses the route, and this type performs it. Each attempt has a
/// connection of its own to its first proxy, opened like any other (addresses raced, TLS to the proxy), so that a
/// failed attempt leaves nothing behind. The layers are stacked on that connection, one for each proxy; the stream
/// reads and writes the last one. Every route has an equal share of the remaining time, so that a proxy that does not
/// answer leaves time for the others.
final class ProxiedOpening: StreamTransport {
    private enum Phase {
        case deciding
        case lookingUp(LookupToken, step: Int)
        case connecting(ProxyRouteMachine.Plan)
        /// TLS to the proxy with this index, through those before it.
        case securing(ProxyRouteMachine.Plan, hop: Int, TLSTransport, step: Int)
        case conversing(ProxyRouteMachine.Plan, hop: Int, TunnelTransport, step: Int)
        case securingTarget(ProxyRouteMachine.Plan, TLSTransport, step: Int)
        case open(ProxyRoute)
        case failed(StreamError)
    }

    private struct State {
        var machine: ProxyRouteMachine
        var phase = Phase.deciding
        var recorder = ReportRecorder()
        /// The connection of the current attempt.
        var connection: Connection?
        /// When it began; nil once its steps are in the report.
        var connectionBegan: Moment?
        /// The topmost layer so far.
        var engine: Engine?
        /// The result of a lookup, set by its handler.
        var lookupResult: Result<[IPAddress], ResolverError>?
        /// When the current route must be open.
        var deadline: Moment?
        var timer: LoopTimer?
        /// The properties that the conversations with proxies provide.
        var conversationProperties = StreamProperties()

        /// Adds the steps of the current attempt's connection to the report, once.
        mutating func reportConnection() {
            guard let connection, let began = connectionBegan.take() else { return }
            recorder.join(connection.report.steps, begun: began)
        }

        /// Removes the current attempt's connection, and adds its steps to the report.
        mutating func takeConnection() -> Connection? {
            reportConnection()
            return connection.take()
        }
    }

    private let endpoint: Endpoint
    private let host: String
    private let port: UInt16
    private let properties: StreamProperties
    private let resolver: any Resolver
    private let limit: Moment?
    private let ownPoint: WaitPoint
    private let state: Locked<State>

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
        ownPoint = WaitPoint(loop: loop)
        state = Locked(State(machine: ProxyRouteMachine(routes, host: host, port: port, addresses: known)))
    }

    /// The engine that the stream reads and writes, once open.
    var engine: Engine? { state.withLock { $0.engine } }

    var waitPoint: WaitPoint {
        let (point, isSettled) = state.withLock { state -> (WaitPoint, Bool) in
            switch state.phase {
            case .deciding, .lookingUp, .failed: (ownPoint, state.lookupResult != nil)
            case .connecting:
                // It may have opened since the last check. In that case no further signal arrives.
                (
                    state.connection?.pointForLayers(.reader) ?? ownPoint,
                    state.connection?.settledStatus(.reader) != .opening
                )
            case .securing(_, _, let tls, _): (tls.waitPoint, false)
            case .conversing(_, _, let tunnel, _): (tunnel.waitPoint, false)
            case .securingTarget(_, let tls, _): (tls.waitPoint, false)
            case .open: (state.engine?.waitPoint ?? ownPoint, false)
            }
        }
        if isSettled { point.signal([.readable, .writable]) }
        return point
    }

    // MARK: Opening

    func tryOpen() throws(StreamError) -> OpenAttempt {
        while true {
            let phase = state.withLock { $0.phase }
            let interest: Interest? =
                switch phase {
                case .deciding: try decide()
                case .lookingUp(_, let step): finishLookup(step)
                case .connecting(let plan): try connect(plan)
                case .securing(let plan, let hop, let tls, let step): try secure(plan, hop, tls, step)
                case .conversing(let plan, let hop, let tunnel, let step): try converse(plan, hop, tunnel, step)
                case .securingTarget(let plan, let tls, let step): try secureTarget(plan, tls, step)
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
        case .take(let plan):
            try beginRoute(plan)
        }
        return nil
    }

    private func beginRoute(_ plan: ProxyRouteMachine.Plan) throws(StreamError) {
        startTimer()
        var own = properties
        own[.proxies] = nil
        own[.socksProxy] = nil
        own[.readLimit] = nil
        own[.writeLimit] = nil
        own[.remoteHost] = nil
        let deadline = state.withLock { $0.deadline }
        own[.openLimit] = deadline.map { max(.milliseconds(1), Moment.now.duration(to: $0)) } ?? .zero
        own[.tls] = plan.route.hops.first?.tls
        let target = plan.route.hops.first.map { Endpoint.host($0.host, port: $0.port) } ?? endpoint
        let connection = Connection(to: target, own, loop: ownPoint.loop)
        state.withLock { state in
            state.connection = connection
            state.connectionBegan = .now
            state.phase = .connecting(plan)
        }
        // An immediate failure is seen by the next check of the connection.
        do throws(StreamError) {
            try connection.open(.reader)
            try connection.open(.writer)
        } catch {}
    }

    private func connect(_ plan: ProxyRouteMachine.Plan) throws(StreamError) -> Interest? {
        guard let connection = state.withLock({ $0.connection }) else { throw .closed }
        switch connection.settledStatus(.reader) {
        case .opening: return [.readable, .writable]
        case .open:
            state.withLock { state in
                state.reportConnection()
                state.engine = .other(ConnectionTransport(connection))
            }
            try addLayer(plan, for: 0, isSecured: true)
        default: abandonRoute(connection.error(.reader) ?? .closed, at: nil, nil)
        }
        return nil
    }

    /// Adds the next layer: TLS to a proxy, then the conversation with it; after the last proxy, TLS to the target.
    private func addLayer(_ plan: ProxyRouteMachine.Plan, for hop: Int, isSecured: Bool = false) throws(StreamError) {
        guard let engine = state.withLock({ $0.engine }) else { throw .closed }
        let route = plan.route.isDirect ? nil : plan.route.description
        guard hop < plan.route.hops.count else {
            guard let configuration = properties[.tls] else { return settle(.open(plan.route)) }
            try beginTLS(configuration, host, port, over: engine, through: route) {
                .securingTarget(plan, $0, step: $1)
            }
            return
        }
        let proxy = plan.route.hops[hop]
        if !isSecured, let configuration = proxy.tls {
            return try beginTLS(configuration, proxy.host, proxy.port, over: engine, through: route) {
                .securing(plan, hop: hop, $0, step: $1)
            }
        }
        let tunnel = TunnelTransport(plan.machines[hop], over: engine)
        state.withLock { state in
            let step = state.recorder.begin(.proxy(proxy.kind, proxy.hostAndPort), now: .now)
            state.phase = .conversing(plan, hop: hop, tunnel, step: step)
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
        _ plan: ProxyRouteMachine.Plan, _ hop: Int, _ tunnel: TunnelTransport, _ step: Int
    ) throws(StreamError) -> Interest? {
        do throws(StreamError) {
            defer { addProperties(tunnel.properties) }
            if case .wouldBlock(let interest) = try tunnel.tryOpen() {
                return try interestBeforeDeadline(interest, "waiting for the proxy \(plan.route.hops[hop].hostAndPort)")
            }
        } catch {
            end(step, .failed(error))
            abandonRoute(error, at: hop, tunnel.refusal)
            return nil
        }
        end(step, .succeeded(tunnel.summary ?? ""))
        if tunnel.hasSurplus { state.withLock { $0.engine = .other(tunnel) } }
        try addLayer(plan, for: hop + 1)
        return nil
    }

    private func secure(
        _ plan: ProxyRouteMachine.Plan, _ hop: Int, _ tls: TLSTransport, _ step: Int
    ) throws(StreamError) -> Interest? {
        do throws(StreamError) {
            if case .wouldBlock(let interest) = try tls.tryOpen() {
                return try interestBeforeDeadline(
                    interest, "waiting for the TLS handshake with \(plan.route.hops[hop].hostAndPort)")
            }
        } catch {
            end(step, .failed(error))
            abandonRoute(error, at: nil, nil)
            return nil
        }
        end(step, .succeeded(tls.summary))
        state.withLock { $0.engine = .tls(tls) }
        try addLayer(plan, for: hop, isSecured: true)
        return nil
    }

    /// A target that cannot be trusted is not tried over another route.
    private func secureTarget(
        _ plan: ProxyRouteMachine.Plan, _ tls: TLSTransport, _ step: Int
    ) throws(StreamError) -> Interest? {
        do throws(StreamError) {
            if case .wouldBlock(let interest) = try tls.tryOpen() {
                return try interestBeforeDeadline(interest, "waiting for the TLS handshake")
            }
        } catch {
            end(step, .failed(error))
            settle(.failed(error))
            throw error
        }
        end(step, .succeeded(tls.summary))
        state.withLock { $0.engine = .tls(tls) }
        settle(.open(plan.route))
        return nil
    }

    // MARK: Failing and closing

    private func abandonRoute(_ error: StreamError, at hop: Int?, _ refusal: TunnelRefusal?) {
        let connection = state.withLock { state -> Connection? in
            state.machine.failed(error, at: hop, refusal)
            state.phase = .deciding
            state.engine = nil
            return state.takeConnection()
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
                unwanted = state.takeConnection()
            }
            return (state.timer.take(), unwanted)
        }
        timer?.cancel()
        unwanted.map(ProxiedOpening.drop)
        logSteps(ended)
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
        ownPoint.signal([.readable, .writable])
    }

    // MARK: Time

    /// Starts a route's share of the time.
    private func startTimer() {
        guard let limit else { return }
        let now = Moment.now
        let old = state.withLock { state -> LoopTimer? in
            let deadline = now + now.duration(to: limit) / max(1, state.machine.remainingRoutes)
            state.deadline = deadline
            let timer = ownPoint.loop.schedule(at: deadline) { [weak self] in
                self?.waitPoint.signal([.readable, .writable])
            }
            defer { state.timer = timer }
            return state.timer
        }
        old?.cancel()
    }

    private func interestBeforeDeadline(_ interest: Interest, _ step: String) throws(StreamError) -> Interest {
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
                    state.withLock { $0.lookupResult = result }
                    ownPoint.signal(.readable)
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
        guard let lookupResult = state.withLock({ $0.lookupResult.take() }) else { return .readable }
        switch lookupResult {
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

    // MARK: Report and properties

    private func end(_ step: Int, _ outcome: ConnectionReport.Outcome) {
        if state.withLock({ $0.recorder.end(step, outcome, now: .now) }) { logSteps([step]) }
    }

    /// Logs the steps of the opening itself; the connection to the first proxy logs its own steps.
    @inline(__always)
    private func logSteps(_ steps: [Int]) {
        #if Logging
        guard let logger = properties[.logger] else { return }
        state.withLock { steps.map($0.recorder.step) }.forEach { $0.log(to: logger) }
        #endif
    }

    private func addProperties(_ properties: StreamProperties) {
        state.withLock { $0.conversationProperties.merge(properties) }
    }

    func property(named name: String) -> (any Sendable)? {
        let (phase, engine, conversationProperties) = state.withLock {
            ($0.phase, $0.engine, $0.conversationProperties)
        }
        switch name {
        case StreamProperty<ConnectionReport>.report.name:
            return state.withLock { state in
                var state = state  // the connection's steps change while it opens
                state.reportConnection()
                return state.recorder.report
            }
        case StreamProperty<ProxyRoute>.proxyRoute.name:
            if case .open(let route) = phase { return route } else { return nil }
        default:
            if let value = conversationProperties.value(named: name) { return value }
            guard case .open = phase else { return nil }
            return engine?.transport.property(named: name)
        }
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try engine?.transport.setProperty(value, named: name) ?? false
    }

    // MARK: The open transport, for callers without the engine

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard let engine else { throw .closed }
        return try engine.tryRead(into: &buffer)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        guard let engine else { throw .closed }
        return try engine.tryWrite(bytes)
    }

    func peek() throws(StreamError) -> Attempt {
        guard let engine else { throw .closed }
        return try engine.transport.peek()
    }

    func writability() throws(StreamError) -> Attempt {
        guard let engine else { throw .closed }
        return try engine.transport.writability()
    }
}
