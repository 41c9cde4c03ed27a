@_spi(Packages) public import EventLoops

/// The state of a transport that works in steps, apart from the work itself: whether it has ended, and where it is blocked.
///
/// Such a transport is the `WaitPoint` at which its stream's callers wait, and uses any number of connections meanwhile, as a load
/// over HTTP or FTP does. Its state is kept under one lock, and two rules prevent deadlocks, and connections that are shared by mistake:
///
/// - Under the lock a connection may be opened, read and written, which only begins or tries. Nothing is closed, returned to a pool,
///   signalled or logged, because each of these may run code that takes the lock. A step collects such work (`Deferred`), which is
///   performed after the lock has been released.
/// - No caller waits at a connection, except a thread to which it has been lent, as a load over HTTP lends it. While a caller waits at
///   the transport's point, that point is registered as a watcher where the work is blocked, and forwards the signal. It is registered
///   and withdrawn under the lock, and withdrawn before another owner may use a connection. A connection that changes its owner
///   therefore has no waiter.
@_spi(Packages) public struct StepState: Sendable {
    @usableFromInline
    enum Phase: Sendable {
        case working
        case failed(StreamError)
        case closed
    }

    @usableFromInline var phase = Phase.working
    // Where the point is registered. An edge may have ended a registration since; only the other point knows.
    @usableFromInline var first: WaitPoint.Readiness?
    @usableFromInline var second: WaitPoint.Readiness?

    /// Makes the state of work that has not ended and is not blocked.
    @inlinable
    public init() {}

    // MARK: The end of the work

    /// Begins a step.
    ///
    /// - Throws: the error that has ended the work; ``StreamError/closed``.
    @inlinable
    public func begin() throws(StreamError) {
        switch phase {
        case .working: return
        case .failed(let error): throw error
        case .closed: throw .closed
        }
    }

    /// Whether steps are possible: the work has neither failed nor been closed.
    @inlinable
    public var isWorking: Bool { if case .working = phase { true } else { false } }

    /// Whether the work was closed.
    @inlinable
    public var isClosed: Bool { if case .closed = phase { true } else { false } }

    /// Ends the work with an error. Has no effect once it was closed.
    public mutating func fail(_ error: StreamError) {
        if !isClosed { phase = .failed(error) }
    }

    /// Ends the work. Returns false if it was closed before.
    public mutating func close() -> Bool {
        if isClosed { return false }
        phase = .closed
        return true
    }

    // MARK: Where it is blocked

    /// Whether the point is, or was until an edge, registered as a watcher.
    @inlinable
    public var isWatching: Bool { if case .some = first { true } else { false } }

    /// The points where it is registered.
    public var watchedPoints: [WaitPoint] { [first, second].compactMap { $0?.point } }

    /// Registers a point where the work is blocked, in place of earlier registrations.
    ///
    /// - Parameters:
    ///   - places: one or two places; their half is the one that is watched. Loads and conversations name the reader half even to wait for
    ///     room, which leaves the writer half to another watcher.
    ///   - point: the transport's own point.
    ///   - poller: as for `WaitPoint.watch(_:for:with:by:)`.
    /// - Returns: whether there is a reason to wait; otherwise the point is not registered.
    /// - Throws: the error of a place that cannot be watched, such as a lack of descriptors.
    public mutating func watch(
        _ places: (WaitPoint.Readiness?, WaitPoint.Readiness?), with point: WaitPoint, by poller: DescriptorPoller?
    ) throws(StreamError) -> Bool {
        withdraw(point)
        (first, second) = places
        guard let first else { return false }
        var wake = first.point.watch(first.half, for: first.interest, with: point, by: poller)
        if wake == nil, let second {
            wake = second.point.watch(second.half, for: second.interest, with: point, by: poller)
        }
        guard let wake else { return true }
        withdraw(point)
        if case .failed(let number) = wake { throw StreamError(posix: number) }
        return false
    }

    /// Ends the registrations. Returns whether the waiters have still to be woken: an edge that has ended a registration before wakes
    /// them.
    @discardableResult
    public mutating func withdraw(_ point: WaitPoint) -> Bool {
        let isFirstOver = first.map { $0.point.unwatch($0.half, point) } == false
        let isSecondOver = second.map { $0.point.unwatch($0.half, point) } == false
        (first, second) = (nil, nil)
        return !isFirstOver && !isSecondOver
    }

    /// Forgets the only registration if an edge has ended it, as the edge usually has that leads to a step. Nothing has to be withdrawn
    /// then. Returns whether it has forgotten one.
    @inlinable
    public mutating func forgetIfOver(_ point: WaitPoint) -> Bool {
        guard let place = first, case .none = second, !place.point.isRegistered(place.half, point) else { return false }
        first = nil
        return true
    }
}
