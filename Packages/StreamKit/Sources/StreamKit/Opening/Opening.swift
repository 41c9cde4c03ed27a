@_spi(Packages) internal import EventLoops
internal import Synchronization

/// An opening in progress, and the wait point where the stream's callers wait for its end.
///
/// Theory of operation. ``OpeningWork`` proceeds in steps that never wait. Only the holder of the work item takes the
/// next step, so steps never overlap. While nothing holds the item, it is stored here, and a thread or the loop may
/// take it:
///
/// - A thread that blocks on the stream keeps the item until the stream is open. Meanwhile it waits in `poll(2)` for
///   what the work waits for and, at the same time, at this point. No other thread is woken.
/// - For tasks and callbacks that wait here, the loop takes a step, leaves an ``OpeningWatcher`` where the work waits,
///   and puts the item back. It continues when the watcher fires. A thread that begins to block meanwhile takes over. A
///   thread that waits here because the loop was executing a step is woken to take over.
///
/// The loop begins as soon as a task or a scheduled client waits here, or a thread has stopped waiting because its half was
/// closed or its deadline passed. In any case it begins after a few milliseconds, so that opening proceeds even if
/// nothing waits. A stream that a blocking thread opens and uses does not wake the loop at all.
///
/// Closing both halves removes the item for good. Its holder at that time notices at the end of the step or is woken
/// from waiting; the closing thread does not wait.
final class Opening: WaitPoint, @unchecked Sendable {
    // Unchecked only because the superclass is: mutable state is atomic or behind a lock.

    /// The work and its connection. Released when opening ends, even if this wait point lives on.
    private struct WorkItem {
        var work: any OpeningWork
        let connection: Connection
    }

    private struct State {
        /// Nil while a thread or the loop holds it, and after the end.
        var item: WorkItem?
        /// The watcher that the loop has left where the work waits.
        var watcher: OpeningWatcher?
        /// The number of threads that wait here while the item is held elsewhere.
        var idleThreads = 0
        var isCancelled = false
        var lower: LowerOpening?
    }

    /// A connection that is opened below this one.
    struct LowerOpening: Sendable {
        let connection: Connection
        /// When it began to open.
        let start: Moment
    }

    private let state: Locked<State>
    /// True once the loop has been asked to work, and does not wait for a thread to take over.
    let isLoopRequested = Atomic<Bool>(false)

    init(_ work: any OpeningWork, of connection: Connection) {
        state = Locked(State(item: WorkItem(work: work, connection: connection)))
        super.init(loop: connection.point.loop)
    }

    /// Schedules the work to continue soon.
    func begin() {
        if loop.isCurrent { return continueOnLoop() }
        loop.executeDeferred { [self] in
            if !isLoopRequested.exchange(true, ordering: .relaxed) { workOnLoop() }
        }
    }

    /// Called when a task or a callback begins to wait: only the loop can do the work for it.
    override func callerWillWait(watchedBy poller: DescriptorPoller?) { continueOnLoop() }

    /// Schedules the loop to do the work.
    func continueOnLoop() {
        if !isLoopRequested.exchange(true, ordering: .relaxed) { proceed() }
    }

    /// Called when the watcher has fired.
    fileprivate func proceed(after watcher: OpeningWatcher) {
        if state.withLock({ $0.watcher === watcher }) { proceed() }
    }

    /// Schedules the loop to continue, unless the item is held elsewhere by then.
    private func proceed() {
        loop.execute { [self] in workOnLoop() }
    }

    /// Abandons the item, because both halves have been closed.
    func cancel() {
        let (item, watcher) = state.withLock { state in
            state.isCancelled = true
            return (state.item.take(), state.watcher.take())
        }
        watcher?.remove()
        if let item { abandon(item) }
    }

    /// The connection below that is being opened; its steps are part of the report.
    var lower: LowerOpening? {
        get { state.withLock { $0.lower } }
        set { state.withLock { $0.lower = newValue } }
    }

    // MARK: The work item

    private func takeItem(asThread isThread: Bool) -> WorkItem? {
        let (item, watcher) = state.withLock { state in
            if state.item == nil, isThread { state.idleThreads += 1 }
            return (state.item.take(), state.watcher.take())
        }
        watcher?.remove()
        return item
    }

    /// Puts the item back, unless the watcher has already fired: false then, and the caller continues.
    private func putBack(_ item: WorkItem, leaving watcher: OpeningWatcher?) -> Bool {
        enum Outcome { case stored, storedForThread, isReady, isCancelled }
        let outcome = state.withLock { state -> Outcome in
            if state.isCancelled { return .isCancelled }
            if watcher?.hasFired == true { return .isReady }
            state.item = item
            state.watcher = watcher
            return state.idleThreads > 0 ? .storedForThread : .stored
        }
        switch outcome {
        case .stored: return true
        case .storedForThread:
            signal([.readable, .writable])
            return true
        case .isReady: return false
        case .isCancelled:
            watcher?.remove()
            abandon(item)
            return true
        }
    }

    /// Takes the next step. Nil if it was the last one, whatever its outcome.
    private func step(_ item: inout WorkItem, after wake: Wake) -> OpeningStep.Wait? {
        let connection = item.connection
        do throws(StreamError) {
            switch wake {
            case .ready, .closed, .timedOut, .cancelled: break  // the step determines the consequence
            case .busy, .failed: try connection.resume(wake, connection.unclosedHalf)
            }
            let step = try connection.point.whileOpen { () throws(StreamError) in
                let step = try item.work.advance(connection)
                // Inside whileOpen: an engine that is no longer wanted sends its close_notify, which needs the descriptor.
                if case .opened(let engine) = step { connection.finishOpening(.success(engine)) }
                return step
            }
            switch step {
            case .wait(let wait)?: return wait
            case .opened?: break
            case nil: abandon(item)
            }
        } catch {
            connection.endAllSteps(.abandoned)
            connection.finishOpening(.failure(error))
        }
        return nil
    }

