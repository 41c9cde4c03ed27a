internal import EventLoops
internal import Foundation
internal import Glibc
internal import RunLoopDelivery

/// Delivers the events of one object to its delegate, on the run loops and modes on which the object is scheduled.
///
/// A run loop with the object's sources does not end, so only an object with an activity has sources.
///
/// Theory of operation. The object provides a *step*, which delivers one event. This type maintains three invariants:
/// - One thread performs steps at a time, so calls of the delegate neither overlap nor change their order, on however
///   many run loops the object is scheduled. A delegate that runs its run loop inside a call gets further calls from
///   there.
/// - A step begins after each ``notify()``. A run loop that finds another thread performing steps leaves the work to
///   that thread, which looks again.
/// - The sources are removed only if the object was idle, and there was no notification since the step began that found
///   it idle.
final class DelegateDelivery: Sendable {
    /// The result of a step.
    enum Step {
        /// An event was delivered; there may be more.
        case delivered
        /// There was no event.
        case nothing
        /// There was no event, and no activity is running.
        case idle
    }

    fileprivate struct State {
        var targets: [any DeliveryTarget] = []
        /// One for each target while the object is active; otherwise empty.
        var signals: [any DeliverySignal] = []
        var isActive = false
        var step: @Sendable () -> Step = { .idle }
        /// Counts the notifications.
        var notifications = 0
        /// The thread that performs steps, and the depth of nested deliveries on it.
        var owner: pthread_t?
        var depth = 0
    }

    private let state = Locked(State())

    deinit {
        for signal in state.withLock({ $0.signals }) { signal.cancel() }
    }

    /// Sets the step, which run loops perform after ``notify()`` until there is no event. Call once, before any other
    /// method.
    func onDelivery(_ step: @escaping @Sendable () -> Step) {
        state.withLock { $0.step = step }
    }

    /// Adds a run loop and mode; waiting events are delivered there as well.
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

    /// Removes a run loop and mode; no further events are delivered there.
    func remove(_ target: any DeliveryTarget) {
        let signal = state.withLock { state -> (any DeliverySignal)? in
            guard let index = state.targets.firstIndex(where: { $0.isSame(as: target) }) else { return nil }
            state.targets.remove(at: index)
            return state.isActive ? state.signals.remove(at: index) : nil
        }
        signal?.cancel()
    }

    /// Notifies the run loops that an event is available.
    func notify() {
        let signals = state.withLock { state in
            state.notifications += 1
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

    /// The most steps in one turn of a run loop. The rest is delivered in later turns, after other work of the loop.
    static let stepsPerTurn = 16

    private func deliver(at target: any DeliveryTarget) {
        guard enter() else { return }
        for _ in 0..<Self.stepsPerTurn {
            let next = state.withLock { state -> (step: @Sendable () -> Step, notifications: Int)? in
                let isScheduled = state.targets.contains { $0.isSame(as: target) }
                return isScheduled ? (state.step, state.notifications) : nil
            }
            guard let next else { return handOver() }
            let outcome = next.step()
            if outcome != .delivered, leave(unlessNotifiedSince: next.notifications, isIdle: outcome == .idle) {
                return
            }
        }
        handOver()
    }

    /// Begins a delivery; false if another thread delivers, which then looks again.
    private func enter() -> Bool {
        state.withLock { state in
            let thread = pthread_self()
            guard state.owner == nil || state.owner == thread else {
                state.notifications += 1
                return false
            }
            (state.owner, state.depth) = (thread, state.depth + 1)
            return true
        }
    }

    /// Ends a delivery that found no event; false if there was a notification in the meantime.
    private func leave(unlessNotifiedSince notifications: Int, isIdle: Bool) -> Bool {
        let (hasLeft, signals) = state.withLock { state -> (Bool, [any DeliverySignal]) in
            guard state.notifications == notifications else { return (false, []) }
            state.leave()
            guard isIdle else { return (true, []) }
            state.isActive = false
            defer { state.signals = [] }
            return (true, state.signals)
        }
        for signal in signals { signal.cancel() }
        return hasLeft
    }

    /// Ends a delivery whose target was removed or whose turn is used up. The rest is delivered on the remaining
    /// targets.
    private func handOver() {
        let signals = state.withLock { state in
            state.leave()
            return state.signals
        }
        for signal in signals { signal.signal() }
    }
}

extension DelegateDelivery.State {
    fileprivate mutating func leave() {
        depth -= 1
        if depth == 0 { owner = nil }
    }
}

/// Passes an object of the caller through a lock. Retaining and releasing are safe on any thread; its methods are
/// called only on the run loops on which its owner is scheduled.
struct Reference<Object>: @unchecked Sendable {
    let value: Object

    init(_ value: Object) {
        self.value = value
    }
}
