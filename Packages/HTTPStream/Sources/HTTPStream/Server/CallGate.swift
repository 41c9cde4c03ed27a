internal import StreamKit
internal import Synchronization

/// Admits one call at a time, until it is closed.
struct CallGate: ~Copyable, Sendable {
    private static let isInside: UInt8 = 1
    private static let isClosed: UInt8 = 2

    private let state = Atomic<UInt8>(0)

    /// Begins a call, which ends with ``leave()``.
    ///
    /// - Throws: ``StreamError/busy`` during another call; ``StreamError/closed``.
    borrowing func enter() throws(StreamError) {
        let seen = state.compareExchange(
            expected: 0, desired: CallGate.isInside, ordering: .acquiringAndReleasing
        ).original
        if seen & CallGate.isClosed != 0 { throw .closed }
        if seen != 0 { throw .busy }
    }

    /// Ends a call.
    borrowing func leave() {
        state.bitwiseAnd(~CallGate.isInside, ordering: .acquiringAndReleasing)
    }

    /// Whether a call is in progress. For tests.
    var isEntered: Bool { state.load(ordering: .acquiring) & CallGate.isInside != 0 }

    /// Admits no more calls. Returns false if a call is in progress.
    borrowing func close() -> Bool {
        state.bitwiseOr(CallGate.isClosed, ordering: .acquiringAndReleasing).oldValue & CallGate.isInside == 0
    }
}
