internal import CEventLoops
internal import Glibc
internal import Synchronization

/// The loop's epoll descriptor, its bell and its alarm clock. The only file that calls epoll.
///
/// Each registration owns its ``WaitPoint`` (a retain that ``release(_:)`` gives back), since the kernel hands back a bare
/// pointer. Both directions are registered once, edge-triggered, and stay so until ``remove(_:)``.
struct EpollSet: ~Copyable, Sendable {
    /// How many events one look at the descriptors harvests at most, whatever the peers send: the budget of a turn. What is left
    /// comes with the next look.
    private static let harvest = 64

    /// What besides descriptors ended a wait.
    struct Rings: OptionSet, Sendable {
        let rawValue: UInt8
        /// The bell: ``EpollSet/ring()``.
        static let bell = Rings(rawValue: 1)
        /// The alarm: ``EpollSet/ring(inMilliseconds:)``.
        static let alarm = Rings(rawValue: 2)
    }

    private let epoll: CInt
    private let bell: CInt
    private let alarm: CInt
    /// How many descriptors are watched; ``ended`` once nothing may be added any more.
    private let registrations = Atomic<Int>(0)
    private static let ended = Int.min / 2
    /// The event data of the bell and the alarm; that of a point is its address.
    private static let bellMark: UInt64 = 0
    private static let alarmMark: UInt64 = 1

    init() {
        epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        bell = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        alarm = netkit_make_alarm()
        var event = epoll_event()
        // Edge-triggered, so that ringing wakes the loop once and nobody has to read the count back.
        event.events = EPOLLIN.rawValue | EPOLLET.rawValue
        event.data.u64 = EpollSet.bellMark
        var failed = epoll < 0 || bell < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, bell, &event) != 0
        event.data.u64 = EpollSet.alarmMark
        failed = failed || alarm < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, alarm, &event) != 0
        precondition(!failed, "EventLoop: the system gives no descriptor for a loop (errno \(errno))")
    }

    deinit { _ = end() }

    /// Closes the descriptors if nothing is watched; true if so. Nobody may ring afterwards.
    borrowing func end() -> Bool {
        let isEmpty = registrations.compareExchange(
            expected: 0, desired: EpollSet.ended, ordering: .acquiringAndReleasing
        ).exchanged
        if isEmpty {
            close(epoll)
            close(bell)
            close(alarm)
        }
        return isEmpty
    }

    /// Counts a registration that is about to be made; false once the loop has ended. Follow it by ``add(_:for:)``, and by
    /// ``cancelReservation()`` if that fails.
    ///
    /// Counted first: a loop about to end either sees the count or is seen to have ended.
    borrowing func reserve() -> Bool {
        if registrations.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue > 0 { return true }
        cancelReservation()
        return false
    }

    /// Takes a reservation back. A loop that was about to end meanwhile has seen it and must look again.
    borrowing func cancelReservation() {
        registrations.wrappingSubtract(1, ordering: .releasing)
    }

    /// Nil, or the `errno` that stood against it: EPERM for what can always be read (plain files).
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

    /// Gives back the registration's ownership, when no harvested event can name the point any more.
    borrowing func release(_ point: WaitPoint) {
        registrations.wrappingSubtract(1, ordering: .releasing)
        Unmanaged.passUnretained(point).release()
    }

    /// Wakes the loop, from any thread.
    borrowing func ring() {
        eventfd_write(bell, 1)
    }

    /// Rings the bell once so much time has passed, instead of whatever time was set before.
    borrowing func ring(inMilliseconds milliseconds: CInt) {
        netkit_set_alarm(alarm, milliseconds)
    }

    /// Waits for edges, signals the points that have them, and returns which of bell and alarm rang.
    @inline(__always)
    borrowing func wait(milliseconds: CInt) -> Rings {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: EpollSet.harvest) { events in
            let count = Int(epoll_wait(epoll, events.baseAddress, CInt(EpollSet.harvest), milliseconds))
            var rings: Rings = []
            var index = 0
            while index < count {
                if events[index].data.u64 > EpollSet.alarmMark, let pointer = events[index].data.ptr {
                    let mask = events[index].events
                    Unmanaged<WaitPoint>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.receive(mask) }
                } else {
                    rings.insert(events[index].data.u64 == EpollSet.bellMark ? .bell : .alarm)
                }
                index += 1
            }
            return rings
        }
    }
}

extension WaitPoint {
    /// Turns epoll's mask into signals for both halves: a TLS read may wait for writable, and a write for readable.
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
