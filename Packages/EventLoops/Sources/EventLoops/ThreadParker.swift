internal import CEventLoops
internal import Glibc

/// What wakes a thread that blocks in `poll(2)`: an eventfd that stands in the poll set beside the descriptor.
///
/// Parkers are pooled, since a blocking call needs one only while it really waits.
final class ThreadParker: Watcher, @unchecked Sendable {
    // The only state is an immutable descriptor number, closed in deinit.

    /// How many idle parkers (each an eventfd) the process keeps.
    private static let poolLimit = 32
    private static let pool = Locked<[ThreadParker]>([])

    private let event: CInt

    /// Lends a parker for one wait. Nil when the process is out of descriptors.
    static func take() -> ThreadParker? {
        if let idle = pool.withLock({ $0.popLast() }) { return idle }
        let event = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        return event < 0 ? nil : ThreadParker(event: event)
    }

    /// Gives the parker back; it must be parked nowhere. If it is fired only now, its next wait ends at once, without a
    /// cause, which is allowed.
    func giveBack() {
        ThreadParker.pool.withLock { if $0.count < ThreadParker.poolLimit { $0.append(self) } }
    }

    private init(event: CInt) {
        self.event = event
        super.init()
    }

    deinit { close(event) }

    override func fire() {
        eventfd_write(event, 1)
    }

    private func reset() {
        var count: eventfd_t = 0
        eventfd_read(event, &count)
    }

    /// Waits until fired, until `descriptor` (none if negative) has news, or until the deadline.
    func wait(descriptor: CInt, for interest: Interest, until deadline: ContinuousClock.Instant?) -> Wake {
        var events: Int16 = 0
        if interest.contains(.readable) { events |= Int16(POLLIN) }
        if interest.contains(.writable) { events |= Int16(POLLOUT) }
        var sets = (
            pollfd(fd: event, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: events, revents: 0)
        )
        while true {
            let timeout = pollTimeout(until: deadline)
            let count = withUnsafeMutablePointer(to: &sets) {
                $0.withMemoryRebound(to: pollfd.self, capacity: 2) { poll($0, 2, timeout) }
            }
            if sets.0.revents != 0 { reset() }
            if count > 0 { return .ready }
            if count == 0 {
                if let deadline, ContinuousClock.now >= deadline { return .timedOut }
            } else if errno != EINTR {
                return .failed(errno)
            }
        }
    }
}

/// The milliseconds to give to `poll` or `epoll_wait`: rounded up, so that one wait is enough; -1 for no deadline.
func pollTimeout(until deadline: ContinuousClock.Instant?) -> CInt {
    guard let deadline else { return -1 }
    let (seconds, attoseconds) = ContinuousClock.now.duration(to: deadline).components
    if seconds < 0 || attoseconds < 0 { return 0 }
    if seconds > 1_000_000 { return 1_000_000_000 }
    return CInt(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
}
