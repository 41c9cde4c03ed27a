internal import EventLoops
internal import Synchronization

/// An opening in progress, and the wait point where the stream's callers wait for its end.
///
/// Theory of operation. ``OpeningWork`` proceeds in steps that never wait. Only the holder of the errand takes the next
/// step, so steps never overlap. While nothing holds the errand, it is stored here, and a thread or the loop may take
/// it:
///
/// - A thread that blocks on the stream keeps the errand until the stream is open. Meanwhile it waits in `poll(2)` for
///   what the work waits for and, at the same time, at this point. No other thread is woken.
/// - For tasks and callbacks that wait here, the loop takes a step, leaves an ``OpeningEar`` where the work waits, and
///   puts the errand back. It continues when the ear is notified. A thread that begins to block meanwhile takes over. A
///   thread that waits here because the loop was executing a step is woken to take over.
///
/// The loop begins as soon as a task or a callback waits here, or a thread has stopped waiting because its half was
/// closed or its deadline passed. In any case it begins after a few milliseconds, so that opening proceeds even if
/// nothing waits. A stream that a blocking thread opens and uses does not wake the loop at all.
///
/// Closing both halves takes the errand away for good. Its holder at that time notices at the end of the step or is
/// woken from waiting; the closing thread does not wait.
final class Opening: WaitPoint, @unchecked Sendable {
    // Unchecked only because the superclass is: mutable state is atomic or behind a lock.

    /// The work and its connection. Released when opening ends, even if this wait point lives on.
    private struct Errand {
        var work: any OpeningWork
        let connection: Connection
    }

    private struct State {
        /// Nil while a thread or the loop holds it, and after the end.
        var errand: Errand?
        /// The ear that the loop has left where the work waits.
        var ear: OpeningEar?
        /// The number of threads that wait here while the errand is held elsewhere.
        var idleThreads = 0
        var isCancelled = false
    }

    private let state: Locked<State>
    /// True once the loop has been asked to work.
    private let isAsked = Atomic<Bool>(false)

    init(_ work: any OpeningWork, of connection: Connection) {
        state = Locked(State(errand: Errand(work: work, connection: connection)))
        super.init(loop: connection.point.loop)
    }

    /// Schedules the work to continue soon.
    func begin() {
        if loop.isCurrent { return isAwaited() }
        loop.executeLazily { [self] in
            if !isAsked.exchange(true, ordering: .relaxed) { workOnLoop() }
        }
    }

    /// Called when a task or a callback begins to wait: only the loop can do the work for it.
    override func isAwaited() {
        if !isAsked.exchange(true, ordering: .relaxed) { proceed() }
    }

    /// Called when the ear has been notified.
    func proceed(after ear: OpeningEar) {
        if state.withLock({ $0.ear === ear }) { proceed() }
    }

    /// Schedules the loop to continue, unless the errand is held elsewhere by then.
    private func proceed() {
        loop.execute { [self] in workOnLoop() }
    }

    /// Abandons the errand, because both halves have been closed.
    func cancel() {
        let (errand, ear) = state.withLock { state in
            state.isCancelled = true
            return (state.errand.take(), state.ear.take())
        }
        ear?.remove()
        if let errand { abandon(errand) }
    }

    // MARK: The errand

    private func pickUp(asThread isThread: Bool) -> Errand? {
        let (errand, ear) = state.withLock { state in
            if state.errand == nil, isThread { state.idleThreads += 1 }
            return (state.errand.take(), state.ear.take())
        }
        ear?.remove()
        return errand
    }

    /// Puts the errand back, unless the ear has already been notified: false then, and the caller continues.
    private func layDown(_ errand: Errand, leaving ear: OpeningEar?) -> Bool {
        enum Outcome { case lies, liesForThread, hasNews, isCancelled }
        let outcome = state.withLock { state -> Outcome in
            if state.isCancelled { return .isCancelled }
            if ear?.hasHeard == true { return .hasNews }
            state.errand = errand
            state.ear = ear
            return state.idleThreads > 0 ? .liesForThread : .lies
        }
        switch outcome {
        case .lies: return true
        case .liesForThread:
            signal([.readable, .writable])
            return true
        case .hasNews: return false
        case .isCancelled:
            ear?.remove()
            abandon(errand)
            return true
        }
    }

    /// Takes the next step. Nil if it was the last one, whatever its outcome.
    private func step(_ errand: inout Errand, after wake: Wake) -> OpeningStep.Wait? {
        let connection = errand.connection
        do throws(StreamError) {
            switch wake {
            case .ready, .closed, .timedOut, .cancelled: break  // the step determines the consequence
            case .busy, .failed: try connection.resume(wake, connection.unclosedHalf)
            }
            let step = try connection.point.whileOpen { () throws(StreamError) in
                let step = try errand.work.advance(connection)
                // Inside whileOpen: an engine that is no longer wanted sends its close_notify, which needs the descriptor.
                if case .opened(let engine) = step { connection.finishOpening(.success(engine)) }
                return step
            }
            switch step {
            case .wait(let wait)?: return wait
            case .opened?: break
            case nil: abandon(errand)
            }
        } catch {
            connection.endAllSteps(.abandoned)
            connection.finishOpening(.failure(error))
        }
        return nil
    }

    private func abandon(_ errand: Errand) {
        var work = errand.work
        work.abandon(errand.connection)
        errand.connection.endAllSteps(.abandoned)
        errand.connection.finishOpening(.failure(.cancelled))
    }

    // MARK: The loop

    private func workOnLoop() {
        guard var errand = pickUp(asThread: false) else { return }
        var wake = Wake.ready
        while let wait = step(&errand, after: wake) {
            let ear = OpeningEar(self, wait)
            if let news = ear.listen() {
                wake = news
            } else if layDown(errand, leaving: ear) {
                return
            } else {
                ear.remove()
                wake = .ready
            }
        }
    }

    // MARK: A thread

    /// Opens the stream on the calling thread, unless the errand is held elsewhere.
    @available(*, noasync)
    override func block(
        _ half: Half, for interest: Interest, until deadline: Moment?, minding others: [Place]
    ) -> BlockedWake {
        guard var errand = pickUp(asThread: true) else {
            defer { state.withLock { $0.idleThreads -= 1 } }
            return super.block(half, for: interest, until: deadline, minding: others)
        }
        let callers = [Place(self, half, for: interest)] + others
        var wake = Wake.ready
        while let wait = step(&errand, after: wake) {
            let first = wait.places[0]
            let outcome = first.point.block(
                first.half, for: first.interest, until: [deadline, wait.deadline].compactMap(\.self).min(),
                minding: wait.places.count == 1 ? callers : callers + wait.places.dropFirst())
            switch outcome {
            case .elsewhere(let place, let news) where place < callers.count:
                handOver(errand)
                return place == 0 ? .here(news) : .elsewhere(place - 1, news)
            case .here(.timedOut) where deadline.map { $0 <= .now } == true, .here(.failed):
                handOver(errand)
                return outcome
            case .here(let news), .elsewhere(_, let news):
                wake = news
            }
        }
        return .here(.ready)
    }

    private func handOver(_ errand: Errand) {
        _ = layDown(errand, leaving: nil)
        proceed()
    }
}
