internal import EventLoops

/// The watcher of one half of a connection: has the half's client look, whichever that is by then.
///
/// There is one for each half, not for each client, so replacing a client needs no change at the wait point and cannot lose an
/// edge. It does not keep the connection alive.
final class ClientWatch: Watcher, @unchecked Sendable {
    // Unchecked in name only, as any subclass of Watcher: what changes is behind a lock, and weak reads are atomic.

    private weak let connection: Connection?
    private let half: StreamHalf
    /// Where it was parked last. A transport may wait at another point by now, as after a redirect.
    private let place = Locked<WaitPoint?>(nil)

    init(_ connection: Connection, _ half: StreamHalf) {
        self.connection = connection
        self.half = half
        super.init()
    }

    /// Parks at `point`, and nowhere else. Nil if it waits there; `.ready` if the client should look again first.
    func park(at point: WaitPoint) -> Wake? {
        let old = place.withLock { exchange(&$0, with: point) }
        if let old, old !== point { old.unwatch(half, self) }
        let wake = point.watch(half, for: half == .reader ? .readable : .writable, with: self)
        if place.withLock({ $0 === point }) { return wake }
        // Taken back, or parked elsewhere, meanwhile.
        point.unwatch(half, self)
        return .ready
    }

    /// Takes it back from where it is parked.
    func remove() {
        if let old = place.withLock({ $0.take() }) { old.unwatch(half, self) }
    }

    override func fire() {
        connection?.clientMayLook(half)
    }
}
