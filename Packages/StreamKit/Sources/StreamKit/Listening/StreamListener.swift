@_spi(Packages) public import EventLoops
internal import Glibc
public import HostResolver

/// A stream server: listens for connections and runs a handler for each, in a separate task.
///
/// ```swift
/// let listener = try StreamListener(port: 7)
/// try await listener.run { client in
///     for try await chunk in client.input.chunks() { try await client.output.writeAll(chunk) }
/// }
/// ```
///
/// With ``Configuration/tls``, handshakes run concurrently, so that a slow or silent client delays no other. The
/// handler runs only for connections whose handshake succeeds, and finds the result in
/// ``StreamProperty/tlsInformation``. Handlers run on the threads of ``Configuration/loops``, where waiting for the
/// network costs least. They should not compute for long.
///
/// ``stop(within:)`` shuts the listener down gracefully. For one thread per connection, use `Socket.listeners`,
/// `accept()` and `makeStreams()` instead. Replaces the combination of `CFSocket` and `CFStreamCreatePairWithSocket`.
public final class StreamListener: Sendable {
    private struct State {
        var isRunning = false
        var isStopping = false
        var nextLoop = 0
        var graceTimer: LoopTimer?
        /// The TLS of the next connections.
        var tls: TLSConfiguration?
        /// Whether a shortage has been reported since the listener last had half of its places free.
        var hasReportedShortage = false
    }

    /// The configuration in effect.
    public let configuration: Configuration

    private let sockets: [Socket]
    /// A permit for each connection.
    private let slots: AsyncSemaphore
    private let connections: ServedConnections
    private let state: Locked<State>
    private let graceIsOver = OneShot<Void>()

    /// Listens on a TCP port, on IPv6 and IPv4 if the machine has both. Clients can connect from now on; ``run(_:)``
    /// serves them.
    ///
    /// - Parameters:
    ///   - port: the port; 0 selects a free one, which ``port`` then returns.
    ///   - isLocal: whether to listen on the loopback addresses only.
    ///   - configuration: TLS, limits, and the loops that serve.
    /// - Throws: `EADDRINUSE`; `EACCES` for a port below 1024; ``TLSFailure/badConfiguration`` if ``Configuration/tls``
    ///   cannot work with any client. Trusted certificates are not read yet: see ``run(_:)``.
    public convenience init(
        port: UInt16, isLocal: Bool = false, configuration: Configuration = Configuration()
    ) throws(StreamError) {
        let sockets = try Socket.listeners(
            onPort: port, isLocal: isLocal, backlog: configuration.backlog, loop: configuration.loops[0])
        try self.init(sockets: sockets, configuration: configuration)
    }

    /// Listens at a TCP address or a Unix socket.
    ///
    /// - Throws: as `Socket.bind(to:)`; ``TLSFailure/badConfiguration`` as for a port.
    public convenience init(
        address: SocketAddress, configuration: Configuration = Configuration()
    ) throws(StreamError) {
        let socket = try Socket(
            listeningAt: address, backlog: configuration.backlog, loop: configuration.loops[0])
        try self.init(sockets: [socket], configuration: configuration)
    }

    /// Adopts sockets that are already listening, such as those that a service manager passes to the process.
    ///
    /// - Throws: ``TLSFailure/badConfiguration`` as for a port; `EINVAL` for a property that an
    ///   accepted connection does not honour.
    public init(sockets: [Socket], configuration: Configuration = Configuration()) throws(StreamError) {
        precondition(!configuration.loops.isEmpty, "StreamListener: loops must not be empty")
        let configuration = configuration.settled
        if let tls = configuration.tls { try StreamListener.check(tls) }
        if let refusal = StreamKind.accepted.refusal(of: configuration.properties) { throw refusal }
        self.configuration = configuration
        self.sockets = sockets
        state = Locked(State(tls: configuration.tls))
        slots = AsyncSemaphore(configuration.maximumConnections)
        connections = ServedConnections(configuration)
    }

    deinit {
        for socket in sockets { socket.invalidate() }
    }

    /// The addresses where the listener listens; empty once stopped.
    public var addresses: [SocketAddress] { sockets.compactMap(\.localAddress) }

    /// The port of the first address; nil for a Unix socket, and once stopped.
    public var port: UInt16? { addresses.first?.port }

    /// The number of open connections, including those whose handshake is in progress.
    public var connectionCount: Int {
        // While the listener waits for a client, it holds no slot.
        configuration.maximumConnections - slots.available
    }

