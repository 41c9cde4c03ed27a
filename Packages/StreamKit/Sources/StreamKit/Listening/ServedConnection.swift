internal import EventLoops
internal import Glibc
internal import HostResolver

/// A connection of a ``StreamListener``. Its handler tells the listener when the connection waits for its client, and may be closed
/// for the sake of others.
///
/// ```swift
/// let listener = try StreamListener(port: 7)
/// try await listener.serve { connection in
///     var lines = connection.pair.input.lines(limit: 1000).makeAsyncIterator()
///     while let line = try await lines.next(), connection.change(to: .busy) {
///         try await connection.pair.output.writeAll(line + "\n")
///         guard connection.change(to: .idle) else { break }
///     }
/// }
/// ```
///
/// Once ``StreamListener/Configuration/maximumConnections`` is reached and another client waits, the connection that has waited
/// longest for its own client is closed, unless it is ``Activity/busy``, if it has waited for at least
/// ``StreamListener/Configuration/minimumWait``. A client that has itself waited for that long gets the place of the next connection that
/// would become idle. For each client that waits, one connection is closed, and its handler's task is cancelled; if the handler has not
/// returned within ``StreamListener/Configuration/minimumWait``, another connection is.
///
/// A new connection is idle, also during its TLS handshake. ``StreamListener/stop(within:)`` closes the idle connections whose clients
/// have sent nothing.
@_spi(Packages) public struct ServedConnection: Sendable {
    /// What a connection does.
    public enum Activity: Hashable, Sendable {
        /// It waits for a request of which nothing has arrived.
        case idle
        /// It waits for the rest of a request.
        case receiving
        /// It waits until its client takes more of a response.
        case sending
        /// It works for its client, and is never closed for the sake of others.
        case busy
    }

    /// The streams of the connection.
    public let pair: StreamPair
    private let number: ConnectionTable<OpenConnection>.Number
    private let task: HandlerTask
    private let connections: ServedConnections

    init(
        _ open: OpenConnection, _ number: ConnectionTable<OpenConnection>.Number, of connections: ServedConnections
    ) {
        pair = open.pair
        task = open.task
        self.number = number
        self.connections = connections
    }

    /// Makes a connection without a listener, for tests of handlers.
    public init(_ pair: StreamPair) {
        let connections = ServedConnections(StreamListener.Configuration())
        let open = OpenConnection(pair)
        self.init(open, connections.add(open, from: nil, at: 0) ?? 0, of: connections)
    }

    /// Tells the listener what the connection does next.
    ///
    /// - Returns: false if the handler must end instead: the connection is being closed, or the connection must not become idle,
    ///   because the listener is stopping or another client needs the place.
    public func change(to activity: Activity) -> Bool { connections.change(number, to: activity) }

    /// Whether the connection may become idle at present.
    public var mayBecomeIdle: Bool { connections.mayBecomeIdle }

    /// Runs the handler in the calling task, which is cancelled when the connection is closed for another client.
    func run(_ handler: () async -> Void) async {
        task.begin()
        await handler()
        task.end()
    }

    func remove() { connections.remove(number) }
}

/// A connection of the table, and the task of its handler.
struct OpenConnection {
    let pair: StreamPair
    let task = HandlerTask()

    init(_ pair: StreamPair) { self.pair = pair }

    /// Closes the connection for the sake of another client. A handler that waits for something else is told by its task.
    func close() {
        pair.close()
        task.cancel()
    }
}

/// The task of a handler, which another task or thread can cancel.
final class HandlerTask: @unchecked Sendable {
    // Unchecked: `state` is accessed only inside the lock. The task is used only in the state `running`, which the task itself ends, so
    // it exists. Cancelling it inside the lock calls the handlers of cancellation, none of which ends the state: the task does that in
    // a job of its own.

    private enum State {
        case waiting
        /// The connection was closed before the handler began.
        case cancelled
        case running(UnsafeCurrentTask)
        case ended
    }

    private let lock = Lock()
    private var state = State.waiting

