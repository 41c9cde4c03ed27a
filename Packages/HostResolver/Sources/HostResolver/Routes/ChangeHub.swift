internal import EventLoops

/// A broadcast of changes to all listeners.
final class ChangeHub: Sendable {
    private struct State {
        var listeners: [ObjectIdentifier: WeakListener] = [:]
        var hasEnded = false
    }

    private struct WeakListener {
        weak var listener: ChangeListener?
    }

    private let state = Locked(State())

    func listen() -> ChangeListener {
        let listener = ChangeListener()
        let hasEnded = state.withLock { state in
            state.listeners = state.listeners.filter { $0.value.listener != nil }
            state.listeners[ObjectIdentifier(listener)] = WeakListener(listener: listener)
            return state.hasEnded
        }
        if hasEnded { listener.end() }
        return listener
    }

    func publish(_ change: NetworkChange) {
        for listener in state.withLock({ $0.listeners.values.compactMap(\.listener) }) { listener.put(change) }
    }

    func end() {
        let listeners = state.withLock { state in
            state.hasEnded = true
            return state.listeners.values.compactMap(\.listener)
        }
        for listener in listeners { listener.end() }
    }
}
