internal import EventLoops
internal import HTTPMessage
internal import StreamKit
internal import Synchronization

/// A load, and the point where the callers of its stream wait: the same one from connection to connection.
///
/// Theory of operation. All work is done by ``step(_:)``, under one lock. Two rules keep the lock from deadlocking, and the
/// connections from being shared by mistake:
///
/// - Under the lock no connection is closed, given to a pool or signalled, and neither a log handler nor the stream of the request's
///   body is called, since each of these may run code that takes the lock. A step collects such work in ``DeferredActions``, which
///   are performed once the lock has been released.
/// - No caller waits at a connection. Callers wait at this point, whose identity needs no lock to be known. While a task or a
///   callback waits, a ``LoadBell`` is parked where the load is blocked and passes the signal on; a thread that waits gets
///   the connection lent. The bell is parked and withdrawn under the lock, and withdrawn before a connection departs.
///   So a connection that changes its owner has no waiter.
final class LoadPoint: WaitPoint, @unchecked Sendable {
    // Unchecked in name only, as any subclass of WaitPoint: what changes is behind a lock.

    private struct State: ~Copyable {
        var load: HTTPLoad
        var hasBegun = false
        var failure: StreamError?
        var isClosed = false
        /// Made for the first task or callback that waits.
        var bell: LoadBell?
        /// What the bell is parked for.
        var watched: HTTPLoad.Block?
        /// Where the bell was parked; it may have fired at one of them since.
        var watchedPlaces: (WaitPoint.Place?, WaitPoint.Place?)
        /// A task, a callback or a thread began to wait while another thread used the connection, which is lent to it, or the
        /// stream of the request's body. It is woken afterwards.
        var wakesAfterwards = false
        /// Signals the point at the load's next deadline.
        var timer: LoopTimer?
    }

    private let state: Locked<State>

    init(_ load: consuming HTTPLoad, loop: EventLoop) {
        state = Locked(State(load: load))
        super.init(loop: loop)
    }

    // MARK: Steps

    /// Takes steps of the load; what is thrown is the end of it.
    ///
    /// - Parameter body: returns nil to be called again after the deferred actions.
    @inline(__always)
    func step<Outcome: Sendable>(
        _ body: (inout HTTPLoad) throws(StreamError) -> Outcome?
    ) throws(StreamError) -> Outcome {
        while true {
            if let outcome = try singleStep(body) { return outcome }
        }
    }

    @inline(__always)
    private func singleStep<Outcome: Sendable>(
        _ body: (inout HTTPLoad) throws(StreamError) -> Outcome?
    ) throws(StreamError) -> Outcome? {
        var deferred = DeferredActions()
        defer { perform(&deferred) }
        return try state.withLock { (state) throws(StreamError) in
            state.load.log.deferred?.suspend()
            defer { deferred = LoadPoint.settle(&state, resuming: state.load.log.deferred) }
            if state.isClosed { throw .closed }
            if let failure = state.failure { throw failure }
            if !state.hasBegun {
                state.hasBegun = true
                state.load.beginClock()
            }
            do throws(StreamError) {
                try state.load.checkTime()
                state.load.block = nil
                return try body(&state.load)
            } catch {
                LoadPoint.fail(&state, error)
                throw error
            }
        }
    }

    /// Looks at the load, or changes what it was told, without taking a step. The second argument says whether it has begun.
    func withLoad<Outcome: Sendable>(_ body: (inout HTTPLoad, _ hasBegun: Bool) -> Outcome) -> Outcome {
        state.withLock { body(&$0.load, $0.hasBegun) }
    }

    /// Ends the load at once; every wait ends.
    func end() {
        var deferred = state.withLock { state in
            if state.isClosed { return DeferredActions() }
            state.isClosed = true
            state.load.log.deferred?.suspend()
            state.load.close()
            var deferred = LoadPoint.settle(&state, resuming: state.load.log.deferred)
            // It refers to this point.
            state.bell = nil
            deferred.wakesWaiters = true
            return deferred
        }
        perform(&deferred)
    }

