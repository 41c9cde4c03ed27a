internal import EventLoops

/// Whether a server has been told to stop, and what that leads to.
final class ServerStopping: Sendable {
    private struct State {
        var hasBegun = false
        var observers: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }

    private let state = Locked(State())

    func begin() {
        let observers = state.withLock { state in
            state.hasBegun = true
            defer { state.observers = [:] }
            return state.observers
        }
        for observer in observers.values { observer() }
    }

    /// Calls `action` when ``begin()`` is called, at once if it has been, unless ``remove(_:)`` is called before.
    func observe(_ observer: AnyObject, _ action: @escaping @Sendable () -> Void) {
        let hasBegun = state.withLock { state in
            if !state.hasBegun { state.observers[ObjectIdentifier(observer)] = action }
            return state.hasBegun
        }
        if hasBegun { action() }
    }

    func remove(_ observer: AnyObject) {
        _ = state.withLock { $0.observers.removeValue(forKey: ObjectIdentifier(observer)) }
    }

    /// Waits until ``begin()`` is called or the task is cancelled.
    func wait() async {
        let waiter = OneShot<Void>()
        observe(waiter) { waiter.provide(()) }
        try? await waiter.value()
        remove(waiter)
    }
}
