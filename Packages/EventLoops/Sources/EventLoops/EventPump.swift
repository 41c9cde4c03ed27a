internal import Glibc
public import Synchronization

/// Delivers the events of one object on its targets, in order and one at a time.
///
/// ```swift
/// final class Sensor: Sendable {
///     private let pump = EventPump()
///     private let readings = Mailbox<Int>(limit: 64)
///
///     func schedule(on target: any DeliveryTarget, _ client: @escaping @Sendable (Int) -> Void) {
///         pump.schedule(on: target) { [weak self] in
///             self?.pump.deliver(on: target) {
///                 guard let reading = self?.readings.tryNext() else { return .nothing }
///                 client(reading)
///                 return .delivered
///             }
///         }
///     }
///
///     func add(_ reading: Int) {
///         readings.put(reading)
///         pump.signal()
///     }
/// }
/// ```
///
/// The pump keeps the targets, with a signal on each; the object keeps its client and its events. ``signal()`` reaches all
/// targets; the first one to run delivers, and the others find nothing left. Every member may be called from any thread.
///
/// Theory of operation. The object provides a *step*, which delivers one event. The pump maintains these invariants:
/// - One delivery performs steps at a time, so calls of the client neither overlap nor change their order, on however many targets
///   the object is scheduled.
/// - A step begins after each ``signal()``. A target that runs while another one delivers leaves the work to that one, which looks
///   again before it ends.
/// - Before each step, the target is still scheduled. So nothing is delivered on a target after ``unschedule(from:)`` has returned
///   there, and the remaining targets deliver the rest.
/// - A turn of a target has at most ``eventsPerTurn`` steps, so that an object with many events does not monopolize a thread.
/// - The signals of an idle object are removed only if there was no ``signal()`` since the step that found it idle began.
public struct EventPump: ~Copyable, Sendable {
    /// The most steps in one turn of a target. The rest is delivered in later turns, after other work of the target.
    public static let eventsPerTurn = 16

    /// The result of a step.
    public enum Step: Sendable {
        /// An event was delivered; there may be more.
        case delivered
        /// There was no event.
        case nothing
        /// There was no event, and none is expected before the next ``EventPump/signal()``. The signals are removed until then, so
        /// that a run loop without other sources ends.
        case idle
    }

    private struct Entry {
        let number: UInt64
        let target: any DeliveryTarget
        let perform: @Sendable () -> Void
        /// Nil while it is being made, and while the object is idle.
        var signal: (any DeliverySignal)?
    }

    private struct State {
        var entries: [Entry] = []
        /// The number of the last entry.
        var last: UInt64 = 0
        /// True while the targets have no signals.
        var isIdle: Bool
        var isStopped = false
        /// Counts the calls of ``EventPump/signal()``.
        var signals: UInt64 = 0
        /// Whether a step has found no event since the last of them.
        var isAnswered = true
        /// The thread that performs steps, and the depth of nested deliveries on it.
        var owner: pthread_t?
        var depth = 0

        func index(of target: any DeliveryTarget) -> Int? { entries.firstIndex { $0.target.isSame(as: target) } }

        mutating func leave() {
            depth -= 1
            if depth == 0 { owner = nil }
        }

        mutating func takeSignals() -> [any DeliverySignal] {
            let signals = entries.compactMap(\.signal)
            for index in entries.indices { entries[index].signal = nil }
            return signals
        }
    }

    private let state: Locked<State>
    private let isReentrant: Bool
    @usableFromInline let scheduled = Atomic<Bool>(false)

    /// Makes a pump without targets.
    ///
    /// - Parameters:
    ///   - isIdle: whether the object is idle: the targets get their signals with the first ``signal()``.
    ///   - isReentrant: whether a client that runs its target's loop inside a call gets the next events there. Otherwise they are
    ///     delivered when that call has returned.
    public init(isIdle: Bool = false, isReentrant: Bool = false) {
        state = Locked(State(isIdle: isIdle))
        self.isReentrant = isReentrant
    }

    deinit { EventPump.cancel(state.withLock { $0.takeSignals() }) }

    /// Whether the object has a target.
    @inlinable
    public var isScheduled: Bool { scheduled.load(ordering: .acquiring) }

    /// Whether an event must be signalled: the object has a target, and no delivery is in progress, which would find the event itself.
    public var needsSignal: Bool { state.withLock { !$0.entries.isEmpty && $0.depth == 0 } }

    /// The targets, in the order of ``schedule(on:_:)``.
    public var targets: [any DeliveryTarget] { state.withLock { $0.entries.map(\.target) } }

    /// The poller that may watch the object's descriptor: that of its only target. Nil if there are several targets, because an event
    /// must reach one whose thread is not busy.
    ///
    /// It changes with the targets, so the object looks again after each change.
    public var poller: DescriptorPoller? {
        let signal = state.withLock { $0.entries.count == 1 ? $0.entries[0].signal : nil }
        return signal?.poller
    }

