internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
@_spi(Packages) internal import StreamKit
internal import Synchronization

/// A load as the transport of a stream, which reads the body of the response, and the point where the stream's callers wait.
/// Reading, peeking and closing may happen on different threads.
///
/// Theory of operation. All work is done by ``step(_:)``, under one lock, by the rules of `StepState`. A step collects what must run
/// without the lock in ``DeferredActions``: neither a log handler nor the stream of the request's body is called under it. While a
/// task or a callback waits, this point is registered where the load is blocked; a thread that waits borrows the connection instead.
/// Registrations are withdrawn after the step, before its deferred actions give up a connection.
final class LoadTransport: WaitPoint, @unchecked Sendable {
    // Unchecked only as a subclass of WaitPoint: mutable state is behind a lock.

    private struct State: ~Copyable {
        var load: HTTPLoad
        var steps = StepState()
        /// The block for which the point is registered as a watcher.
        var watchedBlock: LoadClock.Block?
        /// Signals the point at the load's next deadline.
        var timer: LoopTimer?
    }

    /// Whether the body has been read to its end: a read then needs neither the lock nor a step.
    private let isOver = Atomic<Bool>(false)
    private let lock = Lock()
    /// Accessed only by ``withState(_:)``. Not in a ``Locked``, whose allocation every request would pay for.
    @exclusivity(unchecked) private var state: State

    init(
        _ request: consuming HTTPRequest, body: consuming HTTPBody?,
        _ settings: consuming LoadSettings = LoadSettings(),
        loop: EventLoop
    ) {
        if case nil = body { body = request.ownBody }
        state = State(load: HTTPLoad(consume request, body: consume body, consume settings, loop: loop))
        super.init(loop: loop, only: .reader)
    }

    deinit {
        if !state.steps.isClosed { close() }
    }

