internal import CEventLoops
internal import Glibc

/// The watcher of a thread that blocks in `poll(2)`: an eventfd in the poll set, beside the descriptors.
///
/// Parkers are pooled, since a blocking call needs one only while it waits.
final class ThreadParker: Watcher, @unchecked Sendable {
    // The only state is an immutable descriptor number, closed in deinit.

    /// The maximum number of idle parkers, each with an eventfd, that the process keeps.
    private static let maximumIdle = 32
    private static let pool = Locked<[ThreadParker]>([])

    let event: CInt

    /// Takes a parker from the pool for one wait, or makes one. Without a free descriptor, there is none and an `errno`: EMFILE if the
    /// process has used up its own, ENFILE the system.
    static func take() -> (parker: ThreadParker?, error: CInt) {
        if let idle = pool.withLock({ $0.popLast() }) { return (idle, 0) }
        let event = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        return event < 0 ? (nil, errno) : (ThreadParker(event: event), 0)
    }

    /// Returns the parker to the pool. It must not be parked anywhere. If it is fired only now, its next wait ends at once, a
    /// spurious wake, which is allowed.
    func returnToPool() {
        ThreadParker.pool.withLock { if $0.count < ThreadParker.maximumIdle { $0.append(self) } }
    }

    private init(event: CInt) {
        self.event = event
        super.init()
    }

    deinit { close(event) }

    override func fire() {
        eventfd_write(event, 1)
    }

    /// Makes the next wait last until the parker is fired again.
    func reset() {
        var count: eventfd_t = 0
        eventfd_read(event, &count)
    }
}

/// The time-out for `poll` in milliseconds, rounded up so that a short wait needs one call; -1 for no deadline.
///
/// At most a second, after which the caller looks at the clock: a time-out of `poll` stops while the machine sleeps, and a ``Moment`` does
/// not. So a deadline that passed meanwhile ends the wait within a second of waking.
func pollTimeout(until deadline: Moment?) -> CInt {
    guard let deadline else { return -1 }
    let left = max(0, Moment.now.nanoseconds(to: deadline))
    return CInt(min(1000, left / 1_000_000 + (left % 1_000_000 > 0 ? 1 : 0)))
}
