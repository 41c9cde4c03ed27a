internal import EventLoops

/// An event that a scheduled stream delivers to its client. The numbers are CFNetwork's. Replaces `CFStreamEventType`.
public enum StreamEvent: UInt, Sendable, Hashable, CaseIterable {
    /// The stream is open. Delivered once, before all others.
    case openCompleted = 1
    /// A read will not wait. Repeated only after a read.
    case hasBytesAvailable = 2
    /// A write will not wait. Repeated only after a write.
    case canAcceptBytes = 4
    /// The stream failed. No event follows.
    case errorOccurred = 8
    /// All bytes were read, or a destination of fixed size is full. Only an error can follow.
    case endEncountered = 16
}

/// A set of ``StreamEvent``s: the events that a client requests.
public struct StreamEvents: OptionSet, Sendable, Hashable {
    /// The bits, as CFNetwork defines them.
    public let rawValue: UInt

    /// Makes a set from its bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Makes a set of one event.
    public init(_ event: StreamEvent) {
        rawValue = event.rawValue
    }

    /// See ``StreamEvent/openCompleted``.
    public static let openCompleted = StreamEvents(.openCompleted)
    /// See ``StreamEvent/hasBytesAvailable``.
    public static let hasBytesAvailable = StreamEvents(.hasBytesAvailable)
    /// See ``StreamEvent/canAcceptBytes``.
    public static let canAcceptBytes = StreamEvents(.canAcceptBytes)
    /// See ``StreamEvent/errorOccurred``.
    public static let errorOccurred = StreamEvents(.errorOccurred)
    /// See ``StreamEvent/endEncountered``.
    public static let endEncountered = StreamEvents(.endEncountered)
    /// Every event.
    public static let all = StreamEvents(rawValue: 31)
}

/// Decides which event to deliver next to a stream's client: facts in, one event out. It knows no threads and no
/// descriptors.
///
/// The rules:
/// - `openCompleted` comes first and once.
/// - `hasBytesAvailable` or `canAcceptBytes` is repeated only after a transfer.
/// - After the end, only an error can follow; after an error, nothing.
/// - Events that are due together come in ascending order of their numbers.
struct EventMachine {
    /// The observable state of one half of a stream.
    struct Facts: Equatable {
        enum Readiness: Equatable {
            case ready
            case ended
            case notYet
        }

        /// True once opening has succeeded.
        var hasOpened: Bool
        var hasFailed: Bool
        var readiness: Readiness
    }

    /// The event that reports this half as ready.
    let transfer: StreamEvent
    let wanted: StreamEvents

    private var hasReportedOpen = false
    private var hasReportedEnd = false
    private(set) var hasReportedError = false
    private var awaitsTransfer = false

    init(half: WaitPoint.Half, wanted: StreamEvents) {
        transfer =
            switch half {
            case .reader: .hasBytesAvailable
            case .writer: .canAcceptBytes
            }
        self.wanted = wanted
    }

    /// Records that the client has read or written, so that readiness may be reported again.
    mutating func didTransfer() {
        awaitsTransfer = false
    }

    /// True if the next event can come only from a transfer by the client or from an error, or not at all.
    var isSettled: Bool {
        hasReportedError || hasReportedEnd || awaitsTransfer
    }

    /// The next event to deliver; nil if there is none now.
    mutating func next(_ facts: Facts) -> StreamEvent? {
        if hasReportedError { return nil }
        if facts.hasOpened, !hasReportedOpen {
            hasReportedOpen = true
            if wanted.contains(.openCompleted) { return .openCompleted }
        }
        if facts.hasFailed {
            hasReportedError = true
            return wanted.contains(.errorOccurred) ? .errorOccurred : nil
        }
        guard facts.hasOpened, !hasReportedEnd else { return nil }
        switch facts.readiness {
        case .ready:
            if awaitsTransfer || !wanted.contains(StreamEvents(transfer)) { return nil }
            awaitsTransfer = true
            return transfer
        case .ended:
            hasReportedEnd = true
            return wanted.contains(.endEncountered) ? .endEncountered : nil
        case .notYet:
            return nil
        }
    }
}

/// The stage of a stream's life cycle. The numbers are CFNetwork's. Replaces `CFStreamStatus`.
public enum StreamStatus: Int, Sendable, Hashable {
    /// Created but not opened.
    case notOpen = 0
    /// Opening has begun: name lookup, connecting, handshakes.
    case opening = 1
    /// Bytes can be transferred.
    case open = 2
    /// A read is in progress.
    case reading = 3
    /// A write is in progress.
    case writing = 4
    /// All bytes were read, or a destination of fixed size is full.
    case atEnd = 5
    /// Closed on this side, permanently: a stream cannot be opened twice.
    case closed = 6
    /// Failed, permanently; the stream's `error` is the reason. Closing a failed stream releases its resources but
    /// keeps this status.
    case error = 7
}
