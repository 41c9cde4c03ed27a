internal import EventLoops

/// Limits the number of scripts that run at once. Others wait for their turn, in order.
final class ProxyScriptTurns: Sendable {
    static let shared = ProxyScriptTurns(limit: ProxyScript.mostProcesses)

    private let queue: Locked<TurnQueue<WaitPoint>>

    init(limit: Int) {
        queue = Locked(TurnQueue(limit: limit))
    }

    /// Waits for a turn. The caller returns it with ``leave()``.
    ///
    /// - Throws: ``StreamError/timedOut`` at the deadline, or ``StreamError/cancelled``. The caller then holds no turn.
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

/// The free turns, and the waiters for one.
///
/// Invariant: the free turns and the held turns always add up to the limit, and a turn is free only if there are no
/// waiters. Each method decides and changes the state in one step, so that a turn never belongs to a waiter that has
/// gone.
struct TurnQueue<Waiter> {
    /// A position in the queue.
    struct Ticket: Hashable {
        fileprivate let number: UInt64
    }

    private(set) var free: Int
    private var waiting: [(ticket: Ticket, waiter: Waiter)] = []
    private var last: UInt64 = 0

    init(limit: Int) {
        free = limit
    }

    /// Takes a free turn and returns nil; without a free turn, queues the waiter.
    mutating func enter(_ waiter: Waiter) -> Ticket? {
        if free > 0 {
            free -= 1
            return nil
        }
        last += 1
        waiting.append((Ticket(number: last), waiter))
        return waiting.last?.ticket
    }

    /// Whether the turn has come. Turns are given to the waiters in order, so this is the case once the ticket no
    /// longer waits.
    func hasTurn(_ ticket: Ticket) -> Bool { !waiting.contains { $0.ticket == ticket } }

    /// Returns a turn. Gives it to the first waiter, which is returned to be woken, if there is one.
    mutating func leave() -> Waiter? {
        if waiting.isEmpty {
            free += 1
            return nil
        }
        return waiting.removeFirst().waiter
    }

    /// Stops waiting. A turn that had already come goes to the next waiter, which is returned to be woken.
    mutating func withdraw(_ ticket: Ticket) -> Waiter? {
        guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return leave() }
        waiting.remove(at: index)
        return nil
    }
}
