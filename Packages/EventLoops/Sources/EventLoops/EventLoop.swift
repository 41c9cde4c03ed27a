internal import CEventLoops
internal import Glibc
internal import Synchronization

/// A thread that waits for descriptors and timers, and runs the tasks that prefer it.
///
/// ```swift
/// let pages = try await withNetworkExecutor {
///     try await load(addresses)          // its reads resume on the loop's thread, without a thread switch
/// }
/// ```
///
/// Theory of operation. The loop is a `TaskExecutor`: resuming a task that prefers it appends the task to the loop's own queue,
/// without a lock or another thread. A turn checks the descriptors (edge-triggered epoll, without waiting if work is queued) and
/// runs the bodies of ``execute(_:)``, one batch of jobs, and the bodies that these have left; timers that are due fire in between. Tasks that
/// yield to each other therefore cannot starve I/O. Other threads submit work through one locked inbox and an eventfd.
///
/// Tasks are not preempted: one that computes for 50 ms delays all others on its loop by 50 ms. A task whose work a peer can
/// prolong asks ``isShareSpent`` between its steps. Compute elsewhere, or on a private loop (``init(name:)``). ``onSlowTurn``
/// reports turns over 100 ms. ``lateness`` measures how late timers fired.
///
/// A loop lives until ``shutdown()``; ``shared`` lives as long as the process.
public final class EventLoop: TaskExecutor, Sendable {
    /// The default loop. Its thread starts at first use.
    public static let shared = EventLoop(name: "netkit-loop", isShared: true)

    /// A turn longer than this is reported to ``onSlowTurn``.
    public static let slowTurnLimit: Duration = .milliseconds(100)

    /// The longest time by which ``executeDeferred(_:)`` delays a body.
    static let maximumDeferral: Duration = .milliseconds(5)

    /// How long a loop without descriptors sleeps between two looks for work and for descriptors.
    private static let pollingPause: Duration = .milliseconds(10)

    /// The name of the loop and of its thread, of which the kernel keeps the first 15 bytes.
    public let name: String

    /// The loop as the executor of actors.
    ///
    /// ```swift
    /// actor Session {
    ///     nonisolated var unownedExecutor: UnownedSerialExecutor { EventLoop.shared.serial.asUnownedSerialExecutor() }
    /// }
    /// ```
    public let serial: LoopSerialExecutor

    private let isShared: Bool
    let epoll = EpollSet()
    /// Held while a descriptor is registered or its registration removed, so that closing a point cannot interfere.
    let registering = Locked<Void>(())
    let inbox = Locked(LoopInbox())
    private let state = LoopState()
    private let thread = Atomic<UInt>(0)
    private let slowTurn = Locked(SlowTurnHook())
    private let watchesTurns = Atomic<Bool>(false)
    private let measured = Locked(LoopLateness())

    /// Starts a private loop with its own thread. Call ``shutdown()`` when it is no longer needed.
    ///
    /// Traps if the system cannot create a thread. If the process has no descriptors left, of which a loop needs three, the loop runs
    /// jobs and timers all the same, at most 10 ms late, and watches no descriptor (``Wake/failed(_:)`` with EMFILE, or ENFILE if the
    /// system has none left). It takes its descriptors as soon as there are some.
    public convenience init(name: String) {
        self.init(name: name, isShared: false)
    }

