internal import EventLoops

/// Carries the events of one half of a stream to its client: watches, asks ``EventMachine``, rings the targets.
///
/// Theory of operation. While no event is due the half's ``ClientWatch`` is parked at its wait point. When that fires (on the
/// loop's thread) the client only rings its targets; everything else happens on the target, in ``perform()``: look at the
/// stream, tell what is due, park again. So nothing is told in the middle of the caller's own call, and a target that is
/// late tells what is true then.
final class StreamClient: Sendable {
    /// How many events are told in one turn of a target. A peer that sends as fast as the client reads must not keep the target's
    /// thread from everything else.
    static let eventsPerTurn = 16

    private struct State {
        var machine: EventMachine
        var tell: (@Sendable (StreamEvent) -> Void)?
        var bells: [Bell] = []
        /// What must live while events may still come: the stream's public object.
        var keptAlive: (any AnyObject & Sendable)?
        var isTelling = false
        /// Counts the client's calls, so that what was seen before one is not told after it.
        var transfers = 0
    }

    private struct Bell {
        var target: any DeliveryTarget
        var signal: any DeliverySignal
    }

    private let connection: Connection
    private let half: StreamHalf
    private let state: Locked<State>

    init(
        _ connection: Connection, half: StreamHalf, wanted: StreamEvents,
        tell: @escaping @Sendable (StreamEvent) -> Void
    ) {
        self.connection = connection
        self.half = half
        state = Locked(State(machine: EventMachine(half: half, wanted: wanted), tell: tell))
    }

    /// Adds places where events are told.
    func schedule(on targets: [any DeliveryTarget]) {
        for target in targets {
            let signal = target.makeSignal { [weak self] in self?.perform() }
            let isWanted = state.withLock { state in
                if state.tell != nil { state.bells.append(Bell(target: target, signal: signal)) }
                return state.tell != nil
            }
            if !isWanted { signal.cancel() }
        }
        arm()
    }

    /// Removes one place.
    func unschedule(from target: any DeliveryTarget) {
        let (removed, kept) = state.withLock { state -> ([Bell], (any AnyObject & Sendable)?) in
            let removed = state.bells.filter { $0.target.isSame(as: target) }
            state.bells.removeAll { $0.target.isSame(as: target) }
            return (removed, state.bells.isEmpty ? state.keptAlive.take() : nil)
        }
        for bell in removed { bell.signal.cancel() }
        withExtendedLifetime(kept) {}
    }

    /// Ends all telling. What was kept alive is let go, and with it the tie between client and connection.
    func invalidate() {
        let (bells, dropped) = state.withLock { state in
            defer {
                state.bells = []
                state.tell = nil
                state.keptAlive = nil
            }
            return (state.bells, (state.tell, state.keptAlive))
        }
        for bell in bells { bell.signal.cancel() }
        withExtendedLifetime(dropped) {}
    }

    /// Keeps the stream's public object alive while it is scheduled and open.
    func keepAlive(_ stream: any AnyObject & Sendable) {
        state.withLock { if !$0.bells.isEmpty, $0.tell != nil { $0.keptAlive = stream } }
    }

    /// The client read or wrote.
    func didTransfer() {
        state.withLock { state in
            state.machine.didTransfer()
            state.transfers &+= 1
        }
        arm()
    }

    /// Rings if an event is due, else has the half watched.
    func arm() {
        while true {
            let hasFailed = connection.settledStatus(half) == .error
            let mayTell = state.withLock {
                !$0.bells.isEmpty && $0.tell != nil && !$0.isTelling
                    && (hasFailed ? !$0.machine.hasToldError : !$0.machine.isSettled)
            }
            guard mayTell else { return }
            let facts = connection.facts(of: half)
            let isDue = state.withLock { state in
                var machine = state.machine
                return machine.next(facts) != nil
            }
            if isDue { return ring() }
            guard facts.hasOpened, !facts.hasFailed, facts.readiness == .notYet else { return }
            if connection.point.isInside(half) { return }  // the end of the call under way arms again
            switch connection.watch(half) {
            case .ready: continue
            case nil, .busy:  // busy: another thread has parked the half's watch just now
                // Told to stop meanwhile, by a call that did not find the watch parked yet.
                let isWanted = state.withLock { !$0.bells.isEmpty && $0.tell != nil }
                if !isWanted { connection.withdrawWatch(half) }
                return
            case .closed, .cancelled, .timedOut, .failed: return
            }
        }
    }

    /// Has the targets look at the stream.
    func ring() {
        for bell in state.withLock({ $0.bells }) { bell.signal.signal() }
    }

    /// On the target: tells everything that is due, in order.
    private func perform() {
        let isMine = state.withLock { state in
            defer { state.isTelling = true }
            return !state.isTelling
        }
        // Another loop is telling, or a callback of ours runs its loop: that one goes on.
        guard isMine else { return }
        var budget = StreamClient.eventsPerTurn
        while budget > 0 {
            let transfers = state.withLock { $0.transfers }
            let facts = connection.facts(of: half)
            let (isStale, due) = state.withLock { state -> (Bool, (StreamEvent, @Sendable (StreamEvent) -> Void)?) in
                if state.transfers != transfers { return (true, nil) }
                guard let tell = state.tell, !state.bells.isEmpty, let event = state.machine.next(facts) else {
                    return (false, nil)
                }
                return (false, (event, tell))
            }
            if isStale { continue }
            guard let (event, tell) = due else { break }
            tell(event)
            budget -= 1
        }
        state.withLock { $0.isTelling = false }
        arm()
    }
}
