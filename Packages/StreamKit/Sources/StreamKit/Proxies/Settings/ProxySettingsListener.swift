internal import EventLoops

/// Records for one listener that a change occurred, and signals it.
final class ProxySettingsListener: Sendable {
    private struct State {
        var hasChange = false
        var signal: (any DeliverySignal)?
    }

    private let state = Locked(State())
    private let point = WaitPoint()

    func notify() {
        let signal = state.withLock { state in
            state.hasChange = true
            return state.signal
        }
        point.signal(.readable)
        signal?.signal()
    }

    func end() {
        point.close()
    }

    /// Sets the signal to send at each change.
    func setSignal(_ signal: any DeliverySignal) {
        let hasChange = state.withLock { state in
            state.signal = signal
            return state.hasChange
        }
        if hasChange { signal.signal() }
    }

    /// Returns whether there was a change since the last call.
    func take() -> Bool {
        state.withLock { state in
            defer { state.hasChange = false }
            return state.hasChange
        }
    }

    /// Waits for a change. Returns false at the end, or when the task is cancelled.
    nonisolated(nonsending) func next() async -> Bool {
        guard point.enter(.reader) == .entered else { return false }
        defer { point.leave(.reader) }
        while true {
            if take() { return true }
            guard await point.readerWait(for: .readable, until: nil) == .ready else { return false }
        }
    }
}
