@_spi(Packages) internal import StreamKit

/// A pool of idle sessions, logged in, for the next job of the same user at the same server.
///
/// The session used last is taken first, unless the server has closed it. Jobs share a session only if all properties of the
/// session are equal: user, password, account, TLS and its configuration, proxy.
public final class FTPSessionPool: Sendable {
    /// The number of sessions that are kept, and the time for which they are kept.
    public struct Limits: Sendable, Hashable {
        /// The most idle sessions of one user at one server.
        public var perServer: Int
        /// The most idle sessions in total. The session that was idle for the longest time is closed first.
        public var total: Int
        /// The time after which an idle session is closed.
        public var idle: Duration

        /// Creates limits. Default: 4 sessions at one server, 32 in total, 60 s.
        public init(perServer: Int = 4, total: Int = 32, idle: Duration = .seconds(60)) {
            self.perServer = perServer
            self.total = total
            self.idle = idle
        }
    }

    /// The pool of streams without one of their own (``FTPOptions/pool``).
    public static let shared = FTPSessionPool()

    /// The limits of the pool.
    public let limits: Limits

    private let idle: IdlePool<FTPControl>

    /// Creates a pool, which shares no sessions with other pools.
    public init(limits: Limits = Limits()) {
        self.limits = limits
        idle = IdlePool(perKey: limits.perServer, total: limits.total, idle: limits.idle)
    }

    /// The number of idle sessions.
    public var idleCount: Int { idle.count }

    /// Closes all idle sessions.
    public func drain() {
        for control in idle.removeAll() { control.close() }
    }

    /// Ends all idle sessions (QUIT), and waits until the servers have confirmed it, at most 2 s.
    public nonisolated(nonsending) func logOut() async {
        await withTaskGroup(of: Void.self) { group in
            for control in idle.removeAll() { group.addTask { await FTPQuit.run(control) } }
        }
    }

    /// Takes an idle session for `key` that is still open; nil if there is none.
    ///
    /// - Parameter dispose: closes a session that is no longer usable, at once or later.
    func take(_ key: FTPSessionKey, dispose: (FTPControl) -> Void) -> FTPControl? {
        idle.take(key, isUsable: \.isIdle, dispose: dispose)
    }

    /// Keeps a session whose job is complete.
    func put(_ control: FTPControl) {
        control.isReused = true
        idle.put(control)
    }
}
