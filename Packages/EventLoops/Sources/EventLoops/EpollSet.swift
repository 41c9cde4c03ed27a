internal import CEventLoops
internal import Glibc
internal import Synchronization

/// An epoll descriptor, with the eventfd and the timerfd that wake its loop. The only file that calls epoll.
///
/// A set is closed until ``open(making:)`` has found descriptors for all three. The process may have none left just then.
///
/// Each registration owns its ``Watcher``, a ``WaitPoint`` (a retain, balanced by ``release(_:)``), because the kernel returns a
/// bare pointer. Both directions are registered once, edge-triggered, and remain registered until ``remove(_:)``.
struct EpollSet: ~Copyable, Sendable {
    /// The maximum number of events that one `epoll_wait` returns, whatever the peers send: the budget of a turn. Further
    /// events are returned by the next call.
    private static let maximumEvents = 64

    /// The wakeups, other than descriptors, that ended a wait.
    struct Wakeups: OptionSet, Sendable {
        let rawValue: UInt8
        /// ``EpollSet/wakeUp()`` was called.
        static let event = Wakeups(rawValue: 1)
        /// The time of ``EpollSet/wakeUp(at:)`` has passed.
        static let timer = Wakeups(rawValue: 2)
    }

    // -1 while the set is closed. Changed only before the first registration and after the last one.
    private let epoll = Atomic<CInt>(-1)
    private let event = Atomic<CInt>(-1)
    private let timer = Atomic<CInt>(-1)
    /// Why the set is closed: the `errno` of the latest ``open(making:)`` that has failed.
    private let failure = Atomic<CInt>(EBADF)
    /// The number of watched descriptors; ``ended`` once no more may be added.
    private let registrations = Atomic<Int>(0)
    private static let ended = Int.min / 2
    /// The epoll data of the eventfd and the timerfd; the data of a watcher is its address.
    private static let eventMark: UInt64 = 0
    private static let timerMark: UInt64 = 1

    /// Makes a closed set.
    init() {}

    /// Makes a set that is polled, and so needs nothing to wake it. Nil if the system has no descriptor left.
    init?(isPolled: Void) {
        let epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        if epoll < 0 { return nil }
        self.epoll.store(epoll, ordering: .relaxed)
    }