    private func abandon(_ item: WorkItem) {
        var work = item.work
        work.abandon(item.connection)
        item.connection.endAllSteps(.abandoned)
        item.connection.finishOpening(.failure(.cancelled))
    }

    // MARK: The loop

    private func workOnLoop() {
        guard var item = takeItem(asThread: false) else { return }
        var wake = Wake.ready
        while let wait = step(&item, after: wake) {
            let watcher = OpeningWatcher(self, wait)
            if let early = watcher.park() {
                wake = early
            } else if putBack(item, leaving: watcher) {
                return
            } else {
                watcher.remove()
                wake = .ready
            }
        }
    }

    // MARK: A thread

    /// Opens the stream on the calling thread, unless the item is held elsewhere.
    @available(*, noasync)
    override func block(
        _ half: Half, for interest: Interest, until deadline: Moment?, minding others: [Readiness]
    ) -> BlockedWake {
        guard var item = takeItem(asThread: true) else {
            defer { state.withLock { $0.idleThreads -= 1 } }
            return super.block(half, for: interest, until: deadline, minding: others)
        }
        // The others first: their indices are then those of the result.
        var callers = others
        callers.append(Readiness(self, half, for: interest))
        var wake = Wake.ready
        while let wait = step(&item, after: wake) {
            let first = wait.points[0]
            let outcome = first.point.block(
                first.half, for: first.interest, until: [deadline, wait.deadline].compactMap(\.self).min(),
                minding: wait.points.count == 1 ? callers : callers + wait.points.dropFirst())
            switch outcome {
            case .elsewhere(let index, let reason) where index < callers.count:
                passToLoop(item)
                return index == others.count ? .here(reason) : .elsewhere(index, reason)
            case .here(.timedOut) where deadline.map { $0 <= .now } == true, .here(.failed):
                passToLoop(item)
                return outcome
            case .here(let reason), .elsewhere(_, let reason):
                wake = reason
            }
        }
        return .here(.ready)
    }

    private func passToLoop(_ item: WorkItem) {
        _ = putBack(item, leaving: nil)
        proceed()
    }
}

/// Parked by the loop where an opening waits: makes the loop continue at the first edge or at the deadline.
private final class OpeningWatcher: Watcher, @unchecked Sendable {
    // Unchecked only because the superclass is: the state is an atomic and constants.

    private let opening: Opening
    private let points: [WaitPoint.Readiness]
    private let fired = Atomic<Bool>(false)
    private let timer = AtomicLazyReference<LoopTimer>()

    init(_ opening: Opening, _ wait: OpeningStep.Wait) {
        self.opening = opening
        points = wait.points
        super.init()
        guard let deadline = wait.deadline else { return }
        _ = timer.storeIfNil(opening.loop.schedule(at: deadline) { [self] in fire() })
    }

    /// Parks at every point. Nil if that succeeded; otherwise the wake of the point that was ready, and the watcher is
    /// parked nowhere.
    func park() -> Wake? {
        for entry in points {
            if let wake = entry.point.watch(entry.half, for: entry.interest, with: self) {
                remove()
                return wake
            }
        }
        return nil
    }

    /// True once fired.
    var hasFired: Bool { fired.load(ordering: .acquiring) }

    /// Withdraws from all points.
    func remove() {
        timer.load()?.cancel()
        for entry in points { entry.point.unwatch(entry.half, self) }
    }

    override func fire() {
        if !fired.exchange(true, ordering: .acquiringAndReleasing) { opening.proceed(after: self) }
    }
}

/// The result of one step of opening.
enum OpeningStep: Sendable {
    /// The wait points to watch, at least one, and the deadline, before which nothing more can be done.
    struct Wait: Sendable {
        var points: [WaitPoint.Readiness]
        var deadline: Moment?
    }

    /// The stream is open, with this engine.
    case opened(any StreamTransport)
    case wait(Wait)
}

/// The work of opening a connection, step by step: a value that never waits. ``Opening`` determines what waits for it,
/// and on which thread.
protocol OpeningWork: Sendable {
    /// Does everything that is possible without waiting. Called again after each wait, and possibly at other times,
    /// until it returns `.opened` or throws. The connection's descriptor stays open during the call.
    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep

    /// Releases what was begun, because both halves have been closed. No call follows.
    mutating func abandon(_ connection: Connection)
}

// MARK: - Recording the report

extension Connection {
    func beginStep(_ kind: ConnectionReport.Kind) -> Int {
        let now = Moment.now
        return withDetails { $0.recorder.begin(kind, now: now) }
    }

    /// Ends a step. If the program has closed the stream meanwhile, a failure is only that of the closed descriptor: the step is abandoned.
    func endStep(_ step: Int, _ outcome: ConnectionReport.Outcome) {
        let now = Moment.now
        let isNew = withDetails { details in
            var outcome = outcome
            if case .failed = outcome, isClosed { outcome = .abandoned }
            return details.recorder.end(step, outcome, now: now)
        }
        if isNew { logSteps([step]) }
    }

    func endAllSteps(_ outcome: ConnectionReport.Outcome) {
        let now = Moment.now
        logSteps(withDetails { $0.recorder.endAll(outcome, now: now) })
    }
}
