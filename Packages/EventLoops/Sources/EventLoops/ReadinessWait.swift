internal import CEventLoops
internal import Glibc

extension ThreadParker {
    /// Waits for all of these at once, until one of them is signalled or the deadline passes.
    ///
    /// Returns the index of one that was signalled. Any other one that was signalled, too, keeps a latch, so that its
    /// next wait ends at once.
    func block(for all: [WaitPoint.Readiness], until deadline: Moment?) -> (wake: Wake, index: Int) {
        var result: (Wake, Int)?
        var parked = 0
        while result == nil, parked < all.count {
            if let wake = all[parked].park(self) { result = (wake, parked) } else { parked += 1 }
        }
        let (wake, ready) = result == nil ? poll(all, until: deadline) : (.ready, nil)
        for index in 0..<parked where !all[index].unpark(self) {
            if result == nil { result = (all[index].wake, index) } else { all[index].latch() }
        }
        // Otherwise a spurious wake: the parker may be fired by a wait that ended before it was returned to the pool.
        return result ?? (wake, ready ?? 0)
    }

    /// Waits until fired, until the descriptor of one of them is ready, or until the deadline. Returns the index of a ready one.
    private func poll(_ all: [WaitPoint.Readiness], until deadline: Moment?) -> (Wake, Int?) {
        withUnsafeTemporaryAllocation(of: pollfd.self, capacity: all.count + 1) { sets in
            for (index, readiness) in all.enumerated() { sets.initializeElement(at: index, to: readiness.pollSet) }
            sets.initializeElement(at: all.count, to: pollfd(fd: event, events: Int16(POLLIN), revents: 0))
            while true {
                let count = Glibc.poll(sets.baseAddress!, nfds_t(sets.count), pollTimeout(until: deadline))
                if count > 0 {
                    if sets[all.count].revents != 0 { reset() }
                    return (.ready, all.indices.first { sets[$0].revents != 0 })
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

extension WaitPoint.Readiness {
    /// Parks the parker here. Returns nil, or the reason why it is not parked.
    fileprivate func park(_ parker: ThreadParker) -> Wake? {
        switch point.park(parker, half, for: interest) {
        case .busy: return .busy
        case .ready: return wake
        case .parked: break
        }
        // If the half was closed before, no further signal comes, and the latch may have been consumed.
        guard point.isClosedAfterParking(half) else { return nil }
        unpark(parker)
        return .closed
    }

    /// Withdraws the parker; false if it has been fired from here.
    @discardableResult
    fileprivate func unpark(_ parker: ThreadParker) -> Bool {
        point.unpark(parker, half)
    }

    /// The meaning of a signal here.
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
