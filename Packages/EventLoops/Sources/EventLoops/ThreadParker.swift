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

    /// Waits at all these places at once, until one of them has news or the deadline has come.
    ///
    /// Which one it was is told; any other that was signalled as well keeps a latch, so that its next wait ends at once.
    func block(at places: [WaitPoint.Place], until deadline: Moment?) -> (wake: Wake, place: Int) {
        var news: (Wake, Int)?
        var parked = 0
        while news == nil, parked < places.count {
            if let wake = places[parked].park(self) { news = (wake, parked) } else { parked += 1 }
        }
        let (wake, ready) = news == nil ? poll(places, until: deadline) : (.ready, nil)
        for index in 0..<parked where !places[index].unpark(self) {
            if news == nil { news = (places[index].wake, index) } else { places[index].latch() }
        }
        // By default a wake without a cause: a parker can be rung that was given back a moment before.
        return news ?? (wake, ready ?? 0)
    }

    /// Waits until fired, until the descriptor of a place has news (which is told), or until the deadline.
    private func poll(_ places: [WaitPoint.Place], until deadline: Moment?) -> (Wake, Int?) {
        withUnsafeTemporaryAllocation(of: pollfd.self, capacity: places.count + 1) { sets in
            for (index, place) in places.enumerated() { sets.initializeElement(at: index, to: place.pollSet) }
            sets.initializeElement(at: places.count, to: pollfd(fd: event, events: Int16(POLLIN), revents: 0))
            while true {
                let count = Glibc.poll(sets.baseAddress, nfds_t(sets.count), pollTimeout(until: deadline))
                if count > 0 {
                    if sets[places.count].revents != 0 { reset() }
                    return (.ready, places.indices.first { sets[$0].revents != 0 })
                }
                if count == 0 {
                    if let deadline, Moment.now >= deadline { return (.timedOut, nil) }
                } else if errno != EINTR {
                    return (.failed(errno), nil)
                }
            }
        }
    }
}

extension WaitPoint.Place {
    /// Nil once the parker is parked here; else why it is not.
    fileprivate func park(_ parker: ThreadParker) -> Wake? {
        switch point.park(parker, half, for: interest) {
        case .busy: return .busy
        case .ready: return wake
        case .parked: break
        }
        // Closed before: the signal was for nobody, and the latch may be used up. So look once.
        guard point.isClosed(half) else { return nil }
        unpark(parker)
        return .closed
    }

    /// False if the parker has been fired from here.
    @discardableResult
    fileprivate func unpark(_ parker: ThreadParker) -> Bool {
        point.unpark(parker, half)
    }

    /// What a signal here means.
    fileprivate var wake: Wake { point.isClosed(half) ? .closed : .ready }

    fileprivate func latch() {
        point.wake(half)
    }

    fileprivate var pollSet: pollfd {
        var events: Int16 = 0
        if interest.contains(.readable) { events |= Int16(POLLIN) }
        if interest.contains(.writable) { events |= Int16(POLLOUT) }
        return pollfd(fd: point.descriptor, events: events, revents: 0)
    }
}

/// The milliseconds to give to `poll` or `epoll_wait`: rounded up, so that one wait is enough; -1 for no deadline.
func pollTimeout(until deadline: Moment?) -> CInt {
    guard let deadline else { return -1 }
    let left = max(0, Moment.now.nanoseconds(to: deadline))
    return CInt(clamping: left / 1_000_000 + (left % 1_000_000 > 0 ? 1 : 0))
}