    private init(name: String, isShared: Bool) {
        self.name = name
        self.isShared = isShared
        serial = LoopSerialExecutor()
        serial.attach(self)
        if epoll.open() != nil { inbox.withLock { $0.isPolled = true } }
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { reference in
                if let reference { Unmanaged<EventLoop>.fromOpaque(reference).takeRetainedValue().main() }
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        precondition(failure == 0, "EventLoop: the system could not create a thread (pthread_create: \(failure))")
        self.thread.store(thread, ordering: .relaxed)
        pthread_detach(thread)
    }

    /// True on the loop's own thread.
    public var isCurrent: Bool { pthread_self() == thread.load(ordering: .relaxed) }

    /// Called with the duration of each turn longer than ``slowTurnLimit``, on the loop's thread. Default: nil, which reports
    /// and measures nothing.
    ///
    /// ```swift
    /// EventLoop.shared.onSlowTurn = { logger.warning("the loop was busy for \($0)") }
    /// ```
    public var onSlowTurn: (@Sendable (Duration) -> Void)? {
        get { slowTurn.withLock { $0.report } }
        set {
            let old = slowTurn.withLock { exchange(&$0.report, with: newValue) }
            watchesTurns.store(newValue != nil, ordering: .relaxed)
            withExtendedLifetime(old) {}  // released after the lock
        }
    }

    /// How late timers have fired since the loop's start or the last ``resetLateness()``. May be read on any thread.
    public var lateness: LoopLateness { measured.withLock { $0 } }

    /// Restarts the measurement of ``lateness`` and returns the previous values.
    ///
    /// The exchange is atomic: no measurement is lost or counted twice.
    @discardableResult
    public func resetLateness() -> LoopLateness {
        measured.withLock { exchange(&$0, with: LoopLateness()) }
    }

    /// Ends a private loop. Its thread ends and its descriptors are closed once it has no job, no timer and no watched
    /// descriptor left.
    ///
    /// Returns at once. Jobs that arrive after the thread has ended run on ``shared``; descriptors can no longer be watched
    /// (``Wake/failed(_:)`` with ESHUTDOWN). Has no effect on ``shared``.
    public func shutdown() {
        if isShared { return }
        submit { $0.isStopping = true }
    }

    /// Runs `body` on the loop's thread soon, and never from inside this call.
    public func execute(_ body: @escaping @Sendable () -> Void) {
        if isCurrent { state.bodies.append(body) } else { submit { $0.bodies.append(body) } }
    }

    /// Runs `body` on the loop's thread like ``execute(_:)``, but does not wake a sleeping loop: the body runs when the loop next
    /// wakes for another reason, at the latest after 5 ms.
    ///
    /// For work that is probably unnecessary by then: waking a thread costs ten times as much as this call.
    @_spi(Packages) public func executeDeferred(_ body: @escaping @Sendable () -> Void) {
        if isCurrent { state.bodies.append(body) } else { submit(lazily: true) { $0.bodies.append(body) } }
    }

    /// Runs `body` on the loop's thread at `deadline`: with a precision of a millisecond, and never early.
    @discardableResult
    public func schedule(at deadline: Moment, _ body: @escaping @Sendable () -> Void) -> LoopTimer {
        let timer = LoopTimer(deadline: deadline, removal: { [self] in remove($0) }, body: body)
        if isCurrent { state.timers.insert(timer) } else { submit { $0.newTimers.append(timer) } }
        return timer
    }

    /// Whether the job that runs on the loop's thread has used up its share of the turn, and should suspend (`Task.yield()`) before
    /// its next step. Always false on other threads.
    ///
    /// A job's share is 1 ms from its first question, and a single step once all jobs of the turn have taken 10 ms: however many peers send
    /// at full speed, the loop soon checks its descriptors again.
    ///
    /// ```swift
    /// while let message = messages.next() {
    ///     handle(message)
    ///     if loop.isShareSpent { await Task.yield() }
    /// }
    /// ```
    public var isShareSpent: Bool { isCurrent && state.share.measure(now: .now) }

    /// Suspends the calling task until `deadline`, with a timer of this loop.
    ///
    /// Prefer it to `Task.sleep` in servers: the timers of the Swift runtime need descriptors, and the process ends when it has none
    /// left.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public nonisolated(nonsending) func sleep(until deadline: Moment) async throws(CancellationError) {
        let point = WaitPoint(loop: self)  // which nothing signals
        guard point.enter(.reader) == .entered else { throw CancellationError() }
        defer { point.leave(.reader) }
        while true {
            switch await point.readerWait(for: .readable, until: deadline) {
            case .timedOut: return
            case .ready: continue
            case .cancelled, .closed, .busy, .failed: throw CancellationError()
            }
        }
    }

