public import HostResolver

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
