internal import Glibc

/// An address family: the first argument of `socket(2)`.
///
/// Any number is valid, such as `SocketFamily(rawValue: AF_BLUETOOTH)`.
public struct SocketFamily: RawRepresentable, Sendable, Hashable {
    /// The C constant.
    public let rawValue: Int32

    /// Makes a family from its C constant.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// IPv4. The C name is `AF_INET`.
    public static let ipv4 = SocketFamily(rawValue: AF_INET)
    /// IPv6, including IPv4 unless ``SocketOption/isIPv6Only`` is set. The C name is `AF_INET6`.
    public static let ipv6 = SocketFamily(rawValue: AF_INET6)
    /// Local sockets. The C name is `AF_UNIX`.
    public static let unix = SocketFamily(rawValue: AF_UNIX)
}

extension SocketFamily: CustomStringConvertible {
    /// `IPv4`, `IPv6`, `Unix`, or the number.
    public var description: String {
        switch self {
        case .ipv4: "IPv4"
        case .ipv6: "IPv6"
        case .unix: "Unix"
        default: "family \(rawValue)"
        }
    }
}

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
    package var needsConnection: Bool { self == .stream || self == .sequencedPacket }

    /// True for types that preserve message boundaries.
    package var keepsMessages: Bool { self != .stream }
}

/// A protocol: the third argument of `socket(2)`.
public struct SocketProtocol: RawRepresentable, Sendable, Hashable {
    /// The C constant; for IP, the protocol number in the IP header.
    public let rawValue: Int32

    /// Makes a protocol from its C constant.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The default for family and type: TCP for streams, UDP for datagrams.
    public static let automatic = SocketProtocol(rawValue: 0)
    /// The C name is `IPPROTO_TCP`.
    public static let tcp = SocketProtocol(rawValue: Int32(IPPROTO_TCP))
    /// The C name is `IPPROTO_UDP`.
    public static let udp = SocketProtocol(rawValue: Int32(IPPROTO_UDP))
    /// Echo requests without privileges, as a datagram socket (icmp(7)). The C name is `IPPROTO_ICMP`.
    public static let icmp = SocketProtocol(rawValue: Int32(IPPROTO_ICMP))
    /// As ``icmp``, for IPv6. The C name is `IPPROTO_ICMPV6`.
    public static let icmpv6 = SocketProtocol(rawValue: Int32(IPPROTO_ICMPV6))
}