    /// Suspends the calling task for a duration. As ``sleep(until:)``.
    ///
    /// ```swift
    /// while true {
    ///     try await EventLoop.shared.sleep(for: .seconds(1))
    ///     print("tick")
    /// }
    /// ```
    public nonisolated(nonsending) func sleep(for duration: Duration) async throws(CancellationError) {
        try await sleep(until: .now + duration)
    }

    /// Queues a task's job; called by the Swift runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        push(LoopJob(job: UnownedJob(job), isSerial: false))
    }
}

// MARK: - For the package's own types

extension EventLoop {
    func enqueueSerial(_ job: UnownedJob) {
        push(LoopJob(job: job, isSerial: true))
    }

    func remove(_ timer: LoopTimer) {
        if isCurrent { state.timers.remove(timer) } else { submit { $0.oldTimers.append(timer) } }
    }

    /// The number of pending timers. Call on the loop's thread.
    var timerCount: Int { state.timers.count }

    /// True once a private loop's thread has ended and its descriptors are closed.
    var hasEnded: Bool { inbox.withLock { $0.hasEnded } }

    /// Withdraws the reservation of a registration that failed.
    ///
    /// Invariant: a stopping loop checks again after each withdrawal. Otherwise it could sleep forever because of a
    /// reservation that it saw for a moment.
    func cancelReservation() {
        epoll.cancelReservation()
        submit { _ in }
    }
}

extension EventLoop: DescriptorRegistrar {
    // Returns ESHUTDOWN if the loop has ended.
    func register(_ point: WaitPoint, descriptor: CInt) -> CInt? {
        guard epoll.reserve() else { return ESHUTDOWN }
        guard let failure = epoll.add(descriptor, for: point) else { return nil }
        cancelReservation()
        return failure
    }

    func remove(descriptor: CInt) { epoll.remove(descriptor) }

    // Until the turn has ended, an event of it may refer to the point.
    func retire(_ point: WaitPoint) {
        if isCurrent { state.retired.append(point) } else { submit { $0.retired.append(point) } }
    }
}

// MARK: - The thread

extension EventLoop {
    private func push(_ job: LoopJob) {
        if isCurrent { state.jobs.append(job) } else { submit { $0.jobs.append(job) } }
    }

    /// Changes the inbox, and wakes the loop unless the change can wait.
    private func submit(lazily: Bool = false, _ change: (inout LoopInbox) -> Void) {
        let (mustWake, leftovers) = inbox.withLock { inbox -> (Bool, LoopInbox?) in
            change(&inbox)
            if inbox.hasEnded { return (false, inbox.takeLeftovers()) }
            if inbox.isPolled { return (false, nil) }
            if lazily {
                // Under the lock, so that the loop cannot end first; at most once in a few milliseconds.
                if !inbox.isSignalled { inbox.setAlarm(.now + EventLoop.maximumDeferral, of: epoll) }
                return (false, nil)
            }
            defer { inbox.isSignalled = true }
            return (!inbox.isSignalled, nil)
        }
        if mustWake { epoll.wakeUp() }  // the loop has not ended: it does not end while `isSignalled` is true
        if let leftovers { forwardToShared(leftovers) }
    }

