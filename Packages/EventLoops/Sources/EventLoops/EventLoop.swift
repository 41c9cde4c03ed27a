internal import CEventLoops
internal import Glibc
internal import Synchronization

/// One thread that waits for descriptors and timers, and runs the tasks that prefer it.
///
/// ```swift
/// let pages = try await withNetworkExecutor {
///     try await load(addresses)          // its reads resume on the loop's own thread, without a hop
/// }
/// ```
///
/// Theory of operation. The loop is a `TaskExecutor`, so a task that prefers it is resumed by being put on the loop's own
/// queue: no lock, no other thread. A turn looks at the descriptors (edge-triggered epoll, without waiting if something is
/// queued), then runs one batch of what is queued, then the timers that are due; so tasks that yield to each other cannot
/// starve I/O. What other threads hand in goes through one locked inbox and an eventfd.
///
/// Nothing can pre-empt a task: one that computes for 50 ms delays all others on its loop by 50 ms. Compute elsewhere, or
/// on a private loop (``init(name:)``). ``onSlowTurn`` tells of turns over 100 ms; debug builds print them. ``lateness`` measures
/// how late timers fired.
///
/// A loop lives until ``shutdown()``; ``shared`` lives as long as the process.
public final class EventLoop: TaskExecutor, Sendable {
    /// The loop that is used where no other is named; its thread starts at first use.
    public static let shared = EventLoop(name: "netkit-loop", isShared: true)

    /// A turn longer than this is reported to ``onSlowTurn``.
    public static let slowTurnLimit: Duration = .milliseconds(100)

    /// How long at most ``executeLazily(_:)`` puts a body off.
    public static let laziness: Duration = .milliseconds(EventLoop.lazyMilliseconds)
    private static let lazyMilliseconds: CInt = 5

    /// The loop's name, which is also its thread's (the kernel keeps the first 15 bytes).
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
    /// Held while a descriptor is registered or taken back, so that closing a point cannot come in between; see
    /// ``WaitPoint/stopWatching()``.
    let registering = Locked<Void>(())
    private let inbox = Locked(LoopInbox())
    private let turn = LoopTurn()
    private let thread = Atomic<UInt>(0)
    private let slowTurn = Locked<(@Sendable (Duration) -> Void)?>(nil)
    private let watchesTurns = Atomic<Bool>(false)
    private let measured = Locked(LoopLateness())

    /// Starts a private loop with a thread of its own. Call ``shutdown()`` when done with it.
    ///
    /// Traps when the system gives no thread or not three descriptors: there is nothing to wait with then.
    public convenience init(name: String) {
        self.init(name: name, isShared: false)
    }

