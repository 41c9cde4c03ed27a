internal import EventLoops
internal import Foundation
internal import RunLoopDelivery
internal import StreamKit

/// The delegate, the run loops and the lifetime of one Foundation stream.
///
/// Theory of operation. The stream below gets one client, this relay, as soon as there is a delegate. Events that occur
/// before wait, as for any stream without a client. The delegate is looked up at the time of each event, so that
/// delegates can change without an event being delivered twice.
final class DelegateRelay: @unchecked Sendable {
    // The lock protects all mutable state.
    private struct State {
        weak var delegate: (any StreamDelegate)?
        weak var owner: Foundation.Stream?
        /// The owner while it is open and scheduled, because nothing else may keep it alive (SK-076).
        var anchor: Foundation.Stream?
        var targets: [RunLoopTarget] = []
        var isOpened = false
        var isClosed = false
        var hasClient = false
        var hasDeliveredOpen = false
    }

    private let state = Locked(State())

    func setOwner(_ owner: Foundation.Stream) {
        let new = Unchecked(owner)
        state.withLock { $0.owner = new.value }
    }

    /// The delegate; nil if it is the stream itself.
    var delegate: (any StreamDelegate)? {
        get { state.withLock { state in Unchecked(state.delegate) }.value }
        set {
            let new = Unchecked(newValue)
            state.withLock { $0.delegate = new.value }
        }
    }

    /// Makes this relay the client of a stream, if it is not yet.
    func attach(to stream: some StreamHalf) {
        let isFirst = state.withLock { state in
            defer { state.hasClient = true }
            return !state.hasClient
        }
        if isFirst { setClient(of: stream) }
    }

    /// Follows the connection to a stream that replaces the one before: as its client, if this relay was the client, on the same run loops.
    func follow(to stream: some StreamHalf) {
        let (hasClient, targets) = state.withLock { ($0.hasClient, $0.targets) }
        if hasClient { setClient(of: stream) }
        for target in targets { stream.schedule(on: target) }
    }

    /// The events are all, but the opening only once.
    private func setClient(of stream: some StreamHalf) {
        let hasDeliveredOpen = state.withLock { $0.hasDeliveredOpen }
        stream.setClient(hasDeliveredOpen ? StreamEvents.all.subtracting(.openCompleted) : .all) { _, event in
            self.deliver(event)
        }
    }

    func schedule(on target: RunLoopTarget) {
        state.withLock { state in
            if state.isClosed || state.targets.contains(where: { $0.isSame(as: target) }) { return }
            state.targets.append(target)
            Self.anchor(&state)
        }
    }

    func unschedule(from target: RunLoopTarget) {
        let released = state.withLock { state -> Unchecked<Foundation.Stream?> in
            state.targets.removeAll { $0.isSame(as: target) }
            return Unchecked(state.targets.isEmpty ? state.anchor.take() : nil)
        }
        withExtendedLifetime(released) {}  // released after the lock
    }

    func opened() {
        state.withLock { state in
            state.isOpened = true
            Self.anchor(&state)
        }
    }

    func closed() {
        let released = state.withLock { state -> Unchecked<Foundation.Stream?> in
            state.isClosed = true
            state.targets = []
            return Unchecked(state.anchor.take())
        }
        withExtendedLifetime(released) {}
    }

    private static func anchor(_ state: inout State) {
        if state.isOpened, !state.isClosed, !state.targets.isEmpty { state.anchor = state.owner }
    }

    /// Delivers an event to the delegate, on the run loop.
    func deliver(_ event: StreamEvent) {
        let (owner, delegate) = state.withLock { state in
            if event == .openCompleted { state.hasDeliveredOpen = true }
            return (Unchecked(state.owner), Unchecked(state.delegate))
        }
        guard let owner = owner.value else { return }
        let own = owner as? any StreamDelegate
        (delegate.value ?? own)?.stream(owner, handle: Foundation.Stream.Event(rawValue: event.rawValue))
    }
}

/// Carries a reference out of a lock, to any thread that uses it.
private struct Unchecked<Value>: @unchecked Sendable {
    // Retaining and releasing are safe on any thread. The object is called only on the run loops its owner chose.
    let value: Value
    init(_ value: Value) { self.value = value }
}
