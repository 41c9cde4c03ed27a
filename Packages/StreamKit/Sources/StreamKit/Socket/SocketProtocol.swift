internal import Glibc

/// Which protocol a socket speaks: the third argument of `socket(2)`.
public struct SocketProtocol: RawRepresentable, Sendable, Hashable {
    /// The C number, which for IP is the protocol's in the IP header.
    public let rawValue: Int32

    /// The protocol with the C number `rawValue`.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// What the family and the type suggest: TCP for streams, UDP for datagrams.
    public static let automatic = SocketProtocol(rawValue: 0)
    /// The C name is `IPPROTO_TCP`.
    public static let tcp = SocketProtocol(rawValue: Int32(IPPROTO_TCP))
    /// The C name is `IPPROTO_UDP`.
    public static let udp = SocketProtocol(rawValue: Int32(IPPROTO_UDP))
    /// Echo requests without privileges, as a datagram socket (icmp(7)). The C name is `IPPROTO_ICMP`.
    public static let icmp = SocketProtocol(rawValue: Int32(IPPROTO_ICMP))
    /// The same for IPv6. The C name is `IPPROTO_ICMPV6`.
    public static let icmpv6 = SocketProtocol(rawValue: Int32(IPPROTO_ICMPV6))
}