    private init(name: String, isShared: Bool) {
        self.name = name
        self.isShared = isShared
        serial = LoopSerialExecutor()
        serial.attach(self)
        #if DEBUG
        onSlowTurn = { EventLoop.printSlowTurn(of: name, lasting: $0) }
        #endif
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { reference in
                if let reference { Unmanaged<EventLoop>.fromOpaque(reference).takeRetainedValue().main() }
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        precondition(failure == 0, "EventLoop: the system gives no thread (pthread_create: \(failure))")
        self.thread.store(thread, ordering: .relaxed)
        pthread_detach(thread)
    }

    /// True on the loop's own thread.
    @inline(__always)
    public var isCurrent: Bool { pthread_self() == thread.load(ordering: .relaxed) }

    /// Told of each turn longer than ``slowTurnLimit``, on the loop's thread; nil to say nothing.
    ///
    /// Nil by default in release builds; debug builds print one line on standard error.
    public var onSlowTurn: (@Sendable (Duration) -> Void)? {
        get { slowTurn.withLock { $0 } }
        set {
            let old = slowTurn.withLock { exchange(&$0, with: newValue) }
            watchesTurns.store(newValue != nil, ordering: .relaxed)
            withExtendedLifetime(old) {}  // released after the lock
        }
    }

    /// How late timers have fired since the loop's start or the last ``resetLateness()``; may be read on any thread.
    public var lateness: LoopLateness { measured.withLock { $0 } }

    /// Starts measuring ``lateness`` anew, and returns what was measured until now.
    ///
    /// Nothing that is measured meanwhile is lost or counted twice.
    @discardableResult
    public func resetLateness() -> LoopLateness {
        measured.withLock { exchange(&$0, with: LoopLateness()) }
    }

    /// Ends a private loop: its thread and its descriptors go once nothing is left to do: no job, no timer, no watched
    /// descriptor.
    ///
    /// Returns at once. Jobs that arrive after the thread has gone run on ``shared``; descriptors can't be watched any
    /// more (``Wake/failed(_:)`` with ESHUTDOWN). Shutting ``shared`` down does nothing.
    public func shutdown() {
        if isShared { return }
        handIn { $0.isStopping = true }
    }

    /// Runs `body` on the loop's thread, soon; never before this call returns.
    public func execute(_ body: @escaping @Sendable () -> Void) {
        if isCurrent { turn.bodies.append(body) } else { handIn { $0.bodies.append(body) } }
    }

    /// Runs `body` on the loop's thread like ``execute(_:)``, but does not wake a loop that sleeps for it: the body waits for the
    /// next one who does, or for ``laziness``.
    ///
    /// For what is likely to be of no use any more by then: waking a thread costs ten times as much as this call.
    public func executeLazily(_ body: @escaping @Sendable () -> Void) {
        if isCurrent { turn.bodies.append(body) } else { handIn(lazily: true) { $0.bodies.append(body) } }
    }

    /// Runs `body` on the loop's thread once `deadline` has come, to the millisecond, never early.
    @discardableResult
    public func schedule(at deadline: Moment, _ body: @escaping @Sendable () -> Void) -> LoopTimer {
        let timer = LoopTimer(deadline: deadline, loop: self, body: body)
        if isCurrent { turn.timers.insert(timer) } else { handIn { $0.newTimers.append(timer) } }
        return timer
    }

    /// Queues a task's job; called by the Swift runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        push(LoopJob(job: UnownedJob(job), isSerial: false))
    }
}

// MARK: - What the package's own types ask of it

extension EventLoop {
    func enqueueSerial(_ job: UnownedJob) {
        push(LoopJob(job: job, isSerial: true))
    }

    func remove(_ timer: LoopTimer) {
        if isCurrent { turn.timers.remove(timer) } else { handIn { $0.oldTimers.append(timer) } }
    }

    /// How many timers stand; asked on the loop's own thread.
    var timerCount: Int { turn.timers.count }

    /// True once a private loop's thread and descriptors have gone.
    var hasEnded: Bool { inbox.withLock { $0.hasEnded } }

    /// Watches a point's descriptor from now on, both ways. Nil, or the `errno` that stood against it, ESHUTDOWN when the loop
    /// has ended.
    func register(_ point: WaitPoint, descriptor: CInt) -> CInt? {
        guard epoll.reserve() else { return ESHUTDOWN }
        guard let failure = epoll.add(descriptor, for: point) else { return nil }
        cancelReservation()
        return failure
    }

    /// Takes back the count of a registration that failed. Invariant: a stopping loop looks again after each count that is taken
    /// back, or it would sleep for ever over one that it saw for a moment.
    func cancelReservation() {
        epoll.cancelReservation()
        handIn { _ in }
    }

    /// Stops watching; ``retire(_:)`` must follow.
    func remove(descriptor: CInt) {
        epoll.remove(descriptor)
    }

    /// Lets a point go that is not watched any more. An event harvested in this turn may still name it, so it is kept until the
    /// turn has ended.
    func retire(_ point: WaitPoint) {
        if isCurrent { turn.retired.append(point) } else { handIn { $0.retired.append(point) } }
    }
}

// MARK: - The thread

extension EventLoop {
    @inline(__always)
    private func push(_ job: LoopJob) {
        if isCurrent { turn.jobs.append(job) } else { handIn { $0.jobs.append(job) } }
    }

