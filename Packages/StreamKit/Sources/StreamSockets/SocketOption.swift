internal import Glibc

/// A typed socket option, for `getsockopt(2)` and `setsockopt(2)`.
///
/// ```swift
/// try socket.set(.keepsAlive, to: true)
/// try socket.set(.keepAliveIdle, to: .seconds(60))
/// let size = try socket.get(.receiveBufferSize)
/// ```
///
/// Further options can be added: `SocketOption<Bool>(SOL_SOCKET, SO_DONTROUTE, named: "SO_DONTROUTE")`.
public struct SocketOption<Value: Sendable>: Sendable {
    typealias Reader = @Sendable (CInt) -> Result<Value, ErrorNumber>
    typealias Writer = @Sendable (CInt, Value) -> ErrorNumber?

    /// The C name, for error messages.
    public let name: String

    let read: Reader
    let write: Writer

    init(_ name: String, read: @escaping Reader, write: @escaping Writer) {
        self.name = name
        self.read = read
        self.write = write
    }

    /// An option that is a C `int`, with conversions.
    init(
        _ level: CInt, _ number: CInt, named name: String, from: @escaping @Sendable (CInt) -> Value,
        to: @escaping @Sendable (Value) -> CInt
    ) {
        self.init(name) {
            Syscalls.option($0, level, number, CInt(0)).map(from)
        } write: {
            Syscalls.setOption($0, level, number, to($1))
        }
    }
}

extension SocketOption where Value == Bool {
    /// An option that is a C `int` used as a switch.
    public init(_ level: Int32, _ number: Int32, named name: String) {
        self.init(level, number, named: name, from: { $0 != 0 }, to: { $0 ? 1 : 0 })
    }
}

extension SocketOption where Value == Int {
    /// An option that is a C `int`.
    public init(_ level: Int32, _ number: Int32, named name: String) {
        self.init(level, number, named: name, from: { Int($0) }, to: { CInt(clamping: $0) })
    }
}

extension SocketOption where Value == Duration {
    /// An option that is a C `int` of whole seconds; rounded up.
    init(seconds level: Int32, _ number: Int32, named name: String) {
        self.init(
            level, number, named: name, from: { .seconds($0) },
            to: { duration in
                let (seconds, rest) = duration.components
                return CInt(clamping: rest > 0 ? seconds + 1 : seconds)
            })
    }
}

extension Socket {
    /// The value of an option.
    ///
    /// - Throws: `ENOPROTOOPT` or `EOPNOTSUPP` if the socket has no such option.
    public func get<Value>(_ option: SocketOption<Value>) throws(StreamError) -> Value {
        switch try using({ (descriptor) throws(StreamError) in option.read(descriptor) }) {
        case .success(let value): return value
        case .failure(let number): throw StreamError(posix: number.value, .optionFailed(option.name, number.value))
        }
    }

    /// Sets an option.
    ///
    /// - Throws: `ENOPROTOOPT` or `EOPNOTSUPP` if the socket has no such option; `EINVAL` for an invalid value;
    ///   `EPERM`.
    public func set<Value>(_ option: SocketOption<Value>, to value: Value) throws(StreamError) {
        if let number = try using({ (descriptor) throws(StreamError) in option.write(descriptor, value) }) {
            throw StreamError(posix: number.value, .optionFailed(option.name, number.value))
        }
    }
}

extension SocketOption where Value == Bool {
    /// Whether an address whose previous connections are in TIME_WAIT can be bound. The C name is `SO_REUSEADDR`.
    public static var reusesAddress: Self { Self(SOL_SOCKET, SO_REUSEADDR, named: "SO_REUSEADDR") }

    /// Whether several sockets of one user share a port, among which the kernel distributes arrivals. The C name is
    /// `SO_REUSEPORT`.
    public static var reusesPort: Self { Self(SOL_SOCKET, SO_REUSEPORT, named: "SO_REUSEPORT") }

    /// Whether the kernel probes an idle connection. The C name is `SO_KEEPALIVE`.
    public static var keepsAlive: Self { Self(SOL_SOCKET, SO_KEEPALIVE, named: "SO_KEEPALIVE") }

