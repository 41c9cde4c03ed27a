internal import EventLoops

/// An event that happens once; tasks may wait for it.
final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// Returns once the event has happened.
    nonisolated(nonsending) func wait() async {
        await withCheckedContinuation { waiter in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(waiter) }
                return state.isOpen
            }
            if isOpen { waiter.resume() }
        }
    }

    /// Resumes all waiting tasks. Idempotent.
    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resume() }
    }
}
