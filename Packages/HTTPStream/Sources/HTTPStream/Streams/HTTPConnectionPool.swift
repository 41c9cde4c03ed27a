internal import EventLoops
internal import StreamKit

/// A pool of idle connections, which further requests with the same origin and options use.
///
/// ```swift
/// let pool = HTTPConnectionPool(limits: .init(perOrigin: 4, total: 32, idle: .seconds(15)))
/// try stream.set(.httpPool, to: pool)
/// …
/// pool.drain()
/// ```
///
/// The connection used last is taken first. Before a connection is used it is checked: one that the server has closed, or on
/// which it has sent anything, is dropped. The check is skipped for a request that may be sent twice, if the last response
/// arrived over plain TCP within the last 50 µs.
public final class HTTPConnectionPool: Sendable {
    /// The number of connections that are kept, and for how long.
    public struct Limits: Sendable, Hashable {
        /// Idle connections to one origin, or to one proxy that takes requests for many.
        public var perOrigin: Int
        /// Idle connections in total; the one idle for the longest time is closed first.
        public var total: Int
        /// The time for which a connection is kept idle.
        public var idle: Duration

        /// Makes limits; by default 6 per origin, 64 in total, 30 s.
        public init(perOrigin: Int = 6, total: Int = 64, idle: Duration = .seconds(30)) {
            self.perOrigin = perOrigin
            self.total = total
            self.idle = idle
        }
    }

    /// The pool that streams use unless `StreamProperty.httpPool` is set.
    public static let shared = HTTPConnectionPool()

    /// The limits of the pool.
    public let limits: Limits

    private let idleConnections: IdleConnections

    /// Makes a separate pool, which shares nothing with others.
    ///
    /// - Parameters:
    ///   - limits: The number of connections that are kept, and for how long.
    ///   - ofOneUser: Whether all requests of the pool belong to one user. Connections are then reused regardless of the fields
    ///     `Authorization` and `Proxy-Authorization`. NTLM and Negotiate require this when the caller makes their fields, which
    ///     differ from leg to leg. In a pool of several users (the default), a connection on which such a field was sent carries
    ///     only requests with the same field.
    public init(limits: Limits = Limits(), ofOneUser: Bool = false) {
        self.limits = limits
        isOfOneLogin = ofOneUser
        idleConnections = IdleConnections(limits)
    }

    /// Makes the pool of the one connection that belongs to a login.
    init(ofLogin: Void) {
        limits = Limits(perOrigin: 1, total: 1)
        isOfOneLogin = true
        idleConnections = IdleConnections(limits)
    }

    /// Whether all requests of the pool belong to one login.
    let isOfOneLogin: Bool

    /// The number of connections that are idle now.
    public var idleCount: Int { idleConnections.state.withLock { $0.idle.count } }

    /// Closes every idle connection now.
    public func drain() {
        let (connections, sweep) = idleConnections.state.withLock { state in
            defer { state.idle = [] }
            return (state.idle, state.sweep.take())
        }
        sweep?.cancel()
        for connection in connections { connection.pair.close() }
    }

    /// Closes the idle connections on which a proxy accepted this login.
    func drop(of login: KnownAuthentication) {
        let dropped = idleConnections.state.withLock { state -> [HTTPConnection] in
            let dropped = state.idle.filter { $0.key.uses(login) }
            state.idle.removeAll { $0.key.uses(login) }
            return dropped
        }
        for connection in dropped { connection.pair.close() }
    }

    /// Moves all idle connections to another pool.
    func handOver(to other: HTTPConnectionPool) {
        let connections = idleConnections.state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        for connection in connections { other.put(connection) }
    }

    /// The time after a read that emptied a connection during which the connection counts as quiet, for a request that may be
    /// sent twice.
    ///
    /// It is no longer than the transit time of bytes from a near server: bytes that the server sends unexpectedly can be that
    /// late in any case, and no check sees them. If the server has ended the connection meanwhile, the request is sent again on a
    /// new one.
    static let trust = Duration.microseconds(50)

    /// Returns an idle connection for `key`, checked unless it is trusted; nil if there is none.
    ///
    /// - Parameters:
    ///   - trust: the time after a read that emptied the connection during which the check is skipped; see ``trust``.
    ///   - dispose: called with each connection that is unusable, to close it now or later.
    func take(
        _ key: HTTPConnectionKey, at now: Moment = .now, trusting trust: Duration = .zero,
        dispose: (HTTPConnection) -> Void
    ) -> HTTPConnection? {
        while true {
            let connection = idleConnections.state.withLock { state in
                state.idle.lastIndex { $0.key == key }.map { state.idle.remove(at: $0) }
            }
            guard let connection else { return nil }
            if connection.isIdle(now, trusting: trust), connection.idleSince.duration(to: now) < limits.idle {
                return connection
            }
            dispose(connection)
        }
    }

    /// Adds a connection that has carried a request to its end.
    func put(_ connection: HTTPConnection) {
        connection.buffer.shrink()
        connection.idleSince = .now
        idleConnections.put(connection)
    }
}

/// The idle connections of a pool, and the timer that closes them.
///
/// The timer refers to this object weakly, not to the pool: each strong reference to an object with a weak one costs more, and
/// each load has a reference to its pool.
private final class IdleConnections: Sendable {
    struct State {
        /// Ordered by idle time, the longest first. They are so few that a linear search costs less than a table.
        var idle: [HTTPConnection] = []
        var sweep: LoopTimer?
    }

    let state = Locked(State())
    private let limits: HTTPConnectionPool.Limits

    init(_ limits: HTTPConnectionPool.Limits) {
        self.limits = limits
    }

    func put(_ connection: HTTPConnection) {
        let dropped = state.withLock { state -> [HTTPConnection] in
            state.idle.append(connection)
            if state.sweep == nil { scheduleSweep(&state) }
            return removeSurplus(&state, of: connection.key)
        }
        for connection in dropped { connection.pair.close() }
    }

    private func removeSurplus(_ state: inout State, of key: HTTPConnectionKey) -> [HTTPConnection] {
        var dropped: [HTTPConnection] = []
        if state.idle.count > limits.perOrigin,
            state.idle.count(where: { $0.key == key }) > limits.perOrigin,
            let oldest = state.idle.firstIndex(where: { $0.key == key })
        {
            dropped.append(state.idle.remove(at: oldest))
        }
        while state.idle.count > limits.total { dropped.append(state.idle.removeFirst()) }
        return dropped
    }

    private func scheduleSweep(_ state: inout State) {
        state.sweep = EventLoop.shared.schedule(at: .now + limits.idle) { [weak self] in self?.sweep() }
    }

    /// Closes the connections that have been idle for too long.
    private func sweep() {
        let expired = state.withLock { state -> ArraySlice<HTTPConnection> in
            let now = Moment.now
            let expired = state.idle.prefix { $0.idleSince.duration(to: now) >= limits.idle }
            state.idle.removeFirst(expired.count)
            state.sweep = nil
            if !state.idle.isEmpty { scheduleSweep(&state) }
            return expired
        }
        for connection in expired { connection.pair.close() }
    }
}
