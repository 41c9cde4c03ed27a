@_spi(Packages) internal import EventLoops
internal import Glibc
internal import HostResolver
internal import StreamProxies

/// Opens a connection through proxies: to the first one, through each of them, and TLS to the target at the end.
///
/// Theory of operation. ``ProxyRouteMachine`` chooses the route, and this value performs it. Each attempt has a
/// connection of its own to its first proxy, opened like any other (addresses raced, TLS to the proxy), so that a
/// failed attempt leaves nothing behind. The layers are stacked on that connection, one for each proxy; the last one
/// becomes the engine of the stream. Every route has an equal share of the remaining time, so that a proxy that does not
/// answer leaves time for the others.
struct ProxiedOpening: OpeningWork {
    private enum Phase {
        case deciding
        case lookingUp(Lookup)
        case connecting
        /// The context of TLS to the proxy with this index, or to the target.
        case preparing(ContextPreparation, hop: Int?, step: Int)
        /// TLS to the proxy with this index, through those before it; nil for TLS to the target.
        case securing(TLSTransport, hop: Int?, step: Int)
        case conversing(TunnelTransport, hop: Int, step: Int)
    }

    private struct Lookup {
        let name: String
        let answers: Mailbox<AddressEvent>
        let token: LookupToken
        /// The index of the step in the report.
        let step: Int
        var found: [IPAddress] = []
    }

    /// The route that is being tried.
    private struct Route {
        let plan: ProxyRouteMachine.Plan
        /// The connection to the first proxy.
        let connection: Connection
        /// When the route must be open; nil for no limit.
        let deadline: Moment?
        /// The topmost layer so far.
        var engine: any StreamTransport

        var hops: [any StreamProxy] { plan.route.hops }
        /// The route as part of the key of TLS sessions.
        var description: String? { plan.route.isDirect ? nil : plan.route.description }
    }

    private let endpoint: Endpoint
    private let host: String
    private let port: UInt16
    private let properties: StreamProperties
    private let resolver: any Resolver
    private let limit: Moment?
    private var machine: ProxyRouteMachine
    private var phase = Phase.deciding
    private var route: Route?