    /// Records the calling task as the one that runs.
    func begin() {
        withUnsafeCurrentTask { task in
            guard let task else { return }
            let isCancelled = lock.withLock {
                if case .cancelled = state { return true }
                state = .running(task)
                return false
            }
            if isCancelled { task.cancel() }
        }
    }

    /// Ends the use of the task, which calls this itself.
    func end() { lock.withLock { state = .ended } }

    func cancel() {
        lock.withLock {
            switch state {
            case .waiting: state = .cancelled
            case .running(let task): task.cancel()
            case .cancelled, .ended: break
            }
        }
    }
}

/// The connections of a listener, and the closing of those that wait.
final class ServedConnections: Sendable {
    private let table: Locked<ConnectionTable<OpenConnection>>
    private let loop: EventLoop

    /// The time between two looks at an idle connection whose descriptor is readable, while the listener stops.
    private static let recheckInterval = Duration.milliseconds(10)

    init(_ configuration: StreamListener.Configuration) {
        table = Locked(
            ConnectionTable(
                maximumPerClient: configuration.maximumConnectionsPerAddress, minimumWait: configuration.minimumWait))
        loop = configuration.loops[0]
    }

    /// Adds a connection that a listening socket has accepted; nil if its client has the maximum of connections, or the listener is
    /// stopping.
    func add(
        _ connection: OpenConnection, from address: SocketAddress?, at socket: Int
    ) -> ConnectionTable<OpenConnection>.Number? {
        let number = table.withLock { $0.add(connection, from: address, at: socket, now: .now) }
        // Clients may still wait at other sockets.
        makeRoom()
        return number
    }

    func remove(_ number: ConnectionTable<OpenConnection>.Number) { table.withLock { $0.remove(number) } }

    func change(_ number: ConnectionTable<OpenConnection>.Number, to activity: ServedConnection.Activity) -> Bool {
        switch table.withLock({ $0.change(number, to: activity, now: .now) }) {
        case .begun: return true
        case .begunInCrowd:
            makeRoom()
            return true
        case .endsInCrowd:
            makeRoom()
            return false
        case .ends: return false
        }
    }

    var mayBecomeIdle: Bool { table.withLock { $0.mayBecomeIdle(now: .now) } }

    /// Closes the connection that has waited longest for its client, as soon as one has waited long enough, for each client that waits.
    ///
    /// - Parameter socket: the listening socket at which a client waits; nil to try again for those that wait already.
    func makeRoom(at socket: Int? = nil) {
        switch table.withLock({ $0.makeRoom(at: socket, now: .now) }) {
        case .close(let connection):
            connection.close()
            makeRoom()
        case .wait(let moment): loop.schedule(at: moment) { [weak self] in self?.makeRoom() }
        case .none: break
        }
    }

    /// Records that the client at a listening socket needs no room any more.
    func endDemand(at socket: Int) { table.withLock { $0.endDemand(at: socket) } }

    /// Closes the idle connections, and lets no other become idle.
    func stop() {
        for (number, connection) in table.withLock({ $0.stop() }) { closeIfIdle(number, connection.pair) }
    }

    /// Closes a connection if it is idle and its client has sent nothing: the first bytes of a request may have arrived, and its
    /// task may not have run since.
    private func closeIfIdle(_ number: ConnectionTable<OpenConnection>.Number, _ pair: StreamPair) {
        let point = pair.input.waitPoint
        // On the thread of the loop, where the task of the connection runs, it cannot be between reading bytes and telling so.
        point.loop.execute { [self] in
            if point.withDescriptor({ Syscalls.poll($0, POLLIN) & POLLIN != 0 }) ?? false {
                // The task reads these bytes in this turn or the next. They need not be a request: a TLS record has other uses.
                point.loop.schedule(at: .now + Self.recheckInterval) { [self] in closeIfIdle(number, pair) }
            } else if table.withLock({ $0.removeIdle(number) }) {
                pair.close()
            }
        }
    }
}
