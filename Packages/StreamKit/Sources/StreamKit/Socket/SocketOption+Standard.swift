internal import Glibc

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
