internal import Glibc

/// Options with separate names for IPv4 and IPv6. On an IPv6 socket both are set, so that they also apply to IPv4
/// through it; the result for IPv4 is then ignored.
extension SocketOption {
    fileprivate init(
        v4: CInt, v6: CInt, named name: String, from: @escaping @Sendable (CInt) -> Value,
        to: @escaping @Sendable (Value) -> CInt
    ) {
        let v4Level = CInt(IPPROTO_IP)
        let v6Level = CInt(IPPROTO_IPV6)
        self.init(name) { descriptor in
            isIPv6(descriptor)
                ? Syscalls.option(descriptor, v6Level, v6, CInt(0)).map(from)
                : Syscalls.option(descriptor, v4Level, v4, CInt(0)).map(from)
        } write: { descriptor, value in
            let four = Syscalls.setOption(descriptor, v4Level, v4, to(value))
            return isIPv6(descriptor) ? Syscalls.setOption(descriptor, v6Level, v6, to(value)) : four
        }
    }
}

extension SocketOption where Value == Int {
    /// The most routers that a packet passes. The C names are `IP_TTL` and `IPV6_UNICAST_HOPS`.
    public static var hopLimit: Self {
        Self(v4: IP_TTL, v6: IPV6_UNICAST_HOPS, named: "IP_TTL", from: { Int($0) }, to: { CInt(clamping: $0) })
    }

    /// The most routers that a multicast packet passes; initially 1. The C names are `IP_MULTICAST_TTL`,
    /// `IPV6_MULTICAST_HOPS`.
    public static var multicastHopLimit: Self {
        Self(
            v4: IP_MULTICAST_TTL, v6: IPV6_MULTICAST_HOPS, named: "IP_MULTICAST_TTL", from: { Int($0) },
            to: { CInt(clamping: $0) })
    }
}

extension SocketOption where Value == Bool {
    /// Whether this machine receives its own multicast packets. The C names are `IP_MULTICAST_LOOP`,
    /// `IPV6_MULTICAST_LOOP`.
    public static var multicastLoops: Self {
        Self(
            v4: IP_MULTICAST_LOOP, v6: IPV6_MULTICAST_LOOP, named: "IP_MULTICAST_LOOP", from: { $0 != 0 },
            to: { $0 ? 1 : 0 })
    }
}

extension SocketOption where Value == NetworkServiceType {
    /// The purpose of the traffic, in the DSCP field of its packets (RFC 4594). The C names are `IP_TOS`,
    /// `IPV6_TCLASS`.
    ///
    /// A code point without a constant here reads as ``NetworkServiceType/standard``.
    public static var serviceType: Self {
        Self(
            v4: IP_TOS, v6: IPV6_TCLASS, named: "IP_TOS",
            from: { byte in
                NetworkServiceType.allCases.first { CInt($0.differentiatedServicesCodePoint) == byte >> 2 } ?? .standard
            },
            to: { CInt($0.differentiatedServicesCodePoint) << 2 })
    }
}

extension SocketOption where Value == String? {
    /// The interface for outgoing multicast packets; nil lets the routing table decide. The C names are
    /// `IP_MULTICAST_IF`, `IPV6_MULTICAST_IF`.
    ///
    /// IPv4 reports an interface only by its address, so reading yields nil there.
    public static var multicastInterface: Self {
        Self("IP_MULTICAST_IF") { descriptor in
            guard isIPv6(descriptor) else { return .success(nil) }
            return Syscalls.option(descriptor, CInt(IPPROTO_IPV6), IPV6_MULTICAST_IF, CInt(0)).map { index in
                withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IFNAMSIZ)) { buffer in
                    buffer.baseAddress.flatMap { if_indextoname(UInt32(index), $0) }.map { String(cString: $0) }
                }
            }
        } write: { descriptor, name in
            let index = name.map { if_nametoindex($0) } ?? 0
            if name != nil, index == 0 { return ErrorNumber(ENODEV) }
            let four = ip_mreqn(imr_multiaddr: in_addr(), imr_address: in_addr(), imr_ifindex: CInt(index))
            let result = Syscalls.setOption(descriptor, CInt(IPPROTO_IP), IP_MULTICAST_IF, four)
            return isIPv6(descriptor)
                ? Syscalls.setOption(descriptor, CInt(IPPROTO_IPV6), IPV6_MULTICAST_IF, CInt(index)) : result
        }
    }
}

private func isIPv6(_ descriptor: CInt) -> Bool {
    if case .success(AF_INET6) = Syscalls.option(descriptor, SOL_SOCKET, SO_DOMAIN, CInt(0)) { true } else { false }
}
