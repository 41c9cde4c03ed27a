/// Something a scheduled stream tells its client. Replaces `CFStreamEventType`; the numbers are the same.
public enum StreamEvent: UInt, Sendable, Hashable, CaseIterable {
    /// The stream is open. Once, first.
    case openCompleted = 1
    /// A read will not wait. Told again only after a read.
    case hasBytesAvailable = 2
    /// A write will not wait. Told again only after a write.
    case canAcceptBytes = 4
    /// The stream failed; nothing follows.
    case errorOccurred = 8
    /// Everything was read, or a store of fixed size is full. Only an error can follow.
    case endEncountered = 16
}

/// A set of ``StreamEvent``s: which ones a client wants.
public struct StreamEvents: OptionSet, Sendable, Hashable {
    /// CFNetwork's bits.
    public let rawValue: UInt

    /// Makes a set from its bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// The set of one event.
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
