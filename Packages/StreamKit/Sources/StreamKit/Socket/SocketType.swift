internal import Glibc

/// A socket type: the second argument of `socket(2)`.
public struct SocketType: RawRepresentable, Sendable, Hashable {
    /// The C constant.
    public let rawValue: Int32

    /// Makes a type from its C constant.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// A stream of bytes (TCP). The C name is `SOCK_STREAM`.
    public static let stream = SocketType(rawValue: Int32(SOCK_STREAM.rawValue))
    /// Separate messages (UDP). The C name is `SOCK_DGRAM`.
    public static let datagram = SocketType(rawValue: Int32(SOCK_DGRAM.rawValue))
    /// Messages over a connection. The C name is `SOCK_SEQPACKET`.
    public static let sequencedPacket = SocketType(rawValue: Int32(SOCK_SEQPACKET.rawValue))
    /// IP packets with unprocessed payload; requires CAP_NET_RAW. The C name is `SOCK_RAW`.
    public static let raw = SocketType(rawValue: Int32(SOCK_RAW.rawValue))

    /// True for types that listen, accept and connect before they transfer data.
    public var needsConnection: Bool { self == .stream || self == .sequencedPacket }

    /// True for types that preserve message boundaries.
    public var keepsMessages: Bool { self != .stream }
}