    private func main() {
        thread.store(pthread_self(), ordering: .relaxed)
        LoopThread.begin()
        EventLoop.blockSignals()
        netkit_name_this_thread(String(decoding: name.utf8.prefix(15), as: UTF8.self))
        let executor = asUnownedTaskExecutor()
        let serialExecutor = serial.asUnownedSerialExecutor()
        var batch: [LoopJob] = []
        var due: [LoopTimer] = []
        var isStopping = false
        while true {
            let wakeups = epoll.isOpen ? waitForEvents() : waitForDescriptors()
            if !wakeups.isEmpty {
                inbox.withLock { inbox in
                    state.take(&inbox, after: wakeups)
                    isStopping = inbox.isStopping
                }
            }
            let start = watchesTurns.load(ordering: .relaxed) ? Moment.now : nil
            state.share.beginTurn()
            // Before the jobs, since a body may resume one, and after them, since a job may leave work to a body: an answer to an event takes
            // one turn.
            runBodies(&due)
            if !state.jobs.isEmpty {
                state.takeJobs(into: &batch)
                for index in batch.indices {
                    if index > 0 { fireDueTimers(&due) }
                    state.share.beginJob()
                    let entry = batch[index]
                    if entry.isSerial {
                        entry.job.runSynchronously(isolatedTo: serialExecutor, taskExecutor: executor)
                    } else {
                        entry.job.runSynchronously(on: executor)
                    }
                }
                batch.removeAll(keepingCapacity: true)
            }
            runBodies(&due)
            fireDueTimers(&due)
            if !state.retired.isEmpty {
                // All events of this turn have been signalled, so none refers to these points any more.
                for point in state.takeRetired() { epoll.release(point) }
            }
            if let start { endTurn(begun: start) }
            if isStopping, end() { return }
        }
    }

    /// Runs what ``execute(_:)`` has been given until now.
    ///
    /// - Parameter due: as for ``fireDueTimers(_:)``.
    @inline(__always)
    private func runBodies(_ due: inout [LoopTimer]) {
        if state.bodies.isEmpty { return }
        for body in state.takeBodies() {
            state.share.beginJob()
            body()
            fireDueTimers(&due)
        }
    }

    /// Waits for the next event: of a descriptor, of another thread, or the alarm for the first timer.
    @inline(__always)
    private func waitForEvents() -> EpollSet.Wakeups {
        if state.hasWork { return epoll.wait(milliseconds: 0).wakeups }
        // An alarm that is too early wakes the loop once in vain. So most timers, which are cancelled, cost no system call.
        if let deadline = state.timers.nextDeadline, state.alarm.map({ $0 > deadline }) ?? true {
            state.alarm = inbox.withLock { inbox in
                inbox.setAlarm(deadline, of: epoll)
                return inbox.alarm
            }
        }
        return epoll.wait(milliseconds: -1).wakeups
    }

    /// Waits a little, and tries to make the loop's descriptors, of which the process had none left.
    private func waitForDescriptors() -> EpollSet.Wakeups {
        if !state.hasWork {
            var pause = EventLoop.pollingPause
            if let deadline = state.timers.nextDeadline { pause = min(pause, Moment.now.duration(to: deadline)) }
            usleep(UInt32(clamping: max(pause, .zero).components.attoseconds / 1_000_000_000_000))
        }
        // Under the lock: from then on, other threads wake the loop.
        inbox.withLock { if epoll.open() == nil { $0.isPolled = false } }
        return [.event, .timer]
    }

    /// Fires the timers that are due. Called between jobs, too: however many jobs a turn has, no timer waits for more than one.
    ///
    /// - Parameter due: an empty array, whose memory is used again.
    @inline(__always)
    private func fireDueTimers(_ due: inout [LoopTimer]) {
        if state.timers.isEmpty { return }
        // Collected first: a timer that schedules another one in the past must not keep the loop here forever.
        let now = Moment.now
        state.timers.takeDue(now: now, into: &due)
        if due.isEmpty { return }
        measured.withLock { [due] in $0.noteTimers(due: due.lazy.map(\.dueTime), at: now) }
        for timer in due { timer.fire() }
        due.removeAll(keepingCapacity: true)
    }