    @inline(__always)
    private func withState<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try lock.withLock { () throws(Failure) in try body(&state) }
    }

    // MARK: Steps

    /// Takes steps of the load. An error ends the load.
    ///
    /// - Parameter body: takes the steps; returns nil to be called again after the deferred actions.
    @inline(__always)
    func step<Outcome: Sendable>(
        _ body: (inout HTTPLoad) throws(StreamError) -> Outcome?
    ) throws(StreamError) -> Outcome {
        while true {
            if let outcome = try singleStep(body) { return outcome }
        }
    }

    // Apart from the loop, in which the compiler would not inline the deferred statements: 150 instructions for each request.
    @inline(__always)
    private func singleStep<Outcome: Sendable>(
        _ body: (inout HTTPLoad) throws(StreamError) -> Outcome?
    ) throws(StreamError) -> Outcome? {
        var leavesWork = false
        var connectionReturn: DeferredActions.Return?
        defer {
            connectionReturn?.perform()
            if leavesWork { performWork() }
        }
        return try withState { (state) throws(StreamError) in
            state.load.log.logger?.suspend()
            defer {
                if state.load.state.hasDeliveredBody { isOver.store(true, ordering: .releasing) }
                // If the point is still registered at the connection, the return is left to the work, which withdraws the point first.
                if !state.steps.isWatching { connectionReturn = state.load.deferred.connectionReturn.take() }
                leavesWork = LoadTransport.hasWork(state)
            }
            try state.steps.begin()
            if !state.load.state.isOpened { state.load.start() }
            if state.steps.forgetIfOver(self) { state.watchedBlock = nil }
            do throws(StreamError) {
                try state.load.beginStep()
                return try body(&state.load)
            } catch {
                LoadTransport.fail(&state, error)
                throw error
            }
        }
    }

    /// Reads the load or changes its settings, without a step. The second argument of `body` is whether the load has begun.
    func withLoad<Outcome: Sendable, Failure: Error>(
        _ body: (inout HTTPLoad, _ isOpened: Bool) throws(Failure) -> Outcome
    ) throws(Failure) -> Outcome {
        try withState { (state) throws(Failure) in try body(&state.load, state.load.state.isOpened) }
    }

    /// Ends the load at once, as the transport of a stream.
    ///
    /// The halves of the point stay open until the stream closes them, which also ends every wait: a stream whose load has failed still
    /// reports that to a client that is scheduled later.
    override func close() {
        let leavesWork = withState { state in
            guard state.steps.close() else { return false }
            state.load.log.logger?.suspend()
            state.load.close()
            guard LoadTransport.hasWork(state) else { return false }
            withdraw(&state)
            return true
        }
        if leavesWork { performWork() }
    }

    private static func fail(_ state: inout State, _ error: StreamError) {
        state.steps.fail(error)
        state.load.close()
    }

    /// Whether a step has left work. Most leave none, and no caller waits.
    @inline(__always)
    private static func hasWork(_ state: borrowing State) -> Bool {
        state.load.log.logger != nil || !state.load.deferred.isEmpty || state.steps.isWatching
            || state.load.lending.isAwaited || state.timer != nil
    }

    /// The work that a use of the lock leaves.
    private struct Work: Sendable {
        var deferred: DeferredActions
        /// The load's log, if it has been suspended.
        var log: DeferredLog?
        /// Whether to signal the point, so that its waiters check it again.
        var wakesWaiters = false
    }

    /// Performs the work that a step has left.
    private func performWork() {
        perform(withState { state in settle(&state, resuming: state.load.log.logger) })
    }

    /// Ends each use of the lock that may have changed the load. Withdraws the point if it is registered for a block that is
    /// over, and returns the work to do without the lock.
    ///
    /// - Parameters:
    ///   - log: the load's log, if it has been suspended.
    ///   - stepGoesOn: whether the same caller takes the next step, because it has read the stream of the request's body. A caller that signalled
    ///     the point at this stage would end its own next wait, again and again while that stream has nothing.
    private func settle(_ state: inout State, resuming log: DeferredLog? = nil, stepGoesOn: Bool = false) -> Work {
        var work = Work(deferred: state.load.deferred.take(), log: log)
        let isLent = state.load.lending.isLent
        if !stepGoesOn, work.deferred.bodyReading == nil, state.steps.isWatching,
            isLent || !work.deferred.isEmpty || state.load.clock.block != state.watchedBlock, withdraw(&state)
        {
            if isLent { state.load.lending.addWaiter() } else { work.wakesWaiters = true }
        }
        if state.load.lending == .awaited, !state.load.isReadingBody {
            state.load.lending = .none
            work.wakesWaiters = true
        }
        if state.timer != nil, state.load.state.hasDeliveredBody || !state.steps.isWorking {
            work.deferred.add(.cancelTimer(state.timer.take()))
        }
        return work
    }

    /// Ends the registrations as a watcher. Returns whether the waiters have still to be woken.
    @discardableResult
    private func withdraw(_ state: inout State) -> Bool {
        state.watchedBlock = nil
        return state.steps.withdraw(self)
    }

    private func perform(_ work: consuming Work) {
        work.deferred.perform()
        // After the actions, which may log, and before the body's stream, which may take a long time.
        work.log?.resume()
        if let reading = work.deferred.bodyReading { perform(reading) }
        if work.wakesWaiters { signal([.readable, .writable]) }
    }

    /// Opens or reads the stream of the request's body. The next step takes the result.
    private func perform(_ reading: BodyReading) {
        reading.run()
        perform(
            withState { state in
                state.load.endBodyReading()
                return settle(&state, stepGoesOn: true)
            })
    }

    // MARK: Waiting

    /// Registers the point as a watcher where the load is blocked, since a task or a callback is about to wait at this point.
    override func callerWillWait(watchedBy poller: DescriptorPoller?) {
        let (isBlocked, leavesWork) = withState { state -> (Bool, Bool) in
            state.load.log.logger?.suspend()
            let isBlocked = watch(&state, by: poller)
            guard isBlocked else { return (false, LoadTransport.hasWork(state)) }
            // The point was registered just now: there is usually nothing to settle.
            return (true, state.load.log.logger != nil || !state.load.deferred.isEmpty || state.load.lending.isAwaited)
        }
        if leavesWork { performWork() }
        if !isBlocked { signal([.readable, .writable]) }
    }

    /// Registers the point as a watcher. Returns false if there is no reason to wait.
    private func watch(_ state: inout State, by poller: DescriptorPoller?) -> Bool {
        if state.load.lending.isLent || state.load.isReadingBody {
            state.load.lending.addWaiter()
            // A thread that has borrowed the connection observes the deadline itself.
            if !state.load.lending.isLent { setTimer(&state, state.load.clock.totalDeadline) }
            return true
        }
        guard state.steps.isWorking else { return false }
        // Before the load is opened nothing can happen; afterwards, a load that is not blocked can proceed.
        guard let block = state.load.clock.block else { return !state.load.state.isOpened }
        if block.need == .turn {
            loop.execute { [self] in signal([.readable, .writable]) }
            return true
        }
        setTimer(&state, block.deadline)
        state.watchedBlock = block
        do throws(StreamError) {
            return try state.steps.watch(state.load.places(of: block), with: self, by: poller)
        } catch {
            LoadTransport.fail(&state, error)
            return false
        }
    }

    private func setTimer(_ state: inout State, _ deadline: Moment?) {
        if deadline == nil, state.timer == nil { return }
        if state.timer?.deadline == deadline { return }
        if let timer = state.timer.take() { state.load.deferred.add(.cancelTimer(timer)) }
        state.timer = deadline.map { deadline in
            loop.schedule(at: deadline) { [weak self] in self?.signal([.readable, .writable]) }
        }
    }

    /// Waits on the calling thread, which watches the load's connection itself. The connection is lent to the thread meanwhile.
    @available(*, noasync)
    override func block(
        _ half: Half, for interest: Interest, until deadline: Moment?, minding others: [Readiness]
    ) -> BlockedWake {
        enum Wait {
            case unnecessary
            case atPoint(until: Moment?)
            case lent(until: Moment?, Readiness, Readiness?)
        }
        let (wait, work) = withState { state -> (Wait, Work?) in
            guard state.load.state.isOpened else {
                return (state.steps.isClosed ? .unnecessary : .atPoint(until: nil), nil)
            }
            if state.load.isReadingBody {
                state.load.lending.addWaiter()
                return (.atPoint(until: state.load.clock.totalDeadline), nil)
            }
            guard state.steps.isWorking, let block = state.load.clock.block else { return (.unnecessary, nil) }
            let places = state.load.places(of: block)
            guard let first = places.0 else { return (.unnecessary, nil) }
            state.load.lending.begin()
            return (.lent(until: block.deadline, first, places.1), settle(&state))
        }
        if let work { perform(work) }
        guard case .lent(let limit, let first, let second) = wait else {
            if case .atPoint(let limit) = wait {
                let end = [deadline, limit].compactMap(\.self).min()
                let wake = super.block(half, for: interest, until: end, minding: others)
                guard case .here(.timedOut) = wake else { return wake }
            }
            if let deadline, Moment.now >= deadline { return .here(.timedOut) }
            return .here(.ready)
        }
        defer { endLending() }
        // The others first: their indices are then those of the result.
        var all = others
        all.append(Readiness(self, half, for: interest))
        if let second { all.append(second) }
        let end = [deadline, limit].compactMap(\.self).min()
        switch first.point.block(first.half, for: first.interest, until: end, minding: all) {
        case .elsewhere(others.count, let wake): return .here(wake)
        case .elsewhere(let index, let wake) where index < others.count: return .elsewhere(index, wake)
        case .here(.timedOut):
            if let deadline, Moment.now >= deadline { return .here(.timedOut) }
            return .here(.ready)
        case .here(.failed(let number)): return .here(.failed(number))
        // The next step discovers the state of the connection.
        case .here, .elsewhere: return .here(.ready)
        }
    }

    private func endLending() {
        perform(
            withState { state in
                state.load.lending.end()
                return settle(&state)
            })
    }
}