    private static func fail(_ state: inout State, _ error: StreamError) {
        state.failure = error
        state.load.close()
    }

    /// Ends every use of the lock that may have changed the load: withdraws the bell from where it does not belong any more,
    /// and returns what to do without the lock.
    ///
    /// - Parameter log: the load's log, if it has been suspended.
    @inline(__always)
    private static func settle(_ state: inout State, resuming log: DeferredLog? = nil) -> DeferredActions {
        // Most steps leave nothing to do, and nothing waits for them.
        if log == nil, state.load.deferred.isEmpty, state.bell == nil, !state.wakesAfterwards, state.timer == nil {
            return DeferredActions()
        }
        var deferred = settleAll(&state)
        deferred.log = log
        return deferred
    }

    private static func settleAll(_ state: inout State) -> DeferredActions {
        var deferred = state.load.deferred.take()
        if let bell = state.bell, state.watchedPlaces.0 != nil,
            state.load.isConnectionLent || !deferred.isEmpty || state.load.block != state.watched
        {
            let isAwaited = bell.isParked
            withdraw(&state)
            if isAwaited, state.load.isConnectionLent {
                state.wakesAfterwards = true
            } else if isAwaited {
                deferred.wakesWaiters = true
            }
        }
        if state.wakesAfterwards, !state.load.isConnectionLent, !state.load.isFetching {
            state.wakesAfterwards = false
            deferred.wakesWaiters = true
        }
        if state.timer != nil, state.load.isOver || state.isClosed || state.failure != nil {
            deferred.add(.cancelTimer(state.timer.take()))
        }
        return deferred
    }

    private static func withdraw(_ state: inout State) {
        guard let bell = state.bell else { return }
        state.watchedPlaces.0?.point.unwatch(.reader, bell)
        state.watchedPlaces.1?.point.unwatch(.reader, bell)
        bell.isParked = false
        state.watchedPlaces = (nil, nil)
        state.watched = nil
    }

    @inline(__always)
    private func perform(_ deferred: inout DeferredActions) {
        if deferred.isEmpty, !deferred.wakesWaiters, deferred.log == nil { return }
        deferred.perform()
        // After the actions, which may log, and before the body's stream, which may take long.
        deferred.log?.resume()
        if let fetch = deferred.fetch.take() { perform(fetch) }
        if deferred.wakesWaiters { signal([.readable, .writable]) }
    }

    /// Opens or reads the stream of the request's body. The next step takes the result.
    private func perform(_ fetch: BodyFetch) {
        fetch.run()
        var deferred = state.withLock { state in
            state.load.endFetch()
            return LoadPoint.settle(&state)
        }
        perform(&deferred)
    }

    // MARK: Waiting

    /// Parks the bell where the load is blocked, since a task or a callback is about to wait here.
    override func isAwaited() {
        var deferred = state.withLock { state in
            state.load.log.deferred?.suspend()
            let isBlocked = watch(&state)
            var deferred = LoadPoint.settle(&state, resuming: state.load.log.deferred)
            if !isBlocked { deferred.wakesWaiters = true }
            return deferred
        }
        perform(&deferred)
    }

    /// False if there is no reason to wait.
    private func watch(_ state: inout State) -> Bool {
        if state.load.isConnectionLent || state.load.isFetching {
            state.wakesAfterwards = true
            // The thread to which a connection is lent minds the time itself.
            if !state.load.isConnectionLent { setTimer(&state, state.load.totalDeadline) }
            return true
        }
        if state.isClosed || state.failure != nil { return false }
        // Before it is opened nothing can happen; afterwards, a load that is not blocked can go on.
        guard let block = state.load.block else { return !state.hasBegun }
        if block.reason == .turn {
            loop.execute { [self] in signal([.readable, .writable]) }
            return true
        }
        setTimer(&state, block.deadline)
        let bell: LoadBell
        if let made = state.bell {
            bell = made
            LoadPoint.withdraw(&state)
        } else {
            bell = LoadBell(self)
            state.bell = bell
        }
        bell.isParked = true
        let places = state.load.places(of: block)
        state.watchedPlaces = places
        var wake = places.0.map { $0.point.watch(.reader, for: $0.interest, with: bell) } ?? .ready
        if wake == nil, let place = places.1 { wake = place.point.watch(.reader, for: place.interest, with: bell) }
        guard let wake else {
            state.watched = block
            return true
        }
        LoadPoint.withdraw(&state)
        if case .failed(let number) = wake { LoadPoint.fail(&state, StreamError(posix: number)) }
        return false
    }

