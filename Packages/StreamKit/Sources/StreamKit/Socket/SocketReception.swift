public import HostResolver

/// The result of a receive: the number of bytes, the sender, and whether all of it fitted.
public struct SocketReception: Sendable, Hashable {
    /// The number of bytes received into the front of the buffer.
    ///
    /// On a stream, 0 is the end: the peer sends no more. On a datagram socket, 0 is an empty datagram.
    public let count: Int

    /// The original length of the datagram; more than ``count`` if the buffer was too small. On a stream, ``count``.
    public let fullLength: Int

    /// The sender of the datagram; nil on connected streams and for a Unix socket without a name.
    public let sender: SocketAddress?

    /// True if the buffer was smaller than the datagram, the rest of which is lost. The C name is `MSG_TRUNC`.
    public var isTruncated: Bool { fullLength > count }
}

/// A received datagram, or part of a stream, with its bytes.
public struct SocketMessage: Sendable, Hashable {
    /// The received bytes. On a stream, an empty array means the end.
    public let bytes: [UInt8]

    /// The original length of the datagram; more than `bytes.count` if the limit was too small.
    public let fullLength: Int

    /// The sender's address; nil on connected streams and for a Unix socket without a name.
    public let sender: SocketAddress?

    /// True if the datagram was longer than the limit; the rest is lost.
    public var isTruncated: Bool { fullLength > bytes.count }

    init(_ bytes: [UInt8], _ reception: SocketReception) {
        self.bytes = bytes
        fullLength = reception.fullLength
        sender = reception.sender
    }
}