    /// Whether small segments are sent at once. The C name is `TCP_NODELAY`.
    public static var sendsAtOnce: Self { Self(CInt(IPPROTO_TCP), TCP_NODELAY, named: "TCP_NODELAY") }

    /// Whether datagrams may go to broadcast addresses. The C name is `SO_BROADCAST`.
    public static var allowsBroadcast: Self { Self(SOL_SOCKET, SO_BROADCAST, named: "SO_BROADCAST") }

    /// Whether an IPv6 socket refuses IPv4; set it before binding. The C name is `IPV6_V6ONLY`.
    public static var isIPv6Only: Self { Self(CInt(IPPROTO_IPV6), IPV6_V6ONLY, named: "IPV6_V6ONLY") }
}

extension SocketOption where Value == Int {
    /// The size of the kernel's send buffer in bytes. The kernel doubles the value that is set. The C name is
    /// `SO_SNDBUF`.
    public static var sendBufferSize: Self { Self(SOL_SOCKET, SO_SNDBUF, named: "SO_SNDBUF") }

    /// The size of the kernel's receive buffer in bytes. The kernel doubles the value that is set. The C name is
    /// `SO_RCVBUF`.
    public static var receiveBufferSize: Self { Self(SOL_SOCKET, SO_RCVBUF, named: "SO_RCVBUF") }

    /// The number of unanswered probes after which a connection is dropped. The C name is `TCP_KEEPCNT`.
    public static var keepAliveCount: Self { Self(CInt(IPPROTO_TCP), TCP_KEEPCNT, named: "TCP_KEEPCNT") }
}

extension SocketOption where Value == Duration {
    /// The idle time before the first probe, in whole seconds. The C name is `TCP_KEEPIDLE`.
    public static var keepAliveIdle: Self { Self(seconds: CInt(IPPROTO_TCP), TCP_KEEPIDLE, named: "TCP_KEEPIDLE") }

    /// The time between two probes, in whole seconds. The C name is `TCP_KEEPINTVL`.
    public static var keepAliveInterval: Self {
        Self(seconds: CInt(IPPROTO_TCP), TCP_KEEPINTVL, named: "TCP_KEEPINTVL")
    }
}

extension SocketOption where Value == Duration? {
    /// How long closing waits until pending data is delivered, in whole seconds. Nil does not wait; zero discards the
    /// data and resets the connection.
    ///
    /// Any other value blocks the thread that closes. The C name is `SO_LINGER`.
    public static var linger: Self {
        Self("SO_LINGER") { descriptor in
            Syscalls.option(descriptor, SOL_SOCKET, SO_LINGER, Glibc.linger()).map {
                $0.l_onoff == 0 ? nil : .seconds($0.l_linger)
            }
        } write: { descriptor, duration in
            let seconds = duration.map {
                CInt(clamping: $0.components.seconds + ($0.components.attoseconds > 0 ? 1 : 0))
            }
            let value = Glibc.linger(l_onoff: seconds == nil ? 0 : 1, l_linger: seconds ?? 0)
            return Syscalls.setOption(descriptor, SOL_SOCKET, SO_LINGER, value)
        }
    }
}

extension SocketOption where Value == String? {
    /// The only interface that the socket uses; nil for any. The C name is `SO_BINDTODEVICE`.
    public static var interface: Self {
        Self("SO_BINDTODEVICE") { descriptor in
            var name = [CChar](repeating: 0, count: Int(IFNAMSIZ))
            var length = socklen_t(name.count)
            guard getsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, &name, &length) == 0 else {
                return .failure(ErrorNumber(errno))
            }
            let text = String(
                decoding: name.prefix(Int(length)).prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            return .success(text.isEmpty ? nil : text)
        } write: { descriptor, name in
            let bytes = Array((name ?? "").utf8)
            return setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, bytes, socklen_t(bytes.count)) == 0
                ? nil : ErrorNumber(errno)
        }
    }
}

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
            var index: UInt32 = 0
            if let name {
                switch Syscalls.interfaceIndex(name) {
                case .success(let found): index = found
                case .failure(let number): return number
                }
            }
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
