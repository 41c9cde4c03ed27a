internal import CEventLoops
internal import Glibc
internal import Synchronization

/// An epoll descriptor, with the eventfd and the timerfd that wake its loop. The only file that calls epoll.
///
/// Each registration owns its ``WaitPoint`` (a retain, balanced by ``release(_:)``), because the kernel returns a bare pointer.
/// Both directions are registered once, edge-triggered, and remain registered until ``remove(_:)``.
struct EpollSet: ~Copyable, Sendable {
    /// The maximum number of events that one `epoll_wait` returns, whatever the peers send: the budget of a turn. Further
    /// events are returned by the next call.
    private static let maxEvents = 64

    /// The wakeups, other than descriptors, that ended a wait.
    struct Wakeups: OptionSet, Sendable {
        let rawValue: UInt8
        /// ``EpollSet/wakeUp()`` was called.
        static let event = Wakeups(rawValue: 1)
        /// The time of ``EpollSet/wakeUp(afterMilliseconds:)`` has passed.
        static let timer = Wakeups(rawValue: 2)
    }

    private let epoll: CInt
    private let event: CInt
    private let timer: CInt
    /// The number of watched descriptors; ``ended`` once no more may be added.
    private let registrations = Atomic<Int>(0)
    private static let ended = Int.min / 2
    /// The epoll data of the eventfd and the timerfd; the data of a point is its address.
    private static let eventMark: UInt64 = 0
    private static let timerMark: UInt64 = 1

    init() {
        epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        self.event = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        timer = netkit_make_timer()
        var event = epoll_event()
        // Edge-triggered, so that each write wakes the loop once and the counter need not be read.
        event.events = EPOLLIN.rawValue | EPOLLET.rawValue
        event.data.u64 = EpollSet.eventMark
        var failed = epoll < 0 || self.event < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, self.event, &event) != 0
        event.data.u64 = EpollSet.timerMark
        failed = failed || timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) != 0
        precondition(!failed, "EventLoop: the system has no descriptors left for a loop (errno \(errno))")
    }

    /// Makes a set that is polled, and so needs nothing to wake it. Nil if the system has no descriptor left.
    init?(isPolled: Void) {
        epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        (event, timer) = (-1, -1)
        if epoll < 0 { return nil }
    }

    deinit { _ = end() }

    /// The epoll descriptor, which is readable while a watched descriptor has an edge.
    var descriptor: CInt { epoll }

    /// Closes the descriptors unless one is being watched; true if they are closed. No wakeup may follow.
    borrowing func end() -> Bool {
        let isEmpty = registrations.compareExchange(
            expected: 0, desired: EpollSet.ended, ordering: .acquiringAndReleasing
        ).exchanged
        if isEmpty {
            close(epoll)
            if event >= 0 { close(event) }
            if timer >= 0 { close(timer) }
        }
        return isEmpty
    }

    /// Counts a registration that is about to be made; false if the loop has ended. ``add(_:for:)`` must follow, and
    /// ``cancelReservation()`` if that fails.
    ///
    /// Counting comes first, so that a loop that is about to end sees the count, or the caller sees that the loop has ended.
    borrowing func reserve() -> Bool {
        if registrations.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue > 0 { return true }
        cancelReservation()
        return false
    }

    /// Withdraws a reservation. A loop that was about to end may have seen it, and must check again.
    borrowing func cancelReservation() {
        registrations.wrappingSubtract(1, ordering: .releasing)
    }

    /// Registers a descriptor. Returns nil, or an `errno`: EPERM for a descriptor that is always ready (a regular file).
    borrowing func add(_ descriptor: CInt, for point: WaitPoint) -> CInt? {
        var event = epoll_event()
        event.events =
            EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLPRI.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
        let reference = Unmanaged.passRetained(point)
        event.data.ptr = reference.toOpaque()
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else {
            let failure = errno
            reference.release()
            return failure
        }
        return nil
    }

    borrowing func remove(_ descriptor: CInt) {
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
    }

    /// Releases the registration's reference to the point, once no pending event can refer to it.
    borrowing func release(_ point: WaitPoint) {
        registrations.wrappingSubtract(1, ordering: .releasing)
        Unmanaged.passUnretained(point).release()
    }

    /// Wakes the loop, from any thread.
    borrowing func wakeUp() {
        eventfd_write(event, 1)
    }

    /// Wakes the loop after this time, which replaces the time set before.
    borrowing func wakeUp(afterMilliseconds milliseconds: CInt) {
        netkit_set_timer(timer, milliseconds)
    }

    /// Signals the points that have edges now.
    ///
    /// The kernel returns events in order, so this many calls return each event that was there at the beginning. Edges that come later
    /// make the descriptor readable again.
    borrowing func poll() {
        for _ in 0...registrations.load(ordering: .relaxed) / EpollSet.maxEvents {
            if wait(milliseconds: 0).eventCount < EpollSet.maxEvents { return }
        }
    }

    /// Waits for edges and signals the points that have them. Returns the wakeups that occurred, and the number of events.
    @inline(__always)
    borrowing func wait(milliseconds: CInt) -> (wakeups: Wakeups, eventCount: Int) {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: EpollSet.maxEvents) { events in
            let count = Int(epoll_wait(epoll, events.baseAddress!, CInt(EpollSet.maxEvents), milliseconds))
            var wakeups: Wakeups = []
            var index = 0
            while index < count {
                if events[index].data.u64 > EpollSet.timerMark, let pointer = events[index].data.ptr {
                    let mask = events[index].events
                    Unmanaged<WaitPoint>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.receive(mask) }
                } else {
                    wakeups.insert(events[index].data.u64 == EpollSet.eventMark ? .event : .timer)
                }
                index += 1
            }
            return (wakeups, count)
        }
    }
}

/// An object that watches descriptors for wait points with an ``EpollSet``: an event loop or a poller.
protocol DescriptorRegistrar: AnyObject, Sendable {
    /// Begins to watch a point's descriptor, in both directions. Returns nil or an `errno`.
    func register(_ point: WaitPoint, descriptor: CInt) -> CInt?

    /// Stops watching a descriptor; ``retire(_:)`` must follow.
    func remove(descriptor: CInt)

    /// Releases a point that is no longer watched. An event that was received before may still refer to it, so it is kept until
    /// those have been processed.
    func retire(_ point: WaitPoint)
}

extension WaitPoint {
    /// Converts epoll's mask to signals for both halves: a TLS read may wait for writable, and a write for readable.
    @inline(__always)
    fileprivate func receive(_ mask: UInt32) {
        let ending = mask & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0
        var interest: Interest = []
        if ending || mask & EPOLLIN.rawValue != 0 { interest.insert(.readable) }
        if mask & (EPOLLOUT.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { interest.insert(.writable) }
        if ending || mask & EPOLLPRI.rawValue != 0 {
            note(isEnding: ending, isUrgent: mask & EPOLLPRI.rawValue != 0)
        }
        signal(interest)
    }
}