    /// Adds a target. A ``signal()`` that has not been answered yet is repeated there.
    ///
    /// - Parameters:
    ///   - target: where events are delivered.
    ///   - perform: runs on the target after each ``signal()``, and calls ``deliver(on:_:)``. Released by ``unschedule(from:)`` and
    ///     ``stop()``; whatever it holds lives until then.
    /// - Returns: false if the object was scheduled there already, or after ``stop()``.
    @discardableResult
    public func schedule(on target: any DeliveryTarget, _ perform: @escaping @Sendable () -> Void) -> Bool {
        let new = state.withLock { state -> (entry: Entry, isIdle: Bool)? in
            if state.isStopped || state.index(of: target) != nil { return nil }
            state.last += 1
            let entry = Entry(number: state.last, target: target, perform: perform)
            state.entries.append(entry)
            scheduled.store(true, ordering: .releasing)
            return (entry, state.isIdle)
        }
        guard let new else { return false }
        if !new.isIdle, let signal = attach(new.entry), state.withLock({ !$0.isAnswered }) { signal.signal() }
        return true
    }

    /// Makes the signal of an entry, outside the lock; nil if it is no longer required.
    private func attach(_ entry: Entry) -> (any DeliverySignal)? {
        let signal = entry.target.makeSignal(entry.perform)
        let isAttached = state.withLock { state in
            guard !state.isIdle, let index = state.entries.firstIndex(where: { $0.number == entry.number }),
                state.entries[index].signal == nil
            else { return false }
            state.entries[index].signal = signal
            return true
        }
        if isAttached { return signal }
        signal.cancel()
        return nil
    }

    /// Removes a target. If this is called on the target, nothing is delivered there after it returns; called elsewhere, a step may
    /// be in progress.
    ///
    /// - Returns: false if the object was not scheduled there.
    @discardableResult
    public func unschedule(from target: any DeliveryTarget) -> Bool {
        let removed = state.withLock { state -> Entry? in
            let removed = state.index(of: target).map { state.entries.remove(at: $0) }
            if state.entries.isEmpty { scheduled.store(false, ordering: .releasing) }
            return removed
        }
        removed?.signal?.cancel()
        return removed != nil
    }

    /// Removes all targets, and refuses later ones. Idempotent.
    public func stop() {
        let removed = state.withLock { state in
            state.isStopped = true
            scheduled.store(false, ordering: .releasing)
            defer { state.entries = [] }
            return state.entries
        }
        EventPump.cancel(removed.compactMap(\.signal))
    }

    private static func cancel(_ signals: [any DeliverySignal]) {
        for signal in signals { signal.cancel() }
    }

    /// Makes the targets look for events.
    public func signal() {
        let (signals, entries) = state.withLock { state -> ([any DeliverySignal], [Entry]) in
            state.signals &+= 1
            state.isAnswered = false
            defer { state.isIdle = false }
            return (state.entries.compactMap(\.signal), state.isIdle ? state.entries : [])
        }
        for signal in signals { signal.signal() }
        for entry in entries { attach(entry)?.signal() }
    }
}

// MARK: - On a target

extension EventPump {
    /// Performs steps until there is no event, or the turn is used up. Does nothing while another delivery is in progress, which then
    /// looks again. Call it on the target, from `perform` of ``schedule(on:_:)``.
    ///
    /// - Parameters:
    ///   - target: the target that runs. Without it among the targets, no step is performed.
    ///   - step: delivers one event.
    public func deliver(on target: any DeliveryTarget, _ step: () -> Step) {
        guard enter() else { return }
        for _ in 0..<EventPump.eventsPerTurn {
            let signals = state.withLock { $0.index(of: target) == nil ? nil : $0.signals }
            guard let signals else { return handOver() }
            let outcome = step()
            if outcome != .delivered, leave(unlessSignalledSince: signals, isIdle: outcome == .idle) { return }
        }
        handOver()
    }

    /// Begins a delivery; false if another one is in progress.
    private func enter() -> Bool {
        state.withLock { state in
            let thread = pthread_self()
            guard state.owner == nil || isReentrant && state.owner == thread else {
                state.signals &+= 1
                return false
            }
            (state.owner, state.depth) = (thread, state.depth + 1)
            return true
        }
    }

    /// Ends a delivery that found no event; false if there was a signal in the meantime.
    private func leave(unlessSignalledSince signals: UInt64, isIdle: Bool) -> Bool {
        let unwanted = state.withLock { state -> [any DeliverySignal]? in
            guard state.signals == signals else { return nil }
            state.leave()
            state.isAnswered = true
            guard isIdle else { return [] }
            state.isIdle = true
            return state.takeSignals()
        }
        guard let unwanted else { return false }
        EventPump.cancel(unwanted)
        return true
    }

    /// Ends a delivery whose target was removed or whose turn is used up. The targets deliver the rest.
    private func handOver() {
        let signals = state.withLock { state in
            state.leave()
            state.isAnswered = false
            return state.entries.compactMap(\.signal)
        }
        for signal in signals { signal.signal() }
    }
}
