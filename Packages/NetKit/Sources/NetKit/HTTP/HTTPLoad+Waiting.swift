internal import EventLoops
internal import StreamKit

/// What a load waits for, and how long.
extension HTTPLoad {
    /// What a step could not go beyond.
    struct Block: Equatable, Sendable {
        enum Reason: Equatable, Sendable {
            /// A proxy script is deciding.
            case decision
            /// The connection is not ready for this.
            case connection(Interest)
            /// The stream of the request's body has no bytes now, and the server has not answered.
            case source
            /// Another call opens or reads the stream of the request's body, without the load's lock.
            case fetch
            /// Nothing: the step has used up its ``HTTPLoad/turnBudget``, and others are to have their turn.
            case turn
        }

        var reason: Reason
        /// When the wait ends in any case.
        var deadline: Moment?
    }

    /// Ends a step in a wait; gives what the stream's caller waits for.
    mutating func waiting(_ reason: Block.Reason) -> Interest {
        block = Block(reason: reason, deadline: deadline(of: reason))
        if case .connection(let interest) = reason { return interest }
        return .readable
    }

    /// Where to wait; nowhere if a step only ended its turn.
    ///
    /// Mutating, although it changes nothing: a borrowed load would be copied for the call.
    mutating func places(of block: Block) -> (WaitPoint.Place?, WaitPoint.Place?) {
        switch block.reason {
        case .decision:
            return (proxies?.decision.map { .init($0.point, .reader, for: .readable) }, nil)
        case .connection(let interest):
            return (connection.map { .init($0.pair.input.waitPoint, .reader, for: interest) }, nil)
        case .source:
            guard let connection, let source = sender?.sourcePoint else { return (nil, nil) }
            return (
                .init(connection.pair.input.waitPoint, .reader, for: .readable),
                .init(source, .reader, for: .readable)
            )
        case .turn, .fetch:
            return (nil, nil)
        }
    }

    // MARK: Time limits

    /// Begins to count the time.
    mutating func beginClock() {
        if let limit = settings.totalLimit, limit > .zero { totalDeadline = .now + limit }
    }

    /// Counts the time for the head of the answer from now on, unless the head has come.
    @inline(__always)
    mutating func restartResponseClock() {
        if let limit = settings.responseLimit, response == nil { responseDeadline = .now + limit }
    }

    /// When a wait for this ends at the latest.
    private func deadline(of reason: Block.Reason) -> Moment? {
        var deadline = totalDeadline
        func limit(by other: Moment?) {
            guard let other else { return }
            deadline = deadline.map { min($0, other) } ?? other
        }
        limit(by: leaveDeadline)
        limit(by: discardDeadline)
        if case .connection = reason { limit(by: stall?.deadline) }
        // For its own body's stream the caller answers.
        if reason != .source, reason != .fetch { limit(by: responseDeadline) }
        return deadline
    }

    /// - Throws: when the time is up.
    @inline(__always)
    mutating func checkTime() throws(StreamError) {
        guard totalDeadline != nil || responseDeadline != nil, !isOver else { return }
        let now = Moment.now
        if let totalDeadline, now >= totalDeadline { throw .timedOut(step, after: settings.totalLimit) }
        if let reason = block?.reason, reason == .source || reason == .fetch { return restartResponseClock() }
        if let responseDeadline, now >= responseDeadline { throw .timedOut(step, after: settings.responseLimit) }
    }
}
