internal import Glibc

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
