internal import EventLoops

/// The turns of the scripts that run at once for tasks.
///
/// Theory of operation. A script is slow where a name that it looks up is not answered, and it is asked about each host. So neither one
/// script nor one host of it may take all turns: each has a limit of its own, and a turn goes to the waiter whose script, and whose host,
/// has the fewest.
final class ProxyScriptTurns: Sendable {
    private typealias Turn = OneShot<Void>

    private let queue: Locked<ProxyScriptTurnQueue<Turn>>

    init(limits: ProxyScriptTurnLimits = ProxyScriptTurnLimits()) {
        queue = Locked(ProxyScriptTurnQueue(limits: limits))
    }

    /// Suspends until the script may run. Return the turn with ``end(_:)``.
    ///
    /// - Throws: ``WaitError/timedOut``, ``WaitError/cancelled``; the caller then has no turn.
    nonisolated(nonsending) func wait(_ subject: ProxyScriptSubject, until deadline: Moment) async throws(WaitError) {
        let turn = Turn()
        guard let ticket = queue.withLock({ $0.enter(subject, turn) }) else { return }
        do throws(WaitError) {
            try await turn.value(until: deadline)
        } catch {
            queue.withLock { $0.withdraw(ticket, subject) }?.provide(())
            throw error
        }
    }

    /// Returns a turn.
    func end(_ subject: ProxyScriptSubject) {
        queue.withLock { $0.end(subject) }?.provide(())
    }

    // For tests.
    var waiterCount: Int { queue.withLock { $0.waiterCount } }
}

/// What a run of a script is about.
struct ProxyScriptSubject: Equatable, Sendable {
    /// The text of the script.
    var script: String
    /// The host that it is asked about.
    var host: String
}

/// How many scripts run at once.
struct ProxyScriptTurnLimits: Sendable {
    var all = ProxyScript.maximumProcesses
    /// The most of one script.
    var ofScript = ProxyScript.maximumProcessesOfScript
    /// The most of one script about one host.
    var ofHost = ProxyScript.maximumProcessesOfHost
}

/// The turns that are taken, and the waiters for one.
///
/// Invariant: the limits leave no turn for any waiter in the queue. Each method decides and changes the state in one step, so that a turn never belongs to a waiter
/// that has given up.
struct ProxyScriptTurnQueue<Waiter> {
    /// Identifies a waiter.
    struct Ticket: Equatable {
        fileprivate let number: UInt64
    }

    private let limits: ProxyScriptTurnLimits
    private var running: [ProxyScriptSubject] = []
    private var waiting: [(ticket: Ticket, subject: ProxyScriptSubject, waiter: Waiter)] = []
    private var last: UInt64 = 0

    init(limits: ProxyScriptTurnLimits) { self.limits = limits }

    var waiterCount: Int { waiting.count }

    /// Takes a turn, and returns nil; without one, queues the waiter.
    mutating func enter(_ subject: ProxyScriptSubject, _ waiter: Waiter) -> Ticket? {
        if taken(by: subject) != nil {
            running.append(subject)
            return nil
        }
        last += 1
        let ticket = Ticket(number: last)
        waiting.append((ticket, subject, waiter))
        return ticket
    }

    /// Returns a turn. The waiter that gets it is returned, to be woken.
    mutating func end(_ subject: ProxyScriptSubject) -> Waiter? {
        if let index = running.firstIndex(of: subject) { running.remove(at: index) }
        let candidates = waiting.indices.compactMap { index in
            taken(by: waiting[index].subject).map { (index: index, taken: $0) }
        }
        // The first one of those with the fewest.
        guard let next = candidates.min(by: { $0.taken < $1.taken }) else { return nil }
        let (_, subject, waiter) = waiting.remove(at: next.index)
        running.append(subject)
        return waiter
    }

    /// Stops waiting. A turn that was given just before goes to the next waiter, which is returned to be woken.
    mutating func withdraw(_ ticket: Ticket, _ subject: ProxyScriptSubject) -> Waiter? {
        guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return end(subject) }
        waiting.remove(at: index)
        return nil
    }

    /// The numbers of turns that the script and the host have; nil if they cannot have another one.
    private func taken(by subject: ProxyScriptSubject) -> (script: Int, host: Int)? {
        let ofScript = running.filter { $0.script == subject.script }
        let ofHost = ofScript.count { $0.host == subject.host }
        guard running.count < limits.all, ofScript.count < limits.ofScript, ofHost < limits.ofHost else { return nil }
        return (ofScript.count, ofHost)
    }
}