    /// Ends the thread if nothing is left to do; true if so.
    private func end() -> Bool {
        guard !state.hasWork, state.timers.isEmpty, state.retired.isEmpty else { return false }
        return inbox.withLock { inbox in
            // While `isSignalled` is true, a thread is about to write to the eventfd, which must still be open.
            guard inbox.isEmpty, !inbox.isSignalled, epoll.end() else { return false }
            inbox.hasEnded = true
            thread.store(0, ordering: .relaxed)
            return true
        }
    }

    /// Runs work that arrived after the end on the shared loop. An actor's jobs remain isolated to the actor's executor.
    private func forwardToShared(_ leftovers: LoopInbox) {
        for entry in leftovers.jobs {
            if entry.isSerial {
                EventLoop.shared.execute { [self] in
                    entry.job.runSynchronously(
                        isolatedTo: serial.asUnownedSerialExecutor(),
                        taskExecutor: EventLoop.shared.asUnownedTaskExecutor())
                }
            } else {
                EventLoop.shared.push(entry)
            }
        }
        for body in leftovers.bodies { EventLoop.shared.execute(body) }
        for timer in leftovers.newTimers where !timer.isSpent {
            EventLoop.shared.schedule(at: timer.deadline) { timer.fire() }
        }
    }

    /// Blocks signals on this thread, as Dispatch does on its threads, so that the program's own threads receive them.
    /// Signals that report a fault are not blocked: the kernel would then kill the process without a crash report.
    private static func blockSignals() {
        var set = sigset_t()
        sigfillset(&set)
        for fault in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP, SIGPROF] { sigdelset(&set, fault) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    private func endTurn(begun start: Moment) {
        let time = start.duration(to: .now)
        measured.withLock { $0.noteTurn(lasting: time) }
        if time > EventLoop.slowTurnLimit { onSlowTurn?(time) }
    }
}

/// The hook for slow turns. A structure: see Locked.
private struct SlowTurnHook {
    var report: (@Sendable (Duration) -> Void)?
}

/// An ``EventLoop`` as the executor of actors: ``EventLoop/serial``.
///
/// It does not keep the loop alive: an actor on a private loop must hold the loop itself.
public final class LoopSerialExecutor: SerialExecutor, Sendable {
    // Set once, in the loop's own init, before another thread can access either object. The loop outlives all use of its
    // executor.
    private nonisolated(unsafe) unowned(unsafe) var loop: EventLoop?

    init() {}

    func attach(_ loop: EventLoop) {
        self.loop = loop
    }

    /// Queues an actor's job; called by the Swift runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        loop?.enqueueSerial(UnownedJob(job))
    }

    /// Traps unless called on the loop's thread; called by the Swift runtime for `assumeIsolated`.
    public func checkIsolated() {
        precondition(loop?.isCurrent == true, "not on the event loop's thread")
    }
}

/// Runs `body` on the event loop's thread, where network calls resume without a thread switch.
///
/// ```swift
/// let total = try await withNetworkExecutor {
///     var total = 0
///     for try await chunk in stream.chunks() { total += chunk.count }
///     return total
/// }
/// ```
///
/// A read that has to wait costs about 1.1 times as much as in C there, 1.7 times on the default pool and 1.9 times on the main
/// actor. The loop's other work does not proceed while `body` computes, so keep long computations out of it.
///
/// The body is `@concurrent`, since the runtime ignores an executor preference set from an actor with an executor of its
/// own (such as the main actor) for code that stays on that actor.
///
/// - Parameters:
///   - loop: the loop whose thread to use.
///   - body: the closure to run. It may capture values that are not Sendable, if they have no other user.
/// - Throws: the error of `body`.
public nonisolated(nonsending) func withNetworkExecutor<Result: Sendable, Failure: Error>(
    _ loop: EventLoop = .shared,
    _ body: sending @concurrent () async throws(Failure) -> Result
) async throws(Failure) -> Result {
    // withTaskExecutorPreference loses the type of the error, so a Result carries it.
    let result: Swift.Result<Result, Failure> = await withTaskExecutorPreference(loop) {
        do throws(Failure) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
    return try result.get()
}