    /// True after ``stop(within:)``: handlers should end soon.
    public var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Replaces the TLS configuration of the connections that are accepted from now on, for instance with a renewed certificate.
    ///
    /// ```swift
    /// var configuration = StreamListener.Configuration()
    /// configuration.tls = try await TLSConfiguration(server: .read(file: "server.pem"))
    /// let listener = try StreamListener(port: 993, configuration: configuration)
    /// // The certificate has been renewed:
    /// try await listener.reload(tls: TLSConfiguration(server: .read(file: "server.pem")))
    /// ```
    ///
    /// Connections that exist keep theirs. ``configuration`` still has the first one. Certificates that clients are verified by are
    /// read on another thread, within ``Configuration/handshakeTimeout``.
    ///
    /// - Throws: ``TLSFailure/badConfiguration`` if it cannot work; the errors of the files with trusted certificates; `EINVAL` if the
    ///   listener has no TLS. The previous configuration then remains in effect.
    public nonisolated(nonsending) func reload(tls: TLSConfiguration) async throws(StreamError) {
        try checkReload(of: tls)
        try await prepare(tls)
        state.withLock { $0.tls = tls }
    }

    /// As the asynchronous function, but reads the certificates on the calling thread, without a time limit.
    @available(*, noasync, message: "reads files on the calling thread; use await")
    public func reload(tls: TLSConfiguration) throws(StreamError) {
        try checkReload(of: tls)
        _ = try TLSContextCache.shared.context(for: tls)
        state.withLock { $0.tls = tls }
    }

    private func checkReload(of tls: TLSConfiguration) throws(StreamError) {
        guard configuration.tls != nil else { throw StreamError(posix: EINVAL, .listenerWithoutTLS) }
        try StreamListener.check(tls)
    }

    /// Fails now rather than when the first client connects.
    private static func check(_ tls: TLSConfiguration) throws(StreamError) {
        guard tls.role == .server else { throw StreamError(.badConfiguration, .serverWithoutIdentity()) }
        try TLSContext.check(tls)
    }

    /// Reads the certificates that clients are verified by.
    private nonisolated(nonsending) func prepare(_ tls: TLSConfiguration) async throws(StreamError) {
        if TLSContextCache.shared.existing(for: tls) != nil { return }
        let limit = configuration.handshakeTimeout
        _ = try await ContextPreparation.context(
            for: tls, until: limit > .zero ? .now + limit : nil, loop: configuration.loops[0])
    }
}

// MARK: - Running

extension StreamListener {
    /// Serves clients until ``stop(within:)`` is called or the task is cancelled; returns when the last handler has
    /// returned.
    ///
    /// The streams passed to the handler are open. They are closed when the handler returns or its task is cancelled. A listener that
    /// verifies its clients begins to read the trusted certificates at once, on another thread.
    ///
    /// - Parameter handler: serves one client; runs concurrently for several clients. Its error ends the connection, and no other
    ///   client is affected; a ``StreamError`` is reported to ``Configuration/onFailure``.
    /// - Throws: the error that ended a listening socket; the error of trusted certificates that cannot be read;
    ///   ``StreamError/busy`` if the listener is already running;
    ///   ``StreamError/closed`` if it was stopped. Failures of single connections are reported only to
    ///   ``Configuration/onFailure``.
    public func run(
        _ handler: @escaping @Sendable (StreamPair) async throws -> Void
    ) async throws(StreamError) {
        try await serve { connection in
            if connection.change(to: .busy) { try await handler(connection.pair) }
        }
    }

    /// As ``run(_:)``, for a handler that tells the listener when its connection may be closed for the sake of other clients.
    ///
    /// - Throws: as ``run(_:)``.
    @_spi(Packages) public func serve(
        _ handler: @escaping @Sendable (ServedConnection) async throws -> Void
    ) async throws(StreamError) {
        let problem = state.withLock { state -> StreamError? in
            if state.isStopping { return .closed }
            if state.isRunning { return .busy }
            state.isRunning = true
            return nil
        }
        if let problem { throw problem }
        let error = await withTaskCancellationHandler {
            await acceptFromAll(handler)
        } onCancel: {
            stop(within: .zero)
        }
        if let error { throw error }
    }

    /// Stops accepting connections, and closes those that are idle or in their TLS handshake; ``run(_:)``
    /// returns when the handlers have returned. Idempotent.
    ///
    /// A handler whose streams were closed at the end of the grace finds `Task.isCancelled` true; that of a handler that has closed
    /// its own streams is false. The error of both is ``StreamError/closed``.
    ///
    /// - Parameter grace: how long handlers may continue; then their tasks are cancelled and their streams closed. Nil
    ///   for no limit. A later call can shorten the time.
    public func stop(within grace: Duration? = nil) {
        let old = state.withLock { state -> LoopTimer? in
            state.isStopping = true
            guard let grace else { return nil }
            let deadline = Moment.now + grace
            if let timer = state.graceTimer, timer.deadline <= deadline { return nil }
            let old = state.graceTimer
            state.graceTimer = configuration.loops[0].schedule(at: deadline) { [graceIsOver] in
                graceIsOver.provide(())
            }
            return old
        }
        old?.cancel()
        slots.close()
        for socket in sockets { socket.invalidate() }
        connections.stop()
    }

