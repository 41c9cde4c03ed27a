internal import EventLoops

/// One listener's pending changes, combined into one, with a notification when there are some.
final class ChangeListener: Sendable {
    private struct State {
        var change: NetworkChange = []
        var hasEnded = false
        var signal: (any DeliverySignal)?
    }

    private let state = Locked(State())
    private let point = WaitPoint()

    func put(_ change: NetworkChange) {
        let signal = state.withLock { state in
            state.change.formUnion(change)
            return state.signal
        }
        point.signal(.readable)
        signal?.signal()
    }

    func end() {
        state.withLock { $0.hasEnded = true }
        point.close()
    }

    /// Signals `signal` at each change.
    func notify(_ signal: any DeliverySignal) {
        let hasChange = state.withLock { state in
            state.signal = signal
            return !state.change.isEmpty
        }
        if hasChange { signal.signal() }
    }

    /// Returns the changes since the last call; empty if there are none.
    func take() -> NetworkChange {
        state.withLock { state in
            defer { state.change = [] }
            return state.change
        }
    }

    /// Returns the next change; nil at the end, or if the task is cancelled.
    nonisolated(nonsending) func next() async -> NetworkChange? {
        guard point.enter(.reader) == .entered else { return nil }
        defer { point.leave(.reader) }
        while true {
            let change = take()
            if !change.isEmpty { return change }
            guard await point.readerWait(for: .readable, until: nil) == .ready else { return nil }
        }
    }
}
