internal import EventLoops
internal import Foundation
internal import RunLoopDelivery
internal import StreamKit

/// What both fronts share: who is told of events, on which run loops, and what is kept alive meanwhile.
///
/// Theory of operation. The stream below has one client, this relay, from the moment somebody first is to be told: events
/// that are due before wait, as they do for a stream without a client. Who the delegate is at the time of an event is
/// looked up then, so that delegates can change without an event being told twice.
final class DelegateRelay: @unchecked Sendable {
    // Everything that changes is behind the lock.
    private struct State {
        weak var delegate: (any StreamDelegate)?
        weak var owner: Foundation.Stream?
        /// The owner, while it is open and scheduled: nobody else may keep it (SK-076).
        var anchor: Foundation.Stream?
        var places: [RunLoopTarget] = []
        var isOpened = false
        var isClosed = false
        var hasClient = false
        var hasToldOpen = false
    }

    private let state = Locked(State())

    func own(_ owner: Foundation.Stream) {
        let new = Unchecked(owner)
        state.withLock { $0.owner = new.value }
    }

    /// The delegate; nil for the stream itself.
    var delegate: (any StreamDelegate)? {
        get { state.withLock { state in Unchecked(state.delegate) }.value }
        set {
            let new = Unchecked(newValue)
            state.withLock { $0.delegate = new.value }
        }
    }

    /// Notes that the stream below is to have a client; false if it has one already.
    func takeClient() -> Bool {
        state.withLock { state in
            defer { state.hasClient = true }
            return !state.hasClient
        }
    }

    var hasClient: Bool { state.withLock { $0.hasClient } }

    /// What a client is to be told: all, but that the stream opened only once.
    var wantedEvents: StreamEvents {
        state.withLock { $0.hasToldOpen } ? StreamEvents.all.subtracting(.openCompleted) : .all
    }

    var places: [RunLoopTarget] { state.withLock { $0.places } }

    func schedule(on place: RunLoopTarget) {
        state.withLock { state in
            if state.isClosed || state.places.contains(where: { $0.isSame(as: place) }) { return }
            state.places.append(place)
            Self.anchor(&state)
        }
    }

    func unschedule(from place: RunLoopTarget) {
        let released = state.withLock { state -> Unchecked<Foundation.Stream?> in
            state.places.removeAll { $0.isSame(as: place) }
            return Unchecked(state.places.isEmpty ? state.anchor.take() : nil)
        }
        withExtendedLifetime(released) {}  // let go of after the lock
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
            state.places = []
            return Unchecked(state.anchor.take())
        }
        withExtendedLifetime(released) {}
    }

    private static func anchor(_ state: inout State) {
        if state.isOpened, !state.isClosed, !state.places.isEmpty { state.anchor = state.owner }
    }

    /// Tells the delegate; on the run loop.
    func tell(_ event: StreamEvent) {
        let (owner, delegate) = state.withLock { state in
            if event == .openCompleted { state.hasToldOpen = true }
            return (Unchecked(state.owner), Unchecked(state.delegate))
        }
        guard let owner = owner.value else { return }
        let own = owner as? any StreamDelegate
        (delegate.value ?? own)?.stream(owner, handle: Foundation.Stream.Event(rawValue: event.rawValue))
    }
}

/// Carries a reference out of a lock to where it is used, on whatever thread that is.
private struct Unchecked<Value>: @unchecked Sendable {
    // Retaining and releasing are safe anywhere; calling the object happens only where its owner asked for it.
    let value: Value
    init(_ value: Value) { self.value = value }
}