    private enum Outcome: Sendable {
        /// A listening socket has ended, with its error, and all its handlers have returned.
        case done(StreamError?)
        case graceIsOver
        /// The trusted certificates are read, or have this error.
        case prepared(StreamError?)
    }

    private func acceptFromAll(_ handler: @escaping @Sendable (ServedConnection) async throws -> Void) async
        -> StreamError?
    {
        let error = await withTaskGroup(of: Outcome.self) { group in
            for index in sockets.indices {
                group.addTask(executorPreference: configuration.loops[0]) {
                    .done(await self.acceptAll(from: index, handler))
                }
            }
            if let tls = configuration.tls {
                group.addTask {
                    do throws(StreamError) {
                        try await self.prepare(tls)
                        return .prepared(nil)
                    } catch {
                        return .prepared(error == .cancelled ? nil : error)
                    }
                }
            }
            group.addTask {
                try? await self.graceIsOver.value()  // a cancelled task ends the handlers, too
                return .graceIsOver
            }
            var remaining = sockets.count
            var first: StreamError?
            while remaining > 0, let outcome = await group.next() {
                switch outcome {
                case .done(let error), .prepared(let error):
                    if case .done = outcome { remaining -= 1 }
                    if first == nil, let error {
                        first = error
                        stop(within: .zero)
                    }
                case .graceIsOver: group.cancelAll()
                }
            }
            graceIsOver.provide(())
            group.cancelAll()  // the certificates are no longer needed
            return first
        }
        state.withLock { $0.graceTimer.take() }?.cancel()
        return error
    }

    /// Accepts from one socket until it is closed, then waits for the handlers.
    private func acceptAll(
        from index: Int, _ handler: @escaping @Sendable (ServedConnection) async throws -> Void
    ) async -> StreamError? {
        let socket = sockets[index]
        return await withDiscardingTaskGroup { group in
            while true {
                do throws(StreamError) {
                    guard let accepted = try await socket.accept(into: slots, makingRoom: { noRoom(at: index) }) else {
                        return nil
                    }
                    let loop = nextLoop()
                    var properties = configuration.properties
                    if configuration.tls != nil { properties[.tls] = state.withLock { $0.tls } }
                    properties[.openTimeout] = configuration.handshakeTimeout
                    let pair = StreamPair(accepted, properties, loop: loop)
                    let open = OpenConnection(pair)
                    guard let number = connections.add(open, from: accepted.peer, at: index) else {
                        refuse(pair, accepted.peer)
                        continue
                    }
                    let connection = ServedConnection(open, number, of: connections)
                    group.addTask(executorPreference: loop) { await self.serve(connection, accepted.peer, handler) }
                    if DescriptorReserve.contains(accepted.descriptor) {
                        await waitForDescriptors(StreamError(posix: EMFILE, .descriptorsReserved), at: index)
                    }
                } catch  where error == .closed || error == .cancelled {
                    return nil
                } catch  where AcceptFailure(Int32(truncatingIfNeeded: error.code)) == .scarcity {
                    await waitForDescriptors(error, at: index)
                } catch {
                    return error
                }
            }
        }
    }

    /// Makes room for a client that is waiting, because the maximum of connections is reached.
    private func noRoom(at index: Int) {
        reportShortage(StreamError(posix: EAGAIN, .listenerFull(configuration.maximumConnections)))
        connections.makeRoom(at: index)
    }

    /// Closes connections that wait for their clients, and pauses until descriptors are free: the clients wait in the kernel's queue
    /// meanwhile, and an immediate retry would spin.
    private func waitForDescriptors(_ error: StreamError, at index: Int) async {
        reportShortage(error)
        repeat {
            connections.makeRoom(at: index)
            await AcceptedSockets.pause(on: sockets[index].point.loop)
        } while DescriptorReserve.isTouched && !isStopping && !Task.isCancelled
        connections.endDemand(at: index)
    }

    /// Reports that clients must wait, once until half of the places are free.
    private func reportShortage(_ error: StreamError) {
        let isReported = state.withLock { state in
            defer { state.hasReportedShortage = true }
            return state.hasReportedShortage
        }
        if !isReported { configuration.onFailure?(error, nil) }
    }

    /// Closes a connection that exceeds the maximum of its client.
    private func refuse(_ pair: StreamPair, _ peer: SocketAddress?) {
        pair.close()
        slots.signal()
        if !isStopping { configuration.onFailure?(StreamError(posix: EAGAIN, .clientFull), peer) }
    }

