internal import EventLoops

/// Decides which event a stream's client is told next. Knows no threads and no descriptors: facts in, one event out.
///
/// The rules: open-completed once and first; bytes (or room) again only after a transfer; after the end only an error;
/// after an error nothing; what is pending together comes in ascending order of the numbers.
struct EventMachine {
    /// What can be said about one half of a stream without waiting.
    struct Facts: Equatable {
        enum Readiness: Equatable {
            case ready
            case ended
            case notYet
        }

        /// Opening has succeeded at some time.
        var hasOpened: Bool
        var hasFailed: Bool
        var readiness: Readiness
    }

    /// What "ready" is called on this half.
    let transfer: StreamEvent
    let wanted: StreamEvents

    private var hasToldOpen = false
    private var hasToldEnd = false
    private(set) var hasToldError = false
    private var awaitsTransfer = false

    init(half: StreamHalf, wanted: StreamEvents) {
        transfer = half == .reader ? .hasBytesAvailable : .canAcceptBytes
        self.wanted = wanted
    }

    /// The client read or wrote: it may be told of bytes or room again.
    mutating func didTransfer() {
        awaitsTransfer = false
    }

    /// True if only a transfer by the client, an error, or nothing any more can bring the next event.
    var isSettled: Bool {
        hasToldError || hasToldEnd || awaitsTransfer
    }

    /// The next event to tell, nil if there is none now.
    mutating func next(_ facts: Facts) -> StreamEvent? {
        if hasToldError { return nil }
        if facts.hasOpened, !hasToldOpen {
            hasToldOpen = true
            if wanted.contains(.openCompleted) { return .openCompleted }
        }
        if facts.hasFailed {
            hasToldError = true
            return wanted.contains(.errorOccurred) ? .errorOccurred : nil
        }
        guard facts.hasOpened, !hasToldEnd else { return nil }
        switch facts.readiness {
        case .ready:
            if awaitsTransfer || !wanted.contains(StreamEvents(transfer)) { return nil }
            awaitsTransfer = true
            return transfer
        case .ended:
            hasToldEnd = true
            return wanted.contains(.endEncountered) ? .endEncountered : nil
        case .notYet:
            return nil
        }
    }
}