// MARK: - The transport

extension LoadTransport: StreamTransport {
    /// Replaces the request, and sets what a session adds to it. Has no effect once the stream has been opened.
    ///
    /// - Parameters:
    ///   - pool: the pool of the connections.
    ///   - redirects: the responses that led to the request.
    func send(
        _ request: HTTPRequest, body: HTTPBody?, after redirects: [HTTPResponse], pool: HTTPConnectionPool,
        _ session: SessionSettings
    ) {
        withLoad { (load, isOpened) in
            if isOpened { return }
            load.send(request, body: body, after: redirects)
            load.settings.pool = pool
            load.settings.session = session
        }
    }

    /// Returns the connection that carries another protocol now, and the bytes of that protocol received so far; nil if the server
    /// has not switched.
    ///
    /// - Throws: the error of the load.
    func takeSwitched() throws(StreamError) -> (pair: StreamPair, received: [UInt8])? {
        // A step, so that the load withdraws its waits from the connection.
        try step { (load) throws(StreamError) in .some(load.takeSwitched()) }
    }

    /// The `tls-server-end-point` binding of the connection with the answering proxy, if it uses TLS.
    var proxyBinding: [UInt8]? { withLoad { load, _ in load.proxies?.binding } }

    /// The verdict on the credentials for the proxy that refused a tunnel.
    var tunnelVerdict: AuthenticationVerdict? { withLoad { load, _ in load.proxies?.verdict } }

    var kind: StreamKind { .http }

    var waitPoint: WaitPoint { self }

    var ownsWaitPoint: Bool { true }

