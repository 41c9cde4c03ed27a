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
