internal import StreamKit

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

    /// The pool of streams without one of their own (`ftpPool`).
    public static let shared = FTPSessionPool()

    /// The limits of the pool.
    public let limits: Limits

    private struct Entry {
        var control: FTPControl
        var since: ContinuousClock.Instant
    }

    private struct State {
        /// Ordered by the time since which they are idle, the longest first.
        var idle: [Entry] = []
        var sweep: LoopTimer?
    }

    private let state = Locked(State())

    /// Creates a pool, which shares no sessions with other pools.
    public init(limits: Limits = Limits()) {
        self.limits = limits
    }

    deinit { drain() }

    /// The number of idle sessions.
    public var idleCount: Int { state.withLock { $0.idle.count } }

    /// Closes all idle sessions.
    public func drain() {
        let (entries, sweep) = state.withLock { state in
            defer { state.idle = [] }
            return (state.idle, state.sweep.take())
        }
        sweep?.cancel()
        for entry in entries { entry.control.close() }
    }

    /// Takes an idle session for `key` that is still open; nil if there is none.
    ///
    /// - Parameter dispose: closes a session that is no longer usable, at once or later.
    func take(_ key: FTPSessionKey, dispose: (FTPControl) -> Void) -> FTPControl? {
        while true {
            let entry = state.withLock { state in
                state.idle.lastIndex { $0.control.key == key }.map { state.idle.remove(at: $0) }
            }
            guard let entry else { return nil }
            if entry.control.isIdle, entry.since.duration(to: .now) < limits.idle { return entry.control }
            dispose(entry.control)
        }
    }

    /// Keeps a session whose job is complete.
    func put(_ control: FTPControl) {
        control.isReused = true
        let dropped = state.withLock { state -> [Entry] in
            state.idle.append(Entry(control: control, since: .now))
            if state.sweep == nil { scheduleSweep(&state) }
            var dropped: [Entry] = []
            if state.idle.count(where: { $0.control.key == control.key }) > limits.perServer,
                let oldest = state.idle.firstIndex(where: { $0.control.key == control.key })
            {
                dropped.append(state.idle.remove(at: oldest))
            }
            while state.idle.count > limits.total { dropped.append(state.idle.removeFirst()) }
            return dropped
        }
        for entry in dropped { entry.control.close() }
    }

    private func scheduleSweep(_ state: inout State) {
        state.sweep = EventLoop.shared.schedule(at: .now + limits.idle) { [weak self] in self?.sweep() }
    }

    /// Closes the sessions that have been idle for too long.
    private func sweep() {
        let expired = state.withLock { state -> ArraySlice<Entry> in
            let oldest = ContinuousClock.now - limits.idle
            let expired = state.idle.prefix { $0.since <= oldest }
            state.idle.removeFirst(expired.count)
            state.sweep = nil
            if !state.idle.isEmpty { scheduleSweep(&state) }
            return expired
        }
        for entry in expired { entry.control.close() }
    }
}