    func tryOpen() throws(StreamError) -> OpenAttempt {
        try step { (load) throws(StreamError) in
            // Open means that transmission has begun; reading waits for the response.
            switch try load.begin() {
            case .done:
                // A task on the loop that reads now waits at once, as it does at a socket that its last read has emptied.
                if load.lending == .justSent { noteDrained() }
                return .opened
            case .blocked(let interest): return .wouldBlock(interest)
            case .again: return nil
            }
        }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        if isOver.load(ordering: .acquiring) { return .ended }
        return try step { (load) throws(StreamError) in
            load.lending.noteTime()
            return try load.read(into: &buffer)
        }
    }

    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        if isOver.load(ordering: .acquiring) { return .ended }
        var failed: (input: any CarrierInput, error: StreamError)?
        if let lent = lendAfterSending() {
            failed = lent.input.wait(fills: lent.fills).map { (lent.input, $0) }
        }
        while true {
            var lent: (input: any CarrierInput, fills: Bool)?
            let attempt = try step { (load) throws(StreamError) in
                load.lending.end()
                let attempt = try load.read(into: &buffer)
                guard case .wouldBlock? = attempt else { return attempt }
                // The wait failed although the connection did not: another wait would fail as well.
                lent = load.lendConnection()
                if let failed, lent?.input === failed.input { throw failed.error }
                return attempt
            }
            guard let lent else { return attempt }
            failed = lent.input.wait(fills: lent.fills).map { (lent.input, $0) }
        }
    }

    /// Lends the connection without a step, if the request was sent just now: its response cannot have arrived.
    private func lendAfterSending() -> (input: any CarrierInput, fills: Bool)? {
        withState { state in
            guard state.load.lending == .justSent, !state.steps.isClosed, !LoadTransport.hasWork(state) else {
                return nil
            }
            return state.load.lendConnection()
        }
    }

    func peek() throws(StreamError) -> Attempt {
        try step { (load) throws(StreamError) in
            if load.lending.isLent { return .wouldBlock(.readable) }
            load.lending.noteTime()
            return try load.peek()
        }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }

    func writability() throws(StreamError) -> Attempt { .ended }
}

// MARK: - Properties

extension LoadTransport {
    func property(named name: String) -> (any Sendable)? {
        withLoad { (load, isOpened) in
            switch name {
            case StreamProperty<HTTPResponse>.httpResponse.name: load.state.finalResponse(to: load.fetch.request)
            case StreamProperty<HTTPResponse>.httpProxyResponse.name:
                load.state.tunnelResponse ?? load.proxies?.response
            case StreamProperty<HTTPProxy>.httpAnsweringProxy.name: load.proxies?.answering
            case StreamProperty<[HTTPResponse]>.httpInterimResponses.name: isOpened ? load.extras?.interim ?? [] : nil
            case StreamProperty<[HTTPResponse]>.httpRedirects.name: load.fetch.redirects
            case StreamProperty<HTTPFields>.httpTrailers.name:
                isOpened ? load.state.carrier?.trailers ?? HTTPFields() : nil
            case StreamProperty<HTTPFields>.httpDroppedTrailers.name:
                isOpened ? load.state.carrier?.droppedTrailers ?? HTTPFields() : nil
            case StreamProperty<URL>.httpFinalURL.name: load.fetch.url
            case StreamProperty<HTTPRequest>.httpFinalRequest.name:
                load.state.finalRequest(to: load.fetch.url) ?? load.fetch.request
            case StreamProperty<Int64>.httpBodyBytesSent.name: load.state.bodyBytesSent
            case StreamProperty<Int64>.httpBodyLength.name: load.state.bodyLength
            case StreamProperty<String>.httpRemainingContentCoding.name: load.state.remainingContentCoding
            case StreamProperty<ConnectionReport>.report.name:
                load.log.report(load.state.response, load.fetch, load.state.carrier?.streamPlace)
            case StreamProperty<TLSInformation>.tlsInformation.name:
                load.state.pairToOrigin?[.tlsInformation] ?? load.extras?.security?.information
            case StreamProperty<Bool>.urlDemandsTLS.name: load.fetch.url?.scheme?.lowercased() == "https"
            case StreamProperty<[UInt8]>.serverEndPointBinding.name:
                load.state.pairToOrigin?[.serverEndPointBinding] ?? load.extras?.security?.binding
            default: load.settings.value(named: name)
            }
        }
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try withState { (state) throws(StreamError) in
            if state.load.state.isOpened, name != StreamProperty<Duration>.writeTimeout.name { return false }
            return try state.load.settings.set(value, named: name)
        }
    }
}
