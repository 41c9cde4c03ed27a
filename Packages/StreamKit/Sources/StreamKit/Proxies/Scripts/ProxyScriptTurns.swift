internal import EventLoops

/// Lets at most so many scripts run at once; the others wait for their turn, in order.
final class ProxyScriptTurns: Sendable {
    static let shared = ProxyScriptTurns(limit: ProxyScript.mostProcesses)

    private let queue: Locked<TurnQueue<WaitPoint>>

    init(limit: Int) {
        queue = Locked(TurnQueue(limit: limit))
    }

    /// Waits for a turn, which is given back with ``leave()``.
    ///
    /// - Throws: ``StreamError/timedOut`` at the deadline; ``StreamError/cancelled``; no turn is kept then.
    nonisolated(nonsending) func enter(until deadline: Moment?) async throws(StreamError) {
        let point = WaitPoint()
        let ticket = queue.withLock { $0.enter(point) }
        guard let ticket else { return }
        guard point.enter(.reader) == .entered else { preconditionFailure("a new point is neither busy nor closed") }
        defer { point.leave(.reader) }
        while true {
            let wake = await point.readerWait(for: .readable, until: deadline)
            switch wake {
            case .ready:
                if queue.withLock({ $0.hasTurn(ticket) }) { return }
            case .cancelled, .timedOut, .closed, .busy, .failed:
                let next = queue.withLock { $0.withdraw(ticket) }
                next?.signal(.readable)
                throw wake == .timedOut ? .timedOut : .cancelled
            }
        }
    }

    func leave() {
        let next = queue.withLock { $0.leave() }
        next?.signal(.readable)
    }
}

/// Who has a turn and who waits for one.
///
/// Invariant: at each moment, the turns that are free and those that are held add up to the limit, and one is free only if nobody
/// waits. Each function decides and changes in one step, so that there is no moment in which a turn belongs to a waiter that
/// has gone.
struct TurnQueue<Waiter> {
    /// A place in the queue.
    struct Ticket: Hashable {
        fileprivate let number: UInt64
    }

    private(set) var free: Int
    private var waiting: [(ticket: Ticket, waiter: Waiter)] = []
    private var last: UInt64 = 0

    init(limit: Int) {
        free = limit
    }

    /// Takes a free turn, and gives nil; else queues the waiter.
    mutating func enter(_ waiter: Waiter) -> Ticket? {
        if free > 0 {
            free -= 1
            return nil
        }
        last += 1
        waiting.append((Ticket(number: last), waiter))
        return waiting.last?.ticket
    }

    /// True if the turn has come. Tickets are given turns in order, so that this is when it no longer waits.
    func hasTurn(_ ticket: Ticket) -> Bool { !waiting.contains { $0.ticket == ticket } }

    /// Gives a turn back: to the first that waits, which is to be woken, or to nobody.
    mutating func leave() -> Waiter? {
        if waiting.isEmpty {
            free += 1
            return nil
        }
        return waiting.removeFirst().waiter
    }

    /// Ends waiting; a turn that had come goes to the next, which is to be woken.
    mutating func withdraw(_ ticket: Ticket) -> Waiter? {
        guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return leave() }
        waiting.remove(at: index)
        return nil
    }
}