    private func serve(
        _ connection: ServedConnection, _ peer: SocketAddress?,
        _ handler: @Sendable (ServedConnection) async throws -> Void
    ) async {
        let pair = connection.pair
        await withTaskCancellationHandler {
            await connection.run {
                do {
                    try pair.open()
                    if configuration.tls != nil { try await pair.output.opened() }
                    try await handler(connection)
                } catch let error as StreamError {
                    if error != .cancelled, error != .closed { configuration.onFailure?(error, peer) }
                } catch {}  // an error of the program's own, which its handler can report itself
            }
        } onCancel: {
            pair.close()
        }
        pair.close()
        connection.remove()
        slots.signal()
        if slots.available > configuration.maximumConnections / 2 {
            state.withLock { $0.hasReportedShortage = false }
        }
    }

    private func nextLoop() -> EventLoop {
        let loops = configuration.loops
        if loops.count == 1 { return loops[0] }
        return state.withLock { state in
            state.nextLoop = (state.nextLoop + 1) % loops.count
            return loops[state.nextLoop]
        }
    }
}

extension StreamListener {
    /// The settings of a listener. The default limits keep any client from shutting out the others.
    public struct Configuration: Sendable {
        /// TLS for every connection, made with `TLSConfiguration(server:)`. Default nil: no TLS. `StreamListener.reload(tls:)`
        /// replaces it later.
        public var tls: TLSConfiguration?

        /// The longest time that a client may take for the handshake. Default 10 s; zero for no limit.
        public var handshakeTimeout: Duration = .seconds(10)

        /// The most connections at once, including those whose handshake is in progress. Default 4096; a number below 1
        /// counts as 1.
        ///
        /// A listener never has more connections than the process has descriptors (`ulimit -n`) outside of the `DescriptorReserve`
        /// when the listener is made; ``StreamListener/configuration`` then has the smaller number. Further clients wait in the
        /// kernel's queue until a connection ends. They also wait there while the process has no descriptors left. In both cases
        /// the connection that has waited longest for its client is closed, and ``onFailure`` is told.
        public var maximumConnections = 4096

        /// The most connections of one client at once: of an IPv4 address, or of the IPv6 addresses that share their first 64 bits.
        /// Further ones are closed as soon as they are accepted. Default nil: no limit, since many users may share the address of
        /// a proxy or a router.
        public var maximumConnectionsPerAddress: Int?

        /// The time for which a connection may wait for its client before it can be closed for another one, if
        /// ``maximumConnections`` is reached, and then the time for its handler to return. Default 1 s.
        public var minimumWait: Duration = .seconds(1)

        /// The most clients that wait in the kernel's queue; further clients are refused or must retry. Default: that
        /// of ``Socket``.
        public var backlog: Int32 = Socket.defaultBacklog

        /// Properties of every connection: time limits, keep-alive, delay, service type. The
        /// listener's initializer throws if such a connection does not honour one of them.
        ///
        /// ``StreamProperty/tls`` is used if ``tls`` is nil, and ``StreamProperty/openTimeout`` replaces
        /// ``handshakeTimeout``.
        public var properties = StreamProperties()

        /// The loops whose threads serve the clients, in turn. Must not be empty. Default: the shared loop.
        ///
        /// One thread serves thousands of clients. Further threads help handlers that compute, as TLS does.
        public var loops: [EventLoop] = [.shared]

        /// Called for each connection that fails, during the handshake, because its handler throws a ``StreamError``, or because
        /// its client has too many, with the peer's address; not when the connection was closed here. Also called, with a nil
        /// address, when clients must wait because the maximum of connections is reached or no descriptors are left: once until
        /// half of the connections have ended. Runs on a loop's thread.
        public var onFailure: (@Sendable (StreamError, SocketAddress?) -> Void)?

        /// Makes a configuration with the defaults stated at each property.
        public init() {}
    }
}

extension StreamListener.Configuration {
    /// The configuration in effect: with ``properties`` merged into the members that they replace.
    var settled: Self {
        var settled = self
        settled.tls = tls ?? properties[.tls]
        let limit = properties.value(named: StreamProperty<Duration>.openTimeout.name) as? Duration
        settled.handshakeTimeout = limit ?? handshakeTimeout
        settled.maximumConnections = max(1, min(maximumConnections, DescriptorReserve.unreservedCount()))
        return settled
    }
}

extension StreamPair {
    /// Makes streams on an accepted connection.
    init(_ accepted: Socket.Accepted, _ properties: StreamProperties, loop: EventLoop) {
        let connection = Connection(
            adopting: accepted.descriptor, as: .accepted, ownership: .owned, properties, loop: loop)
        let options = ConnectingSocket.Options(
            sendsAtOnce: properties[.sendsAtOnce] ?? true, keepsAlive: properties[.keepsAlive] ?? false,
            serviceType: properties[.serviceType])
        ConnectingSocket.configure(accepted.descriptor, options, family: accepted.peer?.family ?? AF_UNSPEC)
        self.init(connection)
    }
}