    /// - Parameters:
    ///   - endpoint: the target.
    ///   - routes: at least one.
    ///   - properties: those of the stream.
    init(to endpoint: Endpoint, through routes: [ProxyRoute], _ properties: StreamProperties) throws(StreamError) {
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
        let longest = properties[.openTimeout] ?? .zero
        limit = longest > .zero ? .now + longest : nil
        machine = ProxyRouteMachine(routes, host: host, port: port, addresses: known)
    }

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        do throws(StreamError) {
            while true {
                let next: OpeningStep? =
                    switch phase {
                    case .deciding: try decide(connection)
                    case .lookingUp(let lookup): try finishLookup(lookup, connection)
                    case .connecting: try connect(connection)
                    case .preparing(let preparation, let hop, let step):
                        try prepare(preparation, hop, step, connection)
                    case .securing(let tls, let hop, let step): try secure(tls, hop, step, connection)
                    case .conversing(let tunnel, let hop, let step): try converse(tunnel, hop, step, connection)
                    }
                if let next { return next }
            }
        } catch {
            abandon(connection)
            throw error
        }
    }

    mutating func abandon(_ connection: Connection) {
        if case .lookingUp(let lookup) = phase { lookup.token.cancel() }
        if case .preparing(let preparation, _, _) = phase { preparation.abandon() }
        phase = .deciding
        dropRoute(connection)
    }

    // MARK: Routes

    /// Begins the next route, or the lookup that it needs.
    private mutating func decide(_ connection: Connection) throws(StreamError) -> OpeningStep? {
        switch machine.next() {
        case .failed(let error): throw error
        case .lookUp(let name, let families): beginLookup(name, families, connection)
        case .take(let plan): begin(plan, connection)
        }
        return nil
    }

    private mutating func begin(_ plan: ProxyRouteMachine.Plan, _ connection: Connection) {
        let now = Moment.now
        let deadline = limit.map { now + now.duration(to: $0) / max(1, machine.remainingRoutes) }
        var own = properties
        own[.proxies] = nil
        own[.socksProxy] = nil
        own[.readTimeout] = nil
        own[.writeTimeout] = nil
        own[.remoteHost] = nil
        own[.openTimeout] = deadline.map { max(.milliseconds(1), now.duration(to: $0)) } ?? .zero
        own[.tls] = plan.route.hops.first?.tls
        let target = plan.route.hops.first.map { Endpoint.host($0.host, port: $0.port) } ?? endpoint
        let lower = Connection(to: target, own, toProxy: true, loop: connection.point.loop)
        connection.setLower(lower, at: now)
        route = Route(plan: plan, connection: lower, deadline: deadline, engine: lower)
        phase = .connecting
        // The next check of the connection sees an immediate failure.
        do throws(StreamError) {
            try lower.open(.reader)
            try lower.open(.writer)
        } catch {}
    }

    private mutating func connect(_ connection: Connection) throws(StreamError) -> OpeningStep? {
        guard let lower = route?.connection else { throw .closed }
        let point = lower.pointToWaitOrRetry(.reader)
        switch StreamSide(lower, .reader).settledStatus {
        case .opening: return .wait(.init(points: [.init(point, .reader, for: [.readable, .writable])], deadline: nil))
        case .open:
            connection.endLower()
            return try addLayer(for: 0, isTLSOpen: true, connection)
        default:
            var error = lower.error(.reader) ?? .closed
            if let proxy = route?.hops.first, proxy.isHTTP {
                error = error.with([.unreachableProxy: .text(proxy.hostAndPort)])
            }
            abandonRoute(error, at: nil, nil, connection)
            return nil
        }
    }

    /// Adds the next layer: TLS to a proxy, then the conversation with it; after the last proxy, TLS to the target.
    ///
    /// - Parameter isTLSOpen: whether the topmost layer is TLS to this proxy, if it requires TLS.
    private mutating func addLayer(
        for hop: Int, isTLSOpen: Bool = false, _ connection: Connection
    ) throws(StreamError) -> OpeningStep? {
        guard let route else { throw .closed }
        guard hop < route.hops.count else {
            guard let configuration = properties[.tls] else { return finish(connection) }
            try beginTLS(configuration, hop: nil, connection)
            return nil
        }
        let proxy = route.hops[hop]
        if !isTLSOpen, let configuration = proxy.tls {
            try beginTLS(configuration, hop: hop, connection)
            return nil
        }
        func property<Value>(_ property: StreamProperty<Value>) -> Value? {
            if proxy.tls == nil { return nil }
            let name = property.name
            return (hop == 0 ? route.connection.value(named: name) : route.engine.property(named: name)) as? Value
        }
        let tunnel = TunnelTransport(
            route.plan.machines[hop], over: route.engine, tls: property(.tlsInformation),
            boundBy: property(.serverEndPointBinding))
        let step = connection.beginStep(.proxy(proxy.kind, proxy.hostAndPort))
        phase = .conversing(tunnel, hop: hop, step: step)
        return nil
    }

    /// Ends opening: the topmost layer becomes the engine of the stream.
    private mutating func finish(_ connection: Connection) -> OpeningStep? {
        guard let route = route.take() else { return nil }
        connection.withDetails { $0.properties[.proxyRoute] = route.plan.route }
        return .opened(route.engine)
    }

    private mutating func abandonRoute(
        _ error: StreamError, at hop: Int?, _ refusal: TunnelRefusal?, _ connection: Connection
    ) {
        machine.failed(error, at: hop, refusal)
        phase = .deciding
        dropRoute(connection)
    }

    private mutating func dropRoute(_ connection: Connection) {
        guard let route = route.take() else { return }
        route.connection.close()
        connection.endLower()
    }

    // MARK: Layers

    private mutating func beginTLS(
        _ configuration: TLSConfiguration, hop: Int?, _ connection: Connection
    ) throws(StreamError) {
        let step = connection.beginStep(.tls(hop.flatMap { route?.hops[$0].host } ?? host))
        guard let context = TLSContextCache.shared.existing(for: configuration) else {
            let preparation = ContextPreparation(configuration, loop: connection.point.loop)
            phase = .preparing(preparation, hop: hop, step: step)
            return
        }
        do throws(StreamError) {
            try beginHandshake(configuration, context, hop, step)
        } catch {
            connection.endStep(step, .failed(error))
            throw error
        }
    }

    private mutating func beginHandshake(
        _ configuration: TLSConfiguration, _ context: TLSContext, _ hop: Int?, _ step: Int
    ) throws(StreamError) {
        guard let route else { throw .closed }
        let proxy = hop.map { route.hops[$0] }
        let tls = try TLSTransport(
            configuration, peerName: proxy?.host ?? host, port: proxy?.port ?? port, through: route.description,
            over: route.engine, context: context)
        phase = .securing(tls, hop: hop, step: step)
    }

    /// Waits for the context of the handshake.
    private mutating func prepare(
        _ preparation: ContextPreparation, _ hop: Int?, _ step: Int, _ connection: Connection
    ) throws(StreamError) -> OpeningStep? {
        let deadline = route?.deadline
        do throws(StreamError) {
            guard let context = try preparation.context(until: deadline) else {
                return .wait(.init(points: [preparation.readiness], deadline: deadline))
            }
            try beginHandshake(preparation.configuration, context, hop, step)
        } catch {
            connection.endStep(step, .failed(error))
            guard hop != nil, error.isTimeout else { throw error }
            abandonRoute(error, at: nil, nil, connection)
        }
        return nil
    }

    /// Takes a step of the handshake. A target that cannot be trusted is not tried over another route.
    private mutating func secure(
        _ tls: TLSTransport, _ hop: Int?, _ step: Int, _ connection: Connection
    ) throws(StreamError) -> OpeningStep? {
        do throws(StreamError) {
            if case .wouldBlock(let interest) = try tls.tryOpen() {
                let peer = hop.flatMap { route?.hops[$0].hostAndPort }.map { " with \($0)" } ?? ""
                return try wait(at: tls, for: interest, "waiting for the TLS handshake\(peer)")
            }
        } catch {
            connection.endStep(step, .failed(error))
            guard hop != nil else { throw error }
            abandonRoute(error, at: nil, nil, connection)
            return nil
        }
        connection.endStep(step, .succeeded(tls.summary))
        route?.engine = tls
        if let hop { return try addLayer(for: hop, isTLSOpen: true, connection) }
        return finish(connection)
    }

    private mutating func converse(
        _ tunnel: TunnelTransport, _ hop: Int, _ step: Int, _ connection: Connection
    ) throws(StreamError) -> OpeningStep? {
        do throws(StreamError) {
            defer { connection.addProperties(tunnel.properties) }
            if case .wouldBlock(let interest) = try tunnel.tryOpen() {
                let proxy = route?.hops[hop].hostAndPort ?? ""
                return try wait(at: tunnel, for: interest, "waiting for the proxy \(proxy)")
            }
        } catch {
            connection.endStep(step, .failed(error))
            abandonRoute(error, at: hop, tunnel.refusal, connection)
            return nil
        }
        connection.endStep(step, .succeeded(tunnel.summary ?? ""))
        route?.engine = tunnel.engine
        return try addLayer(for: hop + 1, connection)
    }

    private func wait(
        at layer: any StreamTransport, for interest: Interest, _ activity: String
    ) throws(StreamError) -> OpeningStep {
        let deadline = route?.deadline
        if let deadline, deadline <= .now { throw StreamError(posix: ETIMEDOUT, .openTimedOut(activity)) }
        return .wait(.init(points: [.init(layer.waitPoint, .reader, for: interest)], deadline: deadline))
    }

    // MARK: Looking up

    private mutating func beginLookup(_ name: String, _ families: AddressFamilies, _ connection: Connection) {
        let step = connection.beginStep(.lookup(name))
        do throws(ResolverError) {
            let request = AddressRequest(try HostName(name), families: families, until: limit?.instant)
            let answers = Mailbox<AddressEvent>(limit: .max, loop: connection.point.loop)
            let token = resolver.start(request) { answers.put($0) }
            phase = .lookingUp(Lookup(name: name, answers: answers, token: token, step: step))
        } catch {
            lookupFailed(StreamError(error, name: name), step, connection)
        }
    }

    private mutating func finishLookup(_ lookup: Lookup, _ connection: Connection) throws(StreamError) -> OpeningStep? {
        var lookup = lookup
        for answer in lookup.answers.takeAll() {
            switch answer {
            case .batch(let batch): lookup.found += batch.addresses
            case .finished(nil):
                let count = lookup.found.count
                connection.endStep(lookup.step, .succeeded(count == 1 ? "1 address" : "\(count) addresses"))
                machine.found(lookup.found)
                phase = .deciding
                return nil
            case .finished(let error?):
                let failure = StreamError(error, name: lookup.name)
                lookupFailed(failure, hasNoData: error.code == .noData, lookup.step, connection)
                return nil
            }
        }
        phase = .lookingUp(lookup)
        if let limit, limit <= .now {
            lookup.token.cancel()
            lookupFailed(StreamError(posix: ETIMEDOUT, .openTimedOut("looking up the name")), lookup.step, connection)
            return nil
        }
        return .wait(.init(points: [.init(lookup.answers.point, .reader, for: .readable)], deadline: limit))
    }

    private mutating func lookupFailed(
        _ error: StreamError, hasNoData: Bool = false, _ step: Int, _ connection: Connection
    ) {
        connection.endStep(step, .failed(error))
        machine.lookupFailed(error, hasNoData: hasNoData)
        phase = .deciding
    }
}

// MARK: - What the connection shows of its opening

extension Connection {
    /// Adds the steps of a connection below, which begins to open, to the report.
    fileprivate func setLower(_ lower: Connection, at start: Moment) {
        withDetails { $0.openingPoint?.opening?.lower = .init(connection: lower, start: start) }
    }

    /// Keeps the steps of the connection below, which has been opened or has failed.
    fileprivate func endLower() {
        guard let lower = opening?.lower else { return }
        let steps = lower.connection.report.steps
        withDetails { details in
            details.recorder.join(steps, begun: lower.start)
            details.openingPoint?.opening?.lower = nil
        }
    }

    /// Adds the properties of a conversation with a proxy.
    fileprivate func addProperties(_ added: StreamProperties) {
        if added.isEmpty { return }
        withDetails { $0.properties.merge(added) }
    }
}
