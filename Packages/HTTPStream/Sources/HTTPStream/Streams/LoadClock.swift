@_spi(Packages) internal import EventLoops
internal import StreamKit

/// What a load waits for, and its time limits.
struct LoadClock: Sendable {
    /// The wait in which a step ended.
    struct Block: Equatable, Sendable {
        let need: Need
        /// The instant at which the wait ends in any case.
        let deadline: Moment?
    }

    /// The wait in which the last step ended; nil if it did not end in a wait.
    private(set) var block: Block?
    /// The instant at which the load fails if it has not ended.
    private(set) var totalDeadline: Moment?
    /// The instant at which the load fails if the response head has not arrived. Moved whenever more of the request is sent
    /// or read from its stream, and whenever the connection for which it waits has sent other requests.
    private(set) var responseDeadline: Moment?
    /// The end of the current pause in sending: the connection accepts no bytes, or the body waits for 100 (Continue).
    private var pauseDeadline: Moment?

    /// Starts the total time limit.
    mutating func begin(within limit: Duration?) {
        if let limit, limit > .zero { totalDeadline = .now + limit }
    }

    /// Starts the limits of a request.
    mutating func beginRequest(at now: @autoclosure () -> Moment, responseTimeout: Duration?) {
        pauseDeadline = nil
        restartWaitForHead(at: now(), responseTimeout)
    }

    /// Restarts the limit of the response head.
    mutating func restartWaitForHead(at now: @autoclosure () -> Moment = .now, _ limit: Duration?) {
        if let limit { responseDeadline = now() + limit }
    }

    /// Notes that a step has sent more of the request: this ends a pause, and restarts the limit of the response head.
    ///
    /// - Parameter responseTimeout: nil for no limit, and once the head has arrived.
    mutating func noteSent(responseTimeout: Duration?) {
        pauseDeadline = nil
        restartWaitForHead(responseTimeout)
    }

    /// Removes the limits of the response head: it has arrived.
    mutating func endWaitForHead() {
        responseDeadline = nil
        pauseDeadline = nil
    }

    /// Continues the pause in sending, or begins one. Returns false if the current one has reached its limit.
    mutating func continuePause(upTo limit: Duration) -> Bool {
        guard let deadline = pauseDeadline else {
            pauseDeadline = .now + limit
            return true
        }
        return Moment.now < deadline
    }

    /// Ends a pause in sending.
    mutating func endPause() { pauseDeadline = nil }

    /// Ends a step in a wait. Returns what the stream's caller waits for.
    ///
    /// - Parameter limit: a further end of the wait.
    mutating func wait(for need: Need, before limit: Moment? = nil) -> Interest {
        var deadline = totalDeadline
        func end(before other: Moment?) {
            guard let other else { return }
            deadline = deadline.map { min($0, other) } ?? other
        }
        end(before: limit)
        if need == .room || need == .permission { end(before: pauseDeadline) }
        // The caller is responsible for the stream of its own body.
        if !need.isOwnBody { end(before: responseDeadline) }
        block = Block(need: need, deadline: deadline)
        return need.interest
    }

    /// Begins a step.
    mutating func endWait() { block = nil }

    /// Ends the wait for a ``DeferredActions/bodyReading`` that has been performed.
    ///
    /// - Parameter responseTimeout: nil for no limit, and once the head has arrived.
    mutating func endBodyReading(responseTimeout: Duration?) {
        restartWaitForHead(responseTimeout)
        if block?.need == .bodyReading { block = nil }
    }

    /// Returns the time limit that has passed, one of the two; nil if none has.
    mutating func passedLimit(
        isHeadAwaited: @autoclosure () -> Bool, totalTimeout: @autoclosure () -> Duration?,
        responseTimeout: @autoclosure () -> Duration?
    ) -> Duration? {
        guard totalDeadline != nil || responseDeadline != nil else { return nil }
        let now = Moment.now
        if let totalDeadline, now >= totalDeadline { return totalTimeout() }
        if block?.need.isOwnBody == true {
            // The time that the body's stream takes does not count for the server.
            if isHeadAwaited() { restartWaitForHead(at: now, responseTimeout()) }
            return nil
        }
        if let responseDeadline, now >= responseDeadline { return responseTimeout() }
        return nil
    }
}

// MARK: - The waits of a load

extension HTTPLoad {
    /// Ends a step in a wait, possibly with a time limit of its own. Returns nil to take the next step at once.
    ///
    /// - Throws: a time-out, if the connection has accepted no bytes for longer than `StreamProperty.writeTimeout`.
    mutating func wait(for need: Need, _ carrier: (any HTTPCarrier)?) throws(StreamError) -> Interest? {
        if need == .permission, !clock.continuePause(upTo: settings.options.continueTimeout) {
            clock.endPause()
            carrier?.permitBody()
            return nil
        }
        if need == .room, let limit = settings.writeTimeout, !clock.continuePause(upTo: limit) {
            throw .timedOut(activity, after: limit)
        }
        return clock.wait(for: need)
    }

    /// Where to wait for the end of a block; nowhere if a step only ended its turn.
    func places(of block: LoadClock.Block) -> (WaitPoint.Readiness?, WaitPoint.Readiness?) {
        state.places(for: block.need, decision: proxies?.decision?.point)
    }

    /// Whether a call opens or reads the stream of the request's body, without the load's lock.
    var isReadingBody: Bool { state.carrier?.isReadingBody ?? false }

    /// Ends the wait for a ``DeferredActions/bodyReading`` that has been performed.
    mutating func endBodyReading() {
        // The time that the body's stream takes does not count for the server.
        clock.endBodyReading(responseTimeout: state.response == nil ? settings.responseTimeout : nil)
    }

    /// Begins a step. Throws a time-out if a time limit has passed.
    mutating func beginStep() throws(StreamError) {
        defer { clock.endWait() }
        if state.hasDeliveredBody { return }
        if clock.block?.need == .standby, state.carrier?.takeQueueProgress() == true {
            clock.restartWaitForHead(settings.responseTimeout)
        }
        let passed = clock.passedLimit(
            isHeadAwaited: state.response == nil, totalTimeout: settings.options.totalTimeout,
            responseTimeout: settings.responseTimeout)
        if let passed { throw .timedOut(activity, after: passed) }
    }

    private var activity: String { state.activity(clock.block?.need, awaitsScript: proxies?.decision != nil) }
}
