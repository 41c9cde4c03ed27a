internal import EventLoops

/// The time limits of a load. It reads the clock only for a pause in sending; the load sets the deadlines and observes them.
struct LoadClock: Sendable {
    /// A pause in which the connection accepts no bytes of the request, limited by `StreamProperty.writeTimeout`.
    private struct WriteStall: Sendable {
        /// The number of bytes that the connection had accepted when the pause began.
        let taken: Int
        /// The instant at which the load fails.
        let deadline: Moment
    }

    /// The instant at which the load fails if it has not ended.
    var totalDeadline: Moment?
    /// The instant at which the load fails if the response head has not arrived. Moved whenever more of the request is sent.
    var responseDeadline: Moment?
    /// The instant at which the rest of a redirect's body is given up.
    var discardDeadline: Moment?
    /// The instant at which a body that waits for 100 (Continue) is sent without it.
    var continueDeadline: Moment?
    /// Set while the connection accepts no bytes of the request and the time for that is limited.
    private var stall: WriteStall?

    /// Whether the connection has accepted no bytes since the last call of ``isOverdue(stalledAt:_:)``.
    var isStalled: Bool { stall != nil }

    /// Ends a pause, unless the connection still has accepted only this number of bytes.
    mutating func endStall(unlessAt taken: Int?) {
        if stall?.taken != taken { stall = nil }
    }

    /// Begins a pause, or returns whether the current one has lasted too long.
    mutating func isOverdue(stalledAt taken: Int, _ limit: Duration) -> Bool {
        guard let stall else {
            stall = WriteStall(taken: taken, deadline: .now + limit)
            return false
        }
        return Moment.now >= stall.deadline
    }

    /// Removes the limits of the response head: it has arrived.
    mutating func endWaitForHead() {
        responseDeadline = nil
        continueDeadline = nil
    }

    /// Removes the limits of sending a request.
    mutating func endRequest() {
        continueDeadline = nil
        stall = nil
    }

    /// The latest end of a wait for this reason.
    func deadline(of reason: HTTPLoad.Block.Reason) -> Moment? {
        var deadline = totalDeadline
        func limit(by other: Moment?) {
            guard let other else { return }
            deadline = deadline.map { min($0, other) } ?? other
        }
        limit(by: continueDeadline)
        limit(by: discardDeadline)
        if case .connection = reason { limit(by: stall?.deadline) }
        // The caller is responsible for the stream of its own body.
        if reason != .source, reason != .fetch { limit(by: responseDeadline) }
        return deadline
    }
}
