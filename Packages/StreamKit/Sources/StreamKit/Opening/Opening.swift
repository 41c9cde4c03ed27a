internal import EventLoops
internal import Synchronization

/// An opening that is under way, and the place where the stream's callers wait for its end.
///
/// Theory of operation. ``OpeningWork`` takes steps that never wait. Whoever holds the errand takes the next one, so there
/// is one at a time; while nobody does, the errand lies here, and anybody may pick it up:
///
/// - A thread that blocks here for the stream's sake has nothing better to do. It keeps the errand until the stream is open,
///   waiting in `poll(2)` where the work says, and minding this place as well. No other thread is woken by anything.
/// - For tasks and callbacks that wait here the loop takes a step, leaves an ``OpeningEar`` where the work waits, and lays
///   the errand down again; it comes back when the ear hears something. A thread that begins to block meanwhile takes
///   over, and one that waits here because the loop was busy with a step is woken to do so.
///
/// The loop begins as soon as a task or a callback waits here, or a thread has left early because its half was closed or
/// its time was up; and after a few milliseconds in any case, so that opening goes on though nobody waits. A stream
/// that is opened and used by a thread that blocks does not wake the loop at all.
///
/// Closing both halves takes the errand away for good. Whoever holds it just then finds that out at the end of the step, or
/// is woken from waiting; the closing thread waits for nobody.
final class Opening: WaitPoint, @unchecked Sendable {
    // Unchecked in name only, as any subclass of WaitPoint: what changes is atomic or behind a lock.

    /// What is to be done, and for whom. Gone with the end of opening, whoever still knows this place.
    private struct Errand {
        var work: any OpeningWork
        let connection: Connection
    }

    private struct State {
        /// Nil while somebody holds it, and in the end.
        var errand: Errand?
        /// What the loop has left where the work waits.
        var ear: OpeningEar?
        /// Threads that wait here while somebody else holds the errand.
        var idleThreads = 0
        var isCancelled = false
    }

    private let state: Locked<State>
    /// The loop has been asked to come.
    private let isAsked = Atomic<Bool>(false)

    init(_ work: any OpeningWork, of connection: Connection) {
        state = Locked(State(errand: Errand(work: work, connection: connection)))
        super.init(loop: connection.point.loop)
    }

    /// Sees to it that somebody goes on with the errand, before long.
    func begin() {
        if loop.isCurrent { return isAwaited() }
        loop.executeLazily { [self] in
            if !isAsked.exchange(true, ordering: .relaxed) { workOnLoop() }
        }
    }

    /// A task or a callback waits: nobody but the loop can do the work for it.
    override func isAwaited() {
        if !isAsked.exchange(true, ordering: .relaxed) { proceed() }
    }

    /// The ear has heard something.
    func proceed(after ear: OpeningEar) {
        if state.withLock({ $0.ear === ear }) { proceed() }
    }

    /// Has the loop go on, unless somebody else holds the errand by then.
    private func proceed() {
        loop.execute { [self] in workOnLoop() }
    }

    /// Gives the errand up: both halves have been closed.
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

    /// Lays the errand down, unless there is a reason to go on: news that the ear has heard already. False then.
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

    /// Takes the next step. Nil when it was the last one, whatever came of it.
    private func step(_ errand: inout Errand, after wake: Wake) -> OpeningStep.Wait? {
        let connection = errand.connection
        do throws(StreamError) {
            switch wake {
            case .ready, .closed, .timedOut, .cancelled: break  // what that means, the step finds out
            case .busy, .failed: try connection.resume(wake, connection.unclosedHalf)
            }
            let step = try connection.point.whileOpen { () throws(StreamError) in
                let step = try errand.work.advance(connection)
                // Here, because an engine that nobody wants any more says farewell, with the descriptor still there.
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

    /// Opens the stream on the calling thread, unless somebody else is about it.
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
