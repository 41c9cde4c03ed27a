internal import Glibc

/// How a socket moves data: the second argument of `socket(2)`.
public struct SocketType: RawRepresentable, Sendable, Hashable {
    /// The C number.
    public let rawValue: Int32

    /// The type with the C number `rawValue`.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// A flow of bytes (TCP). The C name is `SOCK_STREAM`.
    public static let stream = SocketType(rawValue: Int32(SOCK_STREAM.rawValue))
    /// Single messages (UDP). The C name is `SOCK_DGRAM`.
    public static let datagram = SocketType(rawValue: Int32(SOCK_DGRAM.rawValue))
    /// Messages over a connection. The C name is `SOCK_SEQPACKET`.
    public static let sequencedPacket = SocketType(rawValue: Int32(SOCK_SEQPACKET.rawValue))
    /// Packets with their IP payload as it is; needs CAP_NET_RAW. The C name is `SOCK_RAW`.
    public static let raw = SocketType(rawValue: Int32(SOCK_RAW.rawValue))

    /// True for the types that listen, accept and connect before data moves.
    public var needsConnection: Bool { self == .stream || self == .sequencedPacket }

    /// True for the types that keep the bounds of messages.
    public var keepsMessages: Bool { self != .stream }
}
