/// The identifier of a stream (RFC 9113 §5.1.1): 31 bits.
///
/// Clients open streams with odd identifiers, each above the one before. Identifiers are never used again.
///
/// ```swift
/// StreamID(7).isClientInitiated  // true
/// StreamID.connection            // 0: the connection as a whole
/// ```
public struct StreamID: Hashable, Comparable, Sendable, BitwiseCopyable {
    /// The number.
    public let rawValue: UInt32

    /// Creates an identifier from its lower 31 bits. The highest bit is reserved and ignored (RFC 9113 §4.1).
    public init(_ rawValue: UInt32) {
        self.rawValue = rawValue & 0x7FFF_FFFF
    }

    /// The connection as a whole, in frames that belong to no stream: 0.
    public static let connection = StreamID(0)

    /// The highest identifier: 2^31 - 1. No stream has it: it means all streams in a GOAWAY.
    public static let highest = StreamID(0x7FFF_FFFF)

    /// Whether a client opens the stream: the number is odd.
    public var isClientInitiated: Bool { rawValue & 1 == 1 }

    /// Compares the numbers: the greater stream is the newer one.
    public static func < (a: StreamID, b: StreamID) -> Bool { a.rawValue < b.rawValue }
}

extension StreamID: CustomStringConvertible {
    /// The number in decimal.
    public var description: String { "\(rawValue)" }
}