    /// Makes the descriptors. Returns nil, or the `errno` of the call that failed; the set is then still closed.
    ///
    /// - Parameter makeEpoll: makes the epoll descriptor; a test replaces it.
    borrowing func open(
        making makeEpoll: @escaping () -> CInt = { epoll_create1(CInt(EPOLL_CLOEXEC)) }
    ) -> CInt? {
        var made: [CInt] = []
        for make in [makeEpoll, { eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC)) }, netkit_make_timer] {
            let descriptor = make()
            if descriptor < 0 { return giveUp(made, errno) }
            made.append(descriptor)
        }
        for (descriptor, mark) in [(made[1], EpollSet.eventMark), (made[2], EpollSet.timerMark)] {
            var event = epoll_event()
            // Edge-triggered, so that each write wakes the loop once and the counter need not be read.
            event.events = EPOLLIN.rawValue | EPOLLET.rawValue
            event.data.u64 = mark
            if epoll_ctl(made[0], EPOLL_CTL_ADD, descriptor, &event) != 0 { return giveUp(made, errno) }
        }
        event.store(made[1], ordering: .relaxed)
        timer.store(made[2], ordering: .relaxed)
        epoll.store(made[0], ordering: .releasing)
        return nil
    }

    private borrowing func giveUp(_ descriptors: [CInt], _ number: CInt) -> CInt {
        for descriptor in descriptors { close(descriptor) }
        failure.store(number, ordering: .relaxed)
        return number
    }

    /// Whether the set has its descriptors.
    var isOpen: Bool { epoll.load(ordering: .acquiring) >= 0 }

    deinit { _ = end() }

    /// The epoll descriptor, which is readable while a watched descriptor has an edge.
    var descriptor: CInt { epoll.load(ordering: .relaxed) }

    /// The timerfd; -1 while the set is closed.
    var timerDescriptor: CInt { timer.load(ordering: .relaxed) }

    /// Closes the descriptors unless one is being watched; true if they are closed. No wakeup may follow.
    borrowing func end() -> Bool {
        let isEmpty = registrations.compareExchange(
            expected: 0, desired: EpollSet.ended, ordering: .acquiringAndReleasing
        ).exchanged
        if isEmpty {
            for descriptor in [descriptor, event.load(ordering: .relaxed), timerDescriptor] where descriptor >= 0 {
                close(descriptor)
            }
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

    /// Registers a descriptor. Returns nil, or an `errno`: EPERM for a descriptor that is always ready (a regular file); while the set
    /// is closed, that of ``open(making:)``: EMFILE if the process has used up its descriptors, ENFILE the system.
    borrowing func add(_ descriptor: CInt, for watcher: Watcher) -> CInt? {
        guard isOpen else { return failure.load(ordering: .relaxed) }
        var event = epoll_event()
        event.events =
            EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLPRI.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
        let reference = Unmanaged.passRetained(watcher)
        event.data.ptr = reference.toOpaque()
        guard epoll_ctl(self.descriptor, EPOLL_CTL_ADD, descriptor, &event) == 0 else {
            let failure = errno
            reference.release()
            return failure
        }
        return nil
    }

    borrowing func remove(_ descriptor: CInt) {
        epoll_ctl(self.descriptor, EPOLL_CTL_DEL, descriptor, nil)
    }

    /// Releases the registration's reference to the watcher, once no pending event can refer to it.
    borrowing func release(_ watcher: Watcher) {
        registrations.wrappingSubtract(1, ordering: .releasing)
        Unmanaged.passUnretained(watcher).release()
    }

    /// Wakes the loop, from any thread.
    borrowing func wakeUp() {
        eventfd_write(event.load(ordering: .relaxed), 1)
    }

    /// Wakes the loop at this moment, which replaces the one that was set before. A machine that sleeps then wakes the loop as soon as
    /// it is awake.
    borrowing func wakeUp(at moment: Moment) {
        netkit_set_timer(timerDescriptor, moment.nanosecondsSinceBoot)
    }

    /// Tells each watcher of its edge, if there is one now.
    ///
    /// The kernel returns events in order, so this many calls return each event that was there at the beginning. Edges that come later
    /// make the descriptor readable again.
    borrowing func poll() {
        for _ in 0...registrations.load(ordering: .relaxed) / EpollSet.maximumEvents {
            if wait(milliseconds: 0).eventCount < EpollSet.maximumEvents { return }
        }
    }

    /// Waits for edges and tells the watchers of them. Returns the wakeups that occurred, and the number of events.
    borrowing func wait(milliseconds: CInt) -> (wakeups: Wakeups, eventCount: Int) {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: EpollSet.maximumEvents) { events in
            let count = Int(epoll_wait(descriptor, events.baseAddress!, CInt(EpollSet.maximumEvents), milliseconds))
            var wakeups: Wakeups = []
            var index = 0
            while index < count {
                if events[index].data.u64 > EpollSet.timerMark, let pointer = events[index].data.ptr {
                    let edge = Edge(mask: events[index].events)
                    Unmanaged<Watcher>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.receive(edge) }
                } else {
                    wakeups.insert(events[index].data.u64 == EpollSet.eventMark ? .event : .timer)
                }
                index += 1
            }
            return (wakeups, count)
        }
    }
}

extension Edge {
    /// Converts epoll's mask.
    fileprivate init(mask: UInt32) {
        isEnding = mask & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0
        isUrgent = mask & EPOLLPRI.rawValue != 0
        interest = []
        if isEnding || mask & EPOLLIN.rawValue != 0 { interest.insert(.readable) }
        if mask & (EPOLLOUT.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { interest.insert(.writable) }
    }
}
