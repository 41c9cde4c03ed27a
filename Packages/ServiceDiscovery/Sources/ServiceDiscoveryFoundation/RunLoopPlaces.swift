internal import EventLoops
internal import Foundation
internal import Glibc
internal import RunLoopDelivery

/// The run loops and modes on which one object tells its delegate.
///
/// Only an object with something under way keeps a loop from being empty.
///
/// Theory of operation. The object has a *step*, which tells its delegate one thing. Three invariants, all kept here:
/// - One thread takes steps at a time, so calls of the delegate neither overlap nor overtake each other, however many loops
///   the object is scheduled on. A delegate that runs its loop inside a call is called from there.
/// - A step begins after each ``ring()``. A loop that finds another one taking steps leaves it to that one, which looks again.
/// - The loops let go of the object only if it was idle and nothing has rung since it began to find that out.
final class RunLoopPlaces: Sendable {
    /// What came of a step.
    enum Step {
        /// The delegate was told something; there may be more.
        case told
        /// There was nothing to tell now.
        case nothing
        /// There was nothing to tell, and nothing is under way.
        case idle
    }

    fileprivate struct State {
        var targets: [any DeliveryTarget] = []
        /// One for each target while the object is active; none while it rests.
        var signals: [any DeliverySignal] = []
        var isActive = false
        var step: @Sendable () -> Step = { .idle }
        /// Counts the reasons to take a step.
        var rings = 0
        /// The thread that takes steps, and how many deliveries are nested on it.
        var owner: pthread_t?
        var depth = 0
    }

    private let state = Locked(State())

    deinit {
        for signal in state.withLock({ $0.signals }) { signal.cancel() }
    }

    /// Has `step` called on the loops after ``ring()``, until it has nothing to tell. To be said once, before anything else.
    func onDelivery(_ step: @escaping @Sendable () -> Step) {
        state.withLock { $0.step = step }
    }

    /// Adds a place; what waits to be told is told there, too.
    func add(_ target: any DeliveryTarget) {
        let signal = state.withLock { state -> (any DeliverySignal)? in
            guard !state.targets.contains(where: { $0.isSame(as: target) }) else { return nil }
            state.targets.append(target)
            guard state.isActive else { return nil }
            let signal = makeSignal(target)
            state.signals.append(signal)
            return signal
        }
        signal?.signal()
    }

    /// Removes a place: nothing is told there any more.
    func remove(_ target: any DeliveryTarget) {
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
            state.rings += 1
            if !state.isActive {
                state.isActive = true
                state.signals = state.targets.map(makeSignal)
            }
            return state.signals
        }
        for signal in signals { signal.signal() }
    }

    private func makeSignal(_ target: any DeliveryTarget) -> any DeliverySignal {
        target.makeSignal { [weak self] in self?.deliver(at: target) }
    }

    // MARK: On a loop

    /// The most steps in one turn of a loop; what is left is told in the next, after whatever else the loop has to do.
    static let stepsPerTurn = 16

    private func deliver(at target: any DeliveryTarget) {
        guard enter() else { return }
        for _ in 0..<Self.stepsPerTurn {
            let next = state.withLock { state -> (step: @Sendable () -> Step, rings: Int)? in
                let isScheduled = state.targets.contains { $0.isSame(as: target) }
                return isScheduled ? (state.step, state.rings) : nil
            }
            guard let next else { return handOver() }
            let outcome = next.step()
            if outcome != .told, leave(unlessRungSince: next.rings, isIdle: outcome == .idle) { return }
        }
        handOver()
    }

    /// Begins a delivery; false if another thread delivers, which then looks again.
    private func enter() -> Bool {
        state.withLock { state in
            let thread = pthread_self()
            guard state.owner == nil || state.owner == thread else {
                state.rings += 1
                return false
            }
            (state.owner, state.depth) = (thread, state.depth + 1)
            return true
        }
    }

    /// Ends a delivery that has nothing to tell; false if something has rung meanwhile.
    private func leave(unlessRungSince rings: Int, isIdle: Bool) -> Bool {
        let (hasLeft, signals) = state.withLock { state -> (Bool, [any DeliverySignal]) in
            guard state.rings == rings else { return (false, []) }
            state.leave()
            guard isIdle else { return (true, []) }
            state.isActive = false
            defer { state.signals = [] }
            return (true, state.signals)
        }
        for signal in signals { signal.cancel() }
        return hasLeft
    }

    /// Ends a delivery whose place was removed, or whose share of the turn is used; what is left is told at the places that
    /// there are.
    private func handOver() {
        let signals = state.withLock { state in
            state.leave()
            return state.signals
        }
        for signal in signals { signal.signal() }
    }
}

extension RunLoopPlaces.State {
    fileprivate mutating func leave() {
        depth -= 1
        if depth == 0 { owner = nil }
    }
}
