@_spi(Packages) internal import EventLoops

/// Delivers the events of one half of a stream to its client: watches the half, consults ``EventMachine``, signals the
/// targets.
///
/// Theory of operation. While no event is due, the half's ``ClientWatcher`` is parked at the wait point. When it fires,
/// on the thread that watches the descriptor, the client only signals its targets. Everything else happens on a target,
/// in ``perform(on:)``: look at the stream, deliver the events that are due, park again. So no event is delivered in the
/// middle of a call by the user, and a target that runs late reports the state at that time.
final class StreamClient: Sendable {
    typealias Handler = @Sendable (StreamEvent) -> Void

    private struct State {
        var machine: EventMachine
        var handler: Handler?
        /// The stream's public object, kept alive while events may still come.
        var keptAlive: (any AnyObject & Sendable)?
        /// Counts the client's calls, so that facts observed before a call are not reported after it.
        var transfers = 0
    }

    private let side: StreamSide
    /// Whether a scheduled, open stream lives until it is closed.
    private let keepsStreamAlive: Bool
    private let state: Locked<State>
    private let pump = EventPump()

    init(_ side: StreamSide, wanted: StreamEvents, keepsStreamAlive: Bool = true, handler: @escaping Handler) {
        self.side = side
        self.keepsStreamAlive = keepsStreamAlive
        state = Locked(State(machine: EventMachine(half: side.half, wanted: wanted), handler: handler))
    }

    /// Adds targets where events are delivered.
    func schedule(on targets: [any DeliveryTarget]) {
        for target in targets { pump.schedule(on: target) { [weak self] in self?.perform(on: target) } }
        if !targets.isEmpty { side.connection.opening?.continueOnLoop() }
        side.withdrawWatcher()  // the watcher may be parked for fewer targets, or for those of another client
    }

    /// Removes a target.
    func unschedule(from target: any DeliveryTarget) {
        pump.unschedule(from: target)
        let kept = state.withLock { pump.isScheduled ? nil : $0.keptAlive.take() }
        withExtendedLifetime(kept) {}
    }

    /// Ends all delivery. Releases the object that was kept alive, and with it the tie between client and connection.
    func invalidate() {
        let dropped = state.withLock { ($0.handler.take(), $0.keptAlive.take()) }
        pump.stop()
        withExtendedLifetime(dropped) {}
    }

    /// Keeps the stream's public object alive while it is scheduled and open.
    func keepAlive(_ stream: any AnyObject & Sendable) {
        if !keepsStreamAlive { return }
        state.withLock { if pump.isScheduled, $0.handler != nil { $0.keptAlive = stream } }
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
        while pump.needsSignal {
            let hasFailed = side.settledStatus == .error
            let mayFollow = state.withLock {
                $0.handler != nil && (hasFailed ? !$0.machine.hasReportedError : !$0.machine.isSettled)
            }
            guard mayFollow else { return }
            let facts = side.facts
            let isDue = state.withLock { state in
                var machine = state.machine
                return machine.next(facts) != nil
            }
            if isDue { return pump.signal() }
            guard facts.hasOpened, !facts.hasFailed, facts.readiness == .notYet else { return }
            if side.isInside { return }  // the end of the call under way arms again
            let poller = pump.poller
            switch side.watch(by: poller) {
            case .ready: continue
            case nil where pump.poller !== poller:  // the targets have changed meanwhile
                side.withdrawWatcher()
                return
            case nil, .busy:  // busy: another thread has just parked the half's watcher
                // The client was removed or unscheduled meanwhile, by a call that did not find the watcher parked yet.
                if !pump.isScheduled { side.withdrawWatcher() }
                return
            case .closed, .cancelled, .timedOut: return
            case .failed(let number):
                // The descriptor cannot be watched, so no event would ever come. The failure is an event.
                side.connection.failBoth(StreamError(posix: number))
                return
            }
        }
    }

    /// Makes the targets look at the stream.
    func signalTargets() { pump.signal() }

    /// Delivers, on the target, all events that are due, in order.
    private func perform(on target: any DeliveryTarget) {
        pump.deliver(on: target) {
            guard let (event, handler) = takeEvent() else { return .nothing }
            handler(event)
            return .delivered
        }
        arm()
    }

    /// The event that is due, which then counts as reported.
    private func takeEvent() -> (StreamEvent, Handler)? {
        while true {
            let transfers = state.withLock { $0.transfers }
            let facts = side.facts
            let (isStale, due) = state.withLock { state -> (Bool, (StreamEvent, Handler)?) in
                if state.transfers != transfers { return (true, nil) }
                guard let handler = state.handler, let event = state.machine.next(facts) else { return (false, nil) }
                return (false, (event, handler))
            }
            if !isStale { return due }
        }
    }
}

/// The clients of a connection's events and the targets where they run.
///
/// Allocated with the first client or target: most streams have neither, and a process may hold many thousands of idle
/// streams. Guarded by the connection's lock.
final class StreamClients {
    struct Side {
        var client: StreamClient?
        var targets: [any DeliveryTarget] = []
        /// Made with the first client of this half.
        var watcher: ClientWatcher?
    }

    private var sides: [2 of Side] = [Side(), Side()]

    /// Whether a client has a target where its events are delivered.
    var areScheduled: Bool {
        WaitPoint.Half.allCases.contains { self[$0].client != nil && !self[$0].targets.isEmpty }
    }

    subscript(half: WaitPoint.Half) -> Side {
        get { sides[half.index] }
        set { sides[half.index] = newValue }
    }
}

/// The watcher of one half of a connection: notifies whichever client the half has when the watcher fires.
///
/// There is one watcher per half, not one per client. Replacing a client therefore changes nothing at the wait point
/// and loses no edge. The watcher does not keep the connection alive.
final class ClientWatcher: Watcher, @unchecked Sendable {
    // Unchecked only because the superclass is: mutable state is behind a lock, and weak reads are atomic.

    private weak let connection: Connection?
    private let half: WaitPoint.Half
    /// The point where the watcher was parked last. The transport may now wait at another one, as after a redirect.
    private let parkedAt = Locked<WaitPoint?>(nil)

    init(_ side: StreamSide) {
        connection = side.connection
        half = side.half
        super.init()
    }

    /// Parks at `point` and at no other point. Nil once it waits there; `.ready` if the client should look again first.
    func park(at point: WaitPoint, by poller: DescriptorPoller?) -> Wake? {
        let old = parkedAt.withLock { exchange(&$0, with: point) }
        if let old, old !== point { old.unwatch(half, self) }
        let wake = point.watch(half, for: half.interest, with: self, by: poller)
        if parkedAt.withLock({ $0 === point }) { return wake }
        // Withdrawn or parked elsewhere meanwhile.
        point.unwatch(half, self)
        return .ready
    }

    /// Withdraws the watcher from the point where it is parked.
    func remove() {
        guard let old = parkedAt.withLock({ $0.take() }) else { return }
        old.unwatch(half, self)
        old.endPolling()
    }

    override func fire() {
        if let connection { StreamSide(connection, half).edgeArrived() }
    }
}
