internal import EventLoops

/// Delivers the events of one half of a stream to its client: watches the half, consults ``EventMachine``, signals the
/// targets.
///
/// Theory of operation. While no event is due, the half's ``ClientWatcher`` is parked at the wait point. When it fires,
/// on the loop's thread, the client only signals its targets. Everything else happens on a target, in ``perform()``:
/// look at the stream, deliver the events that are due, park again. So no event is delivered in the middle of a call by
/// the user, and a target that runs late reports the state at that time.
final class StreamClient: Sendable {
    /// The most events delivered in one turn of a target: a peer that sends as fast as the client reads must not
    /// monopolize the target's thread.
    static let eventsPerTurn = 16

    private struct State {
        var machine: EventMachine
        var handler: (@Sendable (StreamEvent) -> Void)?
        var deliveries: [Delivery] = []
        /// The stream's public object, kept alive while events may still come.
        var keptAlive: (any AnyObject & Sendable)?
        var isDelivering = false
        /// Counts the client's calls, so that facts observed before a call are not reported after it.
        var transfers = 0
    }

    private struct Delivery {
        var target: any DeliveryTarget
        var signal: any DeliverySignal
    }

    private let connection: Connection
    private let half: StreamHalf
    private let state: Locked<State>

    init(
        _ connection: Connection, half: StreamHalf, wanted: StreamEvents,
        handler: @escaping @Sendable (StreamEvent) -> Void
    ) {
        self.connection = connection
        self.half = half
        state = Locked(State(machine: EventMachine(half: half, wanted: wanted), handler: handler))
    }

    /// Adds targets where events are delivered.
    func schedule(on targets: [any DeliveryTarget]) {
        for target in targets {
            let signal = target.makeSignal { [weak self] in self?.perform() }
            let isWanted = state.withLock { state in
                if state.handler != nil { state.deliveries.append(Delivery(target: target, signal: signal)) }
                return state.handler != nil
            }
            if !isWanted { signal.cancel() }
        }
        arm()
    }

    /// Removes a target.
    func unschedule(from target: any DeliveryTarget) {
        let (removed, kept) = state.withLock { state -> ([Delivery], (any AnyObject & Sendable)?) in
            let removed = state.deliveries.filter { $0.target.isSame(as: target) }
            state.deliveries.removeAll { $0.target.isSame(as: target) }
            return (removed, state.deliveries.isEmpty ? state.keptAlive.take() : nil)
        }
        for delivery in removed { delivery.signal.cancel() }
        withExtendedLifetime(kept) {}
    }

    /// Ends all delivery. Releases the object that was kept alive, and with it the tie between client and connection.
    func invalidate() {
        let (deliveries, dropped) = state.withLock { state in
            defer {
                state.deliveries = []
                state.handler = nil
                state.keptAlive = nil
            }
            return (state.deliveries, (state.handler, state.keptAlive))
        }
        for delivery in deliveries { delivery.signal.cancel() }
        withExtendedLifetime(dropped) {}
    }

    /// Keeps the stream's public object alive while it is scheduled and open.
    func keepAlive(_ stream: any AnyObject & Sendable) {
        state.withLock { if !$0.deliveries.isEmpty, $0.handler != nil { $0.keptAlive = stream } }
    }

    /// Records that the client has read or written.
    func didTransfer() {
        state.withLock { state in
            state.machine.didTransfer()
            state.transfers &+= 1
        }
        arm()
    }

    /// Signals the targets if an event is due; otherwise watches the half.
    func arm() {
        while true {
            let hasFailed = connection.settledStatus(half) == .error
            let mayDeliver = state.withLock {
                !$0.deliveries.isEmpty && $0.handler != nil && !$0.isDelivering
                    && (hasFailed ? !$0.machine.hasReportedError : !$0.machine.isSettled)
            }
            guard mayDeliver else { return }
            let facts = connection.facts(of: half)
            let isDue = state.withLock { state in
                var machine = state.machine
                return machine.next(facts) != nil
            }
            if isDue { return signalTargets() }
            guard facts.hasOpened, !facts.hasFailed, facts.readiness == .notYet else { return }
            if connection.point.isInside(half) { return }  // the end of the call under way arms again
            switch connection.watch(half) {
            case .ready: continue
            case nil, .busy:  // busy: another thread has just parked the half's watch
                // The client was removed or unscheduled meanwhile, by a call that did not find the watch parked yet.
                let isWanted = state.withLock { !$0.deliveries.isEmpty && $0.handler != nil }
                if !isWanted { connection.withdrawWatch(half) }
                return
            case .closed, .cancelled, .timedOut, .failed: return
            }
        }
    }

    /// Makes the targets look at the stream.
    func signalTargets() {
        for delivery in state.withLock({ $0.deliveries }) { delivery.signal.signal() }
    }

    /// Delivers, on the target, all events that are due, in order.
    private func perform() {
        let isMine = state.withLock { state in
            defer { state.isDelivering = true }
            return !state.isDelivering
        }
        // Another target is delivering, or the client's callback runs the target's loop: that delivery continues.
        guard isMine else { return }
        var budget = StreamClient.eventsPerTurn
        while budget > 0 {
            let transfers = state.withLock { $0.transfers }
            let facts = connection.facts(of: half)
            let (isStale, due) = state.withLock { state -> (Bool, (StreamEvent, @Sendable (StreamEvent) -> Void)?) in
                if state.transfers != transfers { return (true, nil) }
                guard let handler = state.handler, !state.deliveries.isEmpty, let event = state.machine.next(facts)
                else {
                    return (false, nil)
                }
                return (false, (event, handler))
            }
            if isStale { continue }
            guard let (event, handler) = due else { break }
            handler(event)
            budget -= 1
        }
        state.withLock { $0.isDelivering = false }
        arm()
    }
}
