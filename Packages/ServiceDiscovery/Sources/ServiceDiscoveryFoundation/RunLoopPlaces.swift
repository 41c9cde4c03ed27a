internal import EventLoops
internal import Foundation
internal import RunLoopDelivery

/// The run loops and modes on which one object tells its delegate.
///
/// Only an object with something under way keeps a loop from being empty.
final class RunLoopPlaces: Sendable {
    private struct State {
        var targets: [RunLoopTarget] = []
        var signals: [any DeliverySignal] = []
        var isActive = false
        var deliver: @Sendable () -> Void = {}
    }

    private let state = Locked(State())

    deinit { rest() }

    /// Has `deliver` called on the loops after ``ring()``. To be said once, before anything else.
    func onDelivery(_ deliver: @escaping @Sendable () -> Void) {
        state.withLock { $0.deliver = deliver }
    }

    /// Adds a place; what waits to be told is told there, too.
    func add(_ target: RunLoopTarget) {
        let signal = state.withLock { state -> (any DeliverySignal)? in
            guard !state.targets.contains(where: { $0.isSame(as: target) }) else { return nil }
            state.targets.append(target)
            guard state.isActive else { return nil }
            let signal = target.makeSignal(state.deliver)
            state.signals.append(signal)
            return signal
        }
        signal?.signal()
    }

    /// Removes a place: nothing is told there any more.
    func remove(_ target: RunLoopTarget) {
        let signal = state.withLock { state -> (any DeliverySignal)? in
            guard let place = state.targets.firstIndex(where: { $0.isSame(as: target) }) else { return nil }
            state.targets.remove(at: place)
            return state.isActive ? state.signals.remove(at: place) : nil
        }
        signal?.cancel()
    }

    /// There is something to tell.
    func ring() {
        let signals = state.withLock { state in
            if !state.isActive {
                state.isActive = true
                state.signals = state.targets.map { $0.makeSignal(state.deliver) }
            }
            return state.signals
        }
        for signal in signals { signal.signal() }
    }

    /// Nothing is under way any more.
    func rest() {
        let signals = state.withLock { state in
            state.isActive = false
            defer { state.signals = [] }
            return state.signals
        }
        for signal in signals { signal.cancel() }
    }
}