    private func setTimer(_ state: inout State, _ deadline: Moment?) {
        if deadline == nil, state.timer == nil { return }
        if state.timer?.deadline == deadline { return }
        if let timer = state.timer.take() { state.load.deferred.add(.cancelTimer(timer)) }
        state.timer = deadline.map { deadline in
            loop.schedule(at: deadline) { [weak self] in self?.signal([.readable, .writable]) }
        }
    }

    /// Waits on the calling thread, which watches the load's connection itself. The connection is lent to it meanwhile.
    @available(*, noasync)
    override func block(
        _ half: Half, for interest: Interest, until deadline: Moment?, minding others: [Place]
    ) -> BlockedWake {
        enum Way {
            case here
            case atPoint(until: Moment?)
            case lent(HTTPLoad.Block, Place, Place?)
        }
        var deferred = DeferredActions()
        let way = state.withLock { state -> Way in
            guard state.hasBegun else { return state.isClosed ? .here : .atPoint(until: nil) }
            if state.load.isFetching {
                state.wakesAfterwards = true
                return .atPoint(until: state.load.totalDeadline)
            }
            guard !state.isClosed, state.failure == nil, let block = state.load.block else { return .here }
            let places = state.load.places(of: block)
            guard let first = places.0 else { return .here }
            state.load.isConnectionLent = true
            deferred = LoadPoint.settle(&state)
            return .lent(block, first, places.1)
        }
        perform(&deferred)
        guard case .lent(let block, let first, let second) = way else {
            if case .atPoint(let limit) = way {
                let end = [deadline, limit].compactMap(\.self).min()
                let wake = super.block(half, for: interest, until: end, minding: others)
                guard case .here(.timedOut) = wake else { return wake }
            }
            if let deadline, Moment.now >= deadline { return .here(.timedOut) }
            return .here(.ready)
        }
        defer { takeBack() }
        let callers = [Place(self, half, for: interest)] + others
        let end = [deadline, block.deadline].compactMap(\.self).min()
        switch first.point.block(
            first.half, for: first.interest, until: end, minding: callers + (second.map { [$0] } ?? []))
        {
        case .elsewhere(0, let wake): return .here(wake)
        case .elsewhere(let place, let wake) where place < callers.count: return .elsewhere(place - 1, wake)
        case .here(.timedOut):
            if let deadline, Moment.now >= deadline { return .here(.timedOut) }
            return .here(.ready)
        case .here(.failed(let number)): return .here(.failed(number))
        // What became of the connection is found out by the next step.
        case .here, .elsewhere: return .here(.ready)
        }
    }

    private func takeBack() {
        var deferred = state.withLock { state in
            state.load.isConnectionLent = false
            return LoadPoint.settle(&state)
        }
        perform(&deferred)
    }
}

/// Parked where a load is blocked while a task or a callback waits for the load.
final class LoadBell: Watcher, @unchecked Sendable {
    // Unchecked in name only, as any subclass of Watcher: an atomic and what never changes.

    private let point: LoadPoint
    private let parked = Atomic<Bool>(false)

    init(_ point: LoadPoint) {
        self.point = point
        super.init()
    }

    /// True from parking until it fires or is withdrawn.
    var isParked: Bool {
        get { parked.load(ordering: .acquiring) }
        set { parked.store(newValue, ordering: .releasing) }
    }

    /// Takes no lock: the signal may come while the load's lock is held.
    override func fire() {
        isParked = false
        point.signal([.readable, .writable])
    }
}
