public import HostResolver

/// A received datagram or, on a stream, a piece of the flow, with its bytes.
public struct SocketMessage: Sendable, Hashable {
    /// What was received. On a stream, nothing means the end.
    public let bytes: [UInt8]

    /// The length of the datagram as it came; more than `bytes.count` if the limit was too small.
    public let fullLength: Int

    /// Who sent it; nil on connected streams, and for a Unix socket without a name.
    public let sender: SocketAddress?

    /// True if the datagram was longer than the limit; the rest of it is lost.
    public var isTruncated: Bool { fullLength > bytes.count }

    init(_ bytes: [UInt8], _ reception: SocketReception) {
        self.bytes = bytes
        fullLength = reception.fullLength
        sender = reception.sender
    }
}