    private func handIn(lazily: Bool = false, _ change: (inout LoopInbox) -> Void) {
        let (mustRing, leftovers) = inbox.withLock { inbox -> (Bool, LoopInbox?) in
            change(&inbox)
            if inbox.hasEnded { return (false, inbox.takeLeftovers()) }
            if lazily {
                // Within the lock, so that it cannot end before; once in a few milliseconds at most.
                if !inbox.isRung, !inbox.isAlarmSet {
                    epoll.ring(inMilliseconds: EventLoop.lazyMilliseconds)
                    inbox.isAlarmSet = true
                }
                return (false, nil)
            }
            defer { inbox.isRung = true }
            return (!inbox.isRung, nil)
        }
        if mustRing { epoll.ring() }  // it cannot have ended before: it does not while `isRung` stands
        if let leftovers { forwardToShared(leftovers) }
    }

    private func main() {
        thread.store(pthread_self(), ordering: .relaxed)
        EventLoop.leaveSignalsToOthers()
        netkit_name_this_thread(String(decoding: name.utf8.prefix(15), as: UTF8.self))
        let executor = asUnownedTaskExecutor()
        let serialExecutor = serial.asUnownedSerialExecutor()
        var batch: [LoopJob] = []
        var due: [LoopTimer] = []
        var isStopping = false
        while true {
            let rings = epoll.wait(milliseconds: turn.hasWork ? 0 : pollTimeout(until: turn.timers.nextDeadline))
            if !rings.isEmpty {
                inbox.withLock { inbox in
                    turn.take(&inbox, after: rings)
                    isStopping = inbox.isStopping
                }
            }
            let start = watchesTurns.load(ordering: .relaxed) ? Moment.now : nil
            if !turn.jobs.isEmpty {
                turn.takeJobs(into: &batch)
                for entry in batch {
                    if entry.isSerial {
                        entry.job.runSynchronously(isolatedTo: serialExecutor, taskExecutor: executor)
                    } else {
                        entry.job.runSynchronously(on: executor)
                    }
                }
                batch.removeAll(keepingCapacity: true)
            }
            if !turn.bodies.isEmpty {
                for body in turn.takeBodies() { body() }
            }
            if !turn.timers.isEmpty {
                // Taken first: a timer that sets another one in the past must not keep the loop here for ever.
                let now = Moment.now
                turn.timers.takeDue(now: now, into: &due)
                if !due.isEmpty {
                    measured.withLock { [due] in $0.noteTimers(due: due.lazy.map(\.dueTime), at: now) }
                    for timer in due { timer.fire() }
                    due.removeAll(keepingCapacity: true)
                }
            }
            if !turn.retired.isEmpty {
                // All that was harvested in this turn has been signalled: no event names these any more.
                for point in turn.takeRetired() { epoll.release(point) }
            }
            if let start { endTurn(begun: start) }
            if isStopping, end() { return }
        }
    }

    /// Ends the thread if nothing is left to do; true if so.
    private func end() -> Bool {
        guard !turn.hasWork, turn.timers.isEmpty, turn.retired.isEmpty else { return false }
        return inbox.withLock { inbox in
            // While `isRung` stands, a thread is about to ring the bell, which must still be there.
            guard inbox.isEmpty, !inbox.isRung, epoll.end() else { return false }
            inbox.hasEnded = true
            thread.store(0, ordering: .relaxed)
            return true
        }
    }

    /// What came too late runs on the shared loop; an actor's jobs are still isolated to the actor's own executor.
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

    /// Blocks signals on this thread, as Dispatch does on its own, so that the program's `sigwait` and handlers get them.
    /// Those that a fault raises stay: were they blocked, the kernel would kill without a crash report.
    private static func leaveSignalsToOthers() {
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

    private static func printSlowTurn(of name: String, lasting time: Duration) {
        let line = "\(name): a turn took \(time); its tasks computed or blocked on the loop's thread\n"
        _ = line.utf8.withContiguousStorageIfAvailable { write(2, $0.baseAddress, $0.count) }
    }
}
