internal import StreamKit

/// Idle sessions, logged in, kept for the next job of the same user at the same server.
///
/// The one used last is taken first, after a look whether the server has closed it. A session is only shared by who would log in
/// in just the same way: user, password, account, TLS and its settings, proxy.
public final class FTPSessionPool: Sendable {
    /// How many sessions are kept, and for how long.
    public struct Limits: Sendable, Hashable {
        /// Idle sessions of one user at one server.
        public var perServer: Int
        /// Idle sessions in all; the one idle for longest goes first.
        public var total: Int
        /// How long one stays idle.
        public var idle: Duration

        /// Makes limits; by default 4 at a server, 32 in all, 60 s.
        public init(perServer: Int = 4, total: Int = 32, idle: Duration = .seconds(60)) {
            self.perServer = perServer
            self.total = total
            self.idle = idle
        }
    }

    /// The pool that streams use unless told otherwise.
    public static let shared = FTPSessionPool()

    /// What is kept.
    public let limits: Limits

    private struct Entry {
        var control: FTPControl
        var since: ContinuousClock.Instant
    }

    private struct State {
        /// The one idle for longest first.
        var idle: [Entry] = []
        var sweep: LoopTimer?
    }

    private let state = Locked(State())

    /// A pool of its own, so that nothing is shared with others.
    public init(limits: Limits = Limits()) {
        self.limits = limits
    }

    deinit { drain() }

    /// How many sessions are idle now.
    public var idleCount: Int { state.withLock { $0.idle.count } }

    /// Closes every idle session now.
    public func drain() {
        let (entries, sweep) = state.withLock { state in
            defer { state.idle = [] }
            return (state.idle, state.sweep.take())
        }
        sweep?.cancel()
        for entry in entries { entry.control.close() }
    }

    /// Returns an idle session for `key`, checked; nil if there is none.
    ///
    /// - Parameter dispose: closes a session that cannot be used any more, at once or later.
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

    /// Keeps a session that has done its job.
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

    /// Closes what has been idle for too long.
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
