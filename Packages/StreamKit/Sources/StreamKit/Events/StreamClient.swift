internal import EventLoops

/// Carries the events of one half of a stream to its client: watches, asks ``EventMachine``, rings the targets.
///
/// Theory of operation. While no event is due the client is parked as a watcher at the half's wait point. When that fires
/// (on the loop's thread) it only rings its targets; everything else happens on the target, in ``perform()``: look at the
/// stream, tell what is due, park again. So nothing is told in the middle of the caller's own call, and a target that is
/// late tells what is true then.
final class StreamClient: Watcher, @unchecked Sendable {
    // Everything that changes is behind the lock.

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
        super.init()
    }

    /// Adds places where events are told.
    func schedule(on targets: [any DeliveryTarget]) {
        for target in targets {
            let signal = target.makeSignal { [weak self] in self?.perform() }
            state.withLock { $0.bells.append(Bell(target: target, signal: signal)) }
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
        connection.unwatch(half, self)
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

    /// The loop has news.
    override func fire() {
        passOn()
        ring()
    }

    /// A call that has just found nothing, and is about to wait, needs the edge that came to this client instead.
    private func passOn() {
        if connection.point.isInside(half) { connection.placeForLayers(half).signal([.readable, .writable]) }
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
            switch connection.watch(half, with: self) {
            case .ready: passOn()
            case nil:
                // Told to stop meanwhile: whoever told did not find it parked yet, and nobody would take it away.
                let isWanted = state.withLock { !$0.bells.isEmpty && $0.tell != nil }
                if !isWanted { connection.unwatch(half, self) }
                return
            case .busy, .closed, .cancelled, .timedOut, .failed: return
            }
        }
    }

    private func ring() {
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
        while true {
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
        }
        state.withLock { $0.isTelling = false }
        arm()
    }
}
