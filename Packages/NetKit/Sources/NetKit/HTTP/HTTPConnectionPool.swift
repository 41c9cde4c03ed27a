internal import EventLoops
internal import StreamKit

/// Idle connections, kept for the next request to the same origin made in the same way.
///
/// ```swift
/// let pool = HTTPConnectionPool(limits: .init(perOrigin: 4, total: 32, idle: .seconds(15)))
/// try stream.set(.httpPool, to: pool)
/// …
/// pool.drain()
/// ```
///
/// The connection used last is taken first. Before it is used it is looked at: one that the server has closed, or sent
/// anything on, is dropped. The look is spared a request that can be sent twice if the last answer came in plain TCP within
/// the last 50 µs.
public final class HTTPConnectionPool: Sendable {
    /// How many connections are kept, and for how long.
    public struct Limits: Sendable, Hashable {
        /// Idle connections to one origin, or to one proxy that takes requests for many.
        public var perOrigin: Int
        /// Idle connections in all; the one idle for longest goes first.
        public var total: Int
        /// How long one stays idle.
        public var idle: Duration

        /// Makes limits; by default 6 for an origin, 64 in all, 30 s.
        public init(perOrigin: Int = 6, total: Int = 64, idle: Duration = .seconds(30)) {
            self.perOrigin = perOrigin
            self.total = total
            self.idle = idle
        }
    }

    /// The pool that streams use unless told otherwise.
    public static let shared = HTTPConnectionPool()

    /// What is kept.
    public let limits: Limits

    private let idleConnections: IdleConnections

    /// A pool of its own, so that nothing is shared with others.
    ///
    /// - Parameters:
    ///   - limits: How many connections are kept, and for how long.
    ///   - ofOneUser: Whether all requests of the pool are one user's. Then a connection is used again whatever the field
    ///     `Authorization` or `Proxy-Authorization` says: what NTLM and Negotiate need when their fields are made by hand,
    ///     as they differ from leg to leg. In a pool of several users (the default), a connection on which such a field was
    ///     sent carries only requests with the same one.
    public init(limits: Limits = Limits(), ofOneUser: Bool = false) {
        self.limits = limits
        isOfOneLogin = ofOneUser
        idleConnections = IdleConnections(limits)
    }

    /// The pool of the one connection that belongs to a login.
    init(ofLogin: Void) {
        limits = Limits(perOrigin: 1, total: 1)
        isOfOneLogin = true
        idleConnections = IdleConnections(limits)
    }

    /// Nobody else's requests go over its connections.
    let isOfOneLogin: Bool

    /// How many connections are idle now.
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

    /// Closes the idle connections that proxies let through for this login.
    func drop(of login: KnownAuthentication) {
        let dropped = idleConnections.state.withLock { state -> [HTTPConnection] in
            let dropped = state.idle.filter { $0.key.uses(login) }
            state.idle.removeAll { $0.key.uses(login) }
            return dropped
        }
        for connection in dropped { connection.pair.close() }
    }

    /// Gives all idle connections to another pool.
    func handOver(to other: HTTPConnectionPool) {
        let connections = idleConnections.state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        for connection in connections { other.put(connection) }
    }

    /// How long after a read that emptied it a connection is taken to be quiet, for a request that can be sent twice.
    ///
    /// No longer than bytes are on their way from a server that is near: what it sends unasked can be that late in any case,
    /// and no look sees it then. If the server has ended the connection meanwhile, the request is sent again on a new one.
    static let trust = Duration.microseconds(50)

    /// An idle connection for `key`, looked at unless it is trusted; nil if there is none.
    ///
    /// - Parameters:
    ///   - trust: for how long after a read that emptied it a look can be spared; see ``trust``.
    ///   - dispose: given each connection that turns out to be of no use, which it closes, now or later.
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

    /// Keeps a connection that has carried a request to its end.
    func put(_ connection: HTTPConnection) {
        connection.buffer.shrink()
        connection.idleSince = .now
        idleConnections.put(connection)
    }
}

/// The idle connections of a pool, and the timer that closes them.
///
/// The timer refers to this object weakly, not to the pool: each strong reference to an object with a weak one costs more, and each
/// load has a reference to its pool.
private final class IdleConnections: Sendable {
    struct State {
        /// The one idle for longest first. So few that looking through them costs less than a table.
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

    /// Closes what has been idle for too long.
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
