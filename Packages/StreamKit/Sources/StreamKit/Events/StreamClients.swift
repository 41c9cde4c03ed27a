internal import EventLoops

/// The clients of a connection's events and the targets where they run.
///
/// Allocated with the first client or target: most streams have neither, and a process may hold many thousands of idle
/// streams. Guarded by the connection's lock.
final class StreamClients {
    struct Side {
        var client: StreamClient?
        var targets: [any DeliveryTarget] = []
        /// Made with the first client of this half.
        var watch: ClientWatcher?
    }

    private var reader = Side()
    private var writer = Side()
    subscript(half: StreamHalf) -> Side {
        get { half == .reader ? reader : writer }
        set { if half == .reader { reader = newValue } else { writer = newValue } }
    }
}

/// The watcher of one half of a connection: notifies whichever client the half has when the watcher fires.
///
/// There is one watcher per half, not one per client. Replacing a client therefore changes nothing at the wait point
/// and loses no edge. The watcher does not keep the connection alive.
final class ClientWatcher: Watcher, @unchecked Sendable {
    // Unchecked only because the superclass is: mutable state is behind a lock, and weak reads are atomic.

    private weak let connection: Connection?
    private let half: StreamHalf
    /// The point where the watcher was parked last. The transport may now wait at another one, as after a redirect.
    private let parkedAt = Locked<WaitPoint?>(nil)

    init(_ connection: Connection, _ half: StreamHalf) {
        self.connection = connection
        self.half = half
        super.init()
    }

    /// Parks at `point` and at no other point. Nil once it waits there; `.ready` if the client should look again first.
    func park(at point: WaitPoint) -> Wake? {
        let old = parkedAt.withLock { exchange(&$0, with: point) }
        if let old, old !== point { old.unwatch(half, self) }
        let wake = point.watch(half, for: half == .reader ? .readable : .writable, with: self)
        if parkedAt.withLock({ $0 === point }) { return wake }
        // Withdrawn or parked elsewhere meanwhile.
        point.unwatch(half, self)
        return .ready
    }

    /// Withdraws the watcher from the point where it is parked.
    func remove() {
        if let old = parkedAt.withLock({ $0.take() }) { old.unwatch(half, self) }
    }

    override func fire() {
        connection?.edgeArrived(half)
    }
}
