/// The limits for what a peer sends.
///
/// A peer that exceeds a limit fails the connection with ``WebSocketCloseCode/messageTooBig``, before the bytes beyond the limit
/// are stored.
public struct WebSocketLimits: Hashable, Sendable {
    /// The longest message in bytes, after decompression. Default 16 MiB.
    public var messageLength = 16 << 20

    /// The longest frame in bytes, before decompression. Default 16 MiB.
    public var frameLength = 16 << 20

    /// The most frames of a message. Default 262,144.
    public var fragmentCount = 1 << 18

    /// The most bytes of messages that wait to be read, apart from the last message. Default 256 KiB. Beyond it, nothing more is
    /// received until the program has read a message, which slows the peer down.
    public var queueLength = 256 << 10

    /// The defaults stated at each property.
    public init() {}
}
