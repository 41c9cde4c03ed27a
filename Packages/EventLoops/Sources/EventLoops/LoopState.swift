/// A task's job, and which of the loop's two executors it was enqueued on.
///
/// The job itself does not contain this. If a plain task's job ran isolated to the serial executor, each hop to "no isolation"
/// would pass through the queue again, which makes a round trip an eighth slower.
struct LoopJob {
    var job: UnownedJob
    var isSerial: Bool
}

/// The work that other threads submit to a loop. Guarded by the loop's lock.
struct LoopInbox {
    var jobs: [LoopJob] = []
    var bodies: [@Sendable () -> Void] = []
    var newTimers: [LoopTimer] = []
    var oldTimers: [LoopTimer] = []
    var retired: [Watcher] = []
    /// A thread has written to the loop's eventfd, or is about to, and the loop has not seen it yet.
    ///
    /// Invariant: only the wakeup caused by that write clears the flag. While it is false, no thread is about to write to the
    /// eventfd.
    var isSignalled = false
    /// When the timerfd will wake the loop: for its first timer, or earlier for work that can wait a little. Nil if it is not set.
    var alarm: Moment?
    /// The loop has no descriptors, and looks into the inbox every few milliseconds.
    var isPolled = false
    var isStopping = false
    /// The thread has ended; the inbox is not emptied any more.
    var hasEnded = false

    var isEmpty: Bool {
        jobs.isEmpty && bodies.isEmpty && newTimers.isEmpty && oldTimers.isEmpty && retired.isEmpty
    }

    /// Makes the loop wake at `moment`, unless it wakes earlier anyway.
    mutating func setAlarm(_ moment: Moment, of epoll: borrowing EpollSet) {
        if let alarm, alarm <= moment { return }
        epoll.wakeUp(at: moment)
        alarm = moment
    }

    mutating func takeLeftovers() -> LoopInbox {
        let leftovers = self
        self = LoopInbox(isStopping: true, hasEnded: true)
        return leftovers
    }
}

/// The time that a turn and its present job have taken, and whether the job should end.
///
/// Time counts from the first measurement, since most turns contain no job that asks for one.
struct TurnShare {
    /// The time that one job may take, counted from its first question whether its share is spent (``EventLoop/isShareSpent``).
    static let jobBudget: Duration = .milliseconds(1)
    /// The time after which a turn's remaining jobs make only one step each, counted from the turn's first such question.
    static let turnBudget: Duration = .milliseconds(10)

    private var turnStart: Moment?
    private var jobStart: Moment?

    mutating func beginTurn() {
        turnStart = nil
        jobStart = nil
    }

    mutating func beginJob() { jobStart = nil }

    /// Measures the turn and its present job, from their first measurement. Returns whether the job has used up its share; see
    /// ``EventLoop/isShareSpent``.
    mutating func measure(now: Moment) -> Bool {
        let turnStart = turnStart ?? now
        let jobStart = jobStart ?? now
        self.turnStart = turnStart
        self.jobStart = jobStart
        return jobStart.duration(to: now) >= TurnShare.jobBudget || turnStart.duration(to: now) >= TurnShare.turnBudget
    }
}

/// The state of a loop that only its own thread uses.
///
/// The state is behind a raw pointer, which avoids an exclusivity check at each access to a stored property of a class.
struct LoopState: ~Copyable {
    // Not private: a non-copyable type with a private stored type breaks the 6.3.1 compiler when its deinit is inlined.
    struct State {
        var jobs: [LoopJob] = []
        var bodies: [@Sendable () -> Void] = []
        var timers = TimerQueue()
        var retired: [Watcher] = []
        /// The last known time of ``LoopInbox/alarm``, which other threads only bring forward.
        var alarm: Moment?
        var share = TurnShare()
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
        _read { yield state.pointee.jobs }
        nonmutating _modify { yield &state.pointee.jobs }
    }

    var bodies: [@Sendable () -> Void] {
        _read { yield state.pointee.bodies }
        nonmutating _modify { yield &state.pointee.bodies }
    }

    var timers: TimerQueue {
        _read { yield state.pointee.timers }
        nonmutating _modify { yield &state.pointee.timers }
    }

    var retired: [Watcher] {
        _read { yield state.pointee.retired }
        nonmutating _modify { yield &state.pointee.retired }
    }

    var alarm: Moment? {
        get { state.pointee.alarm }
        nonmutating set { state.pointee.alarm = newValue }
    }

    var share: TurnShare {
        _read { yield state.pointee.share }
        nonmutating _modify { yield &state.pointee.share }
    }

    /// True if work is queued, so that the next `epoll_wait` must not wait.
    var hasWork: Bool { !state.pointee.jobs.isEmpty || !state.pointee.bodies.isEmpty }

    /// Moves everything out of the inbox.
    borrowing func take(_ inbox: inout LoopInbox, after wakeups: EpollSet.Wakeups) {
        if wakeups.contains(.event) { inbox.isSignalled = false }
        if wakeups.contains(.timer) { (inbox.alarm, alarm) = (nil, nil) }
        if jobs.isEmpty {
            swap(&state.pointee.jobs, &inbox.jobs)
        } else {
            jobs.append(contentsOf: inbox.jobs)
            inbox.jobs.removeAll(keepingCapacity: true)
        }
        if inbox.isEmpty { return }
        bodies.append(contentsOf: inbox.bodies)
        retired.append(contentsOf: inbox.retired)
        // A timer that the loop's own thread has cancelled meanwhile was not in the queue, so it could not be removed.
        for timer in inbox.newTimers where !timer.isSpent { timers.insert(timer) }
        for timer in inbox.oldTimers { timers.remove(timer) }
        inbox.bodies.removeAll()
        inbox.retired.removeAll()
        inbox.newTimers.removeAll()
        inbox.oldTimers.removeAll()
    }

    borrowing func takeJobs(into batch: inout [LoopJob]) {
        swap(&batch, &state.pointee.jobs)
    }

    borrowing func takeBodies() -> [@Sendable () -> Void] {
        var taken: [@Sendable () -> Void] = []
        swap(&taken, &state.pointee.bodies)
        return taken
    }

    borrowing func takeRetired() -> [Watcher] {
        var taken: [Watcher] = []
        swap(&taken, &state.pointee.retired)
        return taken
    }
}

// Only the loop's own thread uses it, because `EventLoop` checks `isCurrent` first.
extension LoopState: @unchecked Sendable {}
