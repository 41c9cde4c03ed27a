internal import EventLoops

/// Limits how many connections are open at once: accepting takes a slot first, and waits while there is no free one.
final class ConnectionSlots: Sendable {
    private struct State {
        var free: Int
        var taken = 0
        var isClosed = false
        var waiters: [CheckedContinuation<Bool, Never>] = []

        /// Nil if the caller must wait.
        mutating func take() -> Bool? {
            if isClosed { return false }
            if free == 0 { return nil }
            free -= 1
            taken += 1
            return true
        }
    }

    private let state: Locked<State>

    init(_ count: Int) {
        state = Locked(State(free: max(1, count)))
    }

    /// The number of slots in use.
    var taken: Int { state.withLock { $0.taken } }

    /// Takes a slot, waiting for one if necessary; false once the slots are closed.
    nonisolated(nonsending) func take() async -> Bool {
        if let outcome = tryTake() { return outcome }
        return await withCheckedContinuation { waiter in
            let outcome = state.withLock { state -> Bool? in
                let outcome = state.take()
                if outcome == nil { state.waiters.append(waiter) }
                return outcome
            }
            if let outcome { waiter.resume(returning: outcome) }
        }
    }

    /// Returns a slot, or passes it to the task that has waited longest.
    func release() {
        let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard !state.waiters.isEmpty else {
                state.free += 1
                state.taken -= 1
                return nil
            }
            return state.waiters.removeFirst()
        }
        waiter?.resume(returning: true)
    }

    /// Ends all waits; no slot is handed out any more.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resume(returning: false) }
    }

    private func tryTake() -> Bool? { state.withLock { $0.take() } }
}
