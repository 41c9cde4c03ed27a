/// A task's job, and for which of the loop's two executors it came.
///
/// The job itself does not tell, and running a plain task's job isolated to the serial executor would send each hop to
/// "no isolation" round the queue again: an eighth more time for a round trip.
struct LoopJob {
    var job: UnownedJob
    var isSerial: Bool
}

/// What other threads hand in to a loop, under its lock.
struct LoopInbox {
    var jobs: [LoopJob] = []
    var bodies: [@Sendable () -> Void] = []
    var newTimers: [LoopTimer] = []
    var oldTimers: [LoopTimer] = []
    var retired: [WaitPoint] = []
    /// A thread has rung the bell, or is about to, and the loop has not heard it yet. Invariant: only hearing that ring clears it, so
    /// while it is false no thread is about to write to the bell's descriptor.
    var isRung = false
    /// It will be rung before long, for what can wait until then.
    var isAlarmSet = false
    var isStopping = false
    /// The thread has gone; nobody empties this any more.
    var hasEnded = false

    var isEmpty: Bool {
        jobs.isEmpty && bodies.isEmpty && newTimers.isEmpty && oldTimers.isEmpty && retired.isEmpty
    }

    mutating func takeLeftovers() -> LoopInbox {
        let leftovers = self
        self = LoopInbox(isStopping: true, hasEnded: true)
        return leftovers
    }
}

/// What only the loop's own thread touches.
///
/// The state lies behind a raw pointer, which spares an exclusivity check at each access to a class's stored property.
struct LoopTurn: ~Copyable {
    // Not private: a non-copyable type with a private stored type breaks the 6.3.1 compiler when its deinit is inlined.
    struct State {
        var jobs: [LoopJob] = []
        var bodies: [@Sendable () -> Void] = []
        var timers = TimerQueue()
        var retired: [WaitPoint] = []
    }

    private let state: UnsafeMutablePointer<State>

    init() {
        state = .allocate(capacity: 1)
        state.initialize(to: State())
    }

    deinit {
        state.deinitialize(count: 1)
        state.deallocate()
    }

    var jobs: [LoopJob] {
        @inline(__always) _read { yield state.pointee.jobs }
        @inline(__always) nonmutating _modify { yield &state.pointee.jobs }
    }

    var bodies: [@Sendable () -> Void] {
        _read { yield state.pointee.bodies }
        nonmutating _modify { yield &state.pointee.bodies }
    }

    var timers: TimerQueue {
        _read { yield state.pointee.timers }
        nonmutating _modify { yield &state.pointee.timers }
    }

    var retired: [WaitPoint] {
        _read { yield state.pointee.retired }
        nonmutating _modify { yield &state.pointee.retired }
    }

    /// True if the next look at the descriptors must not wait.
    var hasWork: Bool { !state.pointee.jobs.isEmpty || !state.pointee.bodies.isEmpty }

    /// Moves everything out of the inbox.
    borrowing func take(_ inbox: inout LoopInbox, after rings: EpollSet.Rings) {
        if rings.contains(.bell) { inbox.isRung = false }
        if rings.contains(.alarm) { inbox.isAlarmSet = false }
        if jobs.isEmpty {
            swap(&state.pointee.jobs, &inbox.jobs)
        } else {
            jobs.append(contentsOf: inbox.jobs)
            inbox.jobs.removeAll(keepingCapacity: true)
        }
        if inbox.isEmpty { return }
        bodies.append(contentsOf: inbox.bodies)
        retired.append(contentsOf: inbox.retired)
        // One that the loop's own thread cancelled meanwhile was not in the queue to be removed from it.
        for timer in inbox.newTimers where !timer.isSpent { timers.insert(timer) }
        for timer in inbox.oldTimers { timers.remove(timer) }
        inbox.bodies.removeAll()
        inbox.retired.removeAll()
        inbox.newTimers.removeAll()
        inbox.oldTimers.removeAll()
    }

    @inline(__always)
    borrowing func takeJobs(into batch: inout [LoopJob]) {
        swap(&batch, &state.pointee.jobs)
    }

    borrowing func takeBodies() -> [@Sendable () -> Void] {
        var taken: [@Sendable () -> Void] = []
        swap(&taken, &state.pointee.bodies)
        return taken
    }

    borrowing func takeRetired() -> [WaitPoint] {
        var taken: [WaitPoint] = []
        swap(&taken, &state.pointee.retired)
        return taken
    }
}

// Only the loop's own thread uses it (`EventLoop` asks `isCurrent` first), so it never is in two threads at once.
extension LoopTurn: @unchecked Sendable {}
