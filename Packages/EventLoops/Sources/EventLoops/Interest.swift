/// What one waits for on a descriptor: that reading, or that writing, would not block.
///
/// Either half of a connection may wait for either: a TLS read may need the socket to be *writable*. Waiting for neither is
/// waiting for both.
public struct Interest: OptionSet, Sendable, Hashable {
    /// The bits as they stand in a `Waiter`'s word.
    public let rawValue: UInt

    /// Makes a set from its bits; only the two lowest have a meaning.
    @inlinable
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Bytes, an end or an error can be read.
    public static let readable = Interest(rawValue: 1)

    /// There is room to write, or writing would fail at once.
    public static let writable = Interest(rawValue: 2)
}
