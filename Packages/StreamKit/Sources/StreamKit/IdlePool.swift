public import EventLoops

/// A connection that an ``IdlePool`` keeps.
@_spi(Packages) public protocol IdleConnection: AnyObject, Sendable {
    /// What must be equal for two uses to share a connection, such as the endpoint and the options.
    associatedtype Key: Equatable, Sendable

    /// The key of the connection, which never changes.
    var key: Key { get }

    /// Closes the connection.
    func close()
}

/// Idle connections, each kept for a limited time, for the next use with an equal key.
///
/// ```swift
/// let pool = IdlePool<Session>(perKey: 4, total: 32, idle: .seconds(60))
/// let session = pool.take(key, isUsable: { $0.isIdle }, dispose: { $0.close() }) ?? Session(key)
/// try await session.use()
/// pool.put(session)
/// ```
///
/// The connection used last is taken first. A pool that is released closes its connections. It calls neither `close()` nor the
/// closures of ``take(_:at:isUsable:dispose:)`` under its lock.
@_spi(Packages) public final class IdlePool<Connection: IdleConnection>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline let connection: Connection
        @usableFromInline let since: Moment

        @inlinable
        init(_ connection: Connection, since: Moment) {
            self.connection = connection
            self.since = since
        }
    }

    @usableFromInline
    struct State: Sendable {
        /// Ordered by idle time, the longest first. They are so few that a linear search costs less than a table.
        @usableFromInline var idle: [Entry] = []
        @usableFromInline var sweep: LoopTimer?

        @inlinable
        init() {}
    }

    @usableFromInline let state = Locked(State())
    @usableFromInline let perKey: Int
    @usableFromInline let total: Int
    @usableFromInline let limit: Duration

    /// Makes an empty pool.
    ///
    /// - Parameters:
    ///   - perKey: the maximum number of idle connections with one key.
    ///   - total: the maximum number of idle connections; the one idle for the longest time is closed first.
    ///   - idle: the time after which an idle connection is closed.
    public init(perKey: Int, total: Int, idle: Duration) {
        self.perKey = max(0, perKey)
        self.total = max(0, total)
        limit = idle
    }

    deinit {
        removeAll().forEach { $0.close() }
    }

    /// The number of idle connections.
    public var count: Int { state.withLock { $0.idle.count } }

    /// Takes an idle connection with this key; nil if there is none.
    ///
    /// - Parameters:
    ///   - key: the key of the connection.
    ///   - now: the instant at which a connection must not have been idle for too long.
    ///   - isUsable: checks a connection that would be taken.
    ///   - dispose: called with each connection that is no longer usable or was idle for too long, to close it now or later.
    @inlinable
    public func take(
        _ key: Connection.Key, at now: Moment = .now, isUsable: (Connection) -> Bool, dispose: (Connection) -> Void
    ) -> Connection? {
        take(where: { $0.key == key }, at: now, isUsable: isUsable, dispose: dispose)
    }

    /// Takes an idle connection that satisfies a condition; nil if there is none.
    ///
    /// - Parameters:
    ///   - isSuitable: whether a connection could be taken. Called under the lock of the pool, so it must not use the pool.
    ///   - now: the instant at which a connection must not have been idle for too long.
    ///   - isUsable: checks a connection that would be taken.
    ///   - dispose: called with each connection that is no longer usable or was idle for too long, to close it now or later.
    @inlinable
    public func take(
        where isSuitable: (Connection) -> Bool, at now: Moment = .now, isUsable: (Connection) -> Bool,
        dispose: (Connection) -> Void
    ) -> Connection? {
        while true {
            let entry = state.withLock { state -> Entry? in
                guard let index = state.idle.lastIndex(where: { isSuitable($0.connection) }) else { return nil }
                return index == state.idle.count - 1 ? state.idle.removeLast() : state.idle.remove(at: index)
            }
            guard let entry else { return nil }
            let connection = entry.connection
            if entry.since.duration(to: now) < limit, isUsable(connection) { return connection }
            dispose(connection)
        }
    }

    /// Keeps a connection, and closes those that exceed the limits.
    @inlinable
    public func put(_ connection: Connection) {
        let surplus = state.withLock { state -> [Entry] in
            state.idle.append(Entry(connection, since: .now))
            if state.sweep == nil { scheduleSweep(&state) }
            return state.idle.count > min(perKey, total) ? removeSurplus(&state, of: connection.key) : []
        }
        for entry in surplus { entry.connection.close() }
    }

    /// Removes the connections that satisfy a condition, without closing them.
    public func removeAll(where isRemoved: (Connection) -> Bool = { _ in true }) -> [Connection] {
        let (removed, sweep) = state.withLock { state -> ([Connection], LoopTimer?) in
            let removed = state.idle.map(\.connection).filter(isRemoved)
            state.idle.removeAll { entry in removed.contains { $0 === entry.connection } }
            return (removed, state.idle.isEmpty ? state.sweep.take() : nil)
        }
        sweep?.cancel()
        return removed
    }

    @usableFromInline
    func removeSurplus(_ state: inout State, of key: Connection.Key) -> [Entry] {
        var surplus: [Entry] = []
        if state.idle.count(where: { $0.connection.key == key }) > perKey,
            let oldest = state.idle.firstIndex(where: { $0.connection.key == key })
        {
            surplus.append(state.idle.remove(at: oldest))
        }
        while state.idle.count > total { surplus.append(state.idle.removeFirst()) }
        return surplus
    }

    @usableFromInline
    func scheduleSweep(_ state: inout State) {
        state.sweep = EventLoop.shared.schedule(at: .now + limit) { [weak self] in self?.sweep() }
    }

    /// Closes the connections that have been idle for too long.
    private func sweep() {
        let (expired, later) = state.withLock { state -> (ArraySlice<Entry>, LoopTimer?) in
            let now = Moment.now
            let expired = state.idle.prefix { $0.since.duration(to: now) >= limit }
            state.idle.removeFirst(expired.count)
            // Usually the timer that fires now; a later one if the pool was emptied meanwhile.
            let timer = state.sweep.take()
            if !state.idle.isEmpty { scheduleSweep(&state) }
            return (expired, timer)
        }
        later?.cancel()
        for entry in expired { entry.connection.close() }
    }
}
