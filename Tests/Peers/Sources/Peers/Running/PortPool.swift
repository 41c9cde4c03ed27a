internal import Glibc

/// Provides ports that are free on both loopback addresses, for TCP and UDP.
///
/// The ports are below the kernel's range for outgoing connections. A port of that range, as binding to port 0 returns, is often
/// taken by a client before the server binds it. A process receives no port twice. Another process may still take a port first,
/// so callers must be prepared to try again.
public enum PortPool {
    /// Returns `count` different free ports.
    ///
    /// - Throws: ``PeerError/Code/noPort`` if the whole range is taken.
    public static func take(_ count: Int) throws(PeerError) -> [Int] {
        try next.withLock { next throws(PeerError) in
            var ports: [Int] = []
            for _ in range where ports.count < count {
                if isFree(next) { ports.append(next) }
                next = next + 1 < range.upperBound ? next + 1 : range.lowerBound
            }
            guard ports.count == count else {
                throw PeerError(.noPort, "fewer than \(count) free ports in \(range)")
            }
            return ports
        }
    }

    /// Returns one free port.
    ///
    /// - Throws: ``PeerError/Code/noPort`` if the whole range is taken.
    public static func take() throws(PeerError) -> Int {
        try take(1)[0]
    }

    /// Whether `port` is free for TCP and UDP, on 127.0.0.1 and, if the machine has it, on ::1.
    public static func isFree(_ port: Int) -> Bool {
        for type in [SOCK_STREAM, SOCK_DGRAM] {
            for address in [LoopbackAddress.v4, .v6] {
                let descriptor = socket(address.family, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
                if descriptor < 0 { continue }
                defer { close(descriptor) }
                if type == SOCK_STREAM {
                    // Closed connections in TIME_WAIT do not count; servers set this option too.
                    var yes: Int32 = 1
                    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
                }
                if !address.bind(descriptor, port: port), errno == EADDRINUSE { return false }
            }
        }
        return true
    }

    /// 10240 ..< 32768 with Linux's default settings.
    private static let range: Range<Int> = {
        var ephemeral = 32768
        if let text = try? readText("/proc/sys/net/ipv4/ip_local_port_range"),
            let first = text.split(whereSeparator: \.isWhitespace).first.flatMap({ Int($0) })
        {
            ephemeral = first
        }
        return ephemeral > 12288 ? 10240..<ephemeral : 10240..<65536
    }()

    private static let next = Guarded(Int.random(in: range))
}

/// The loopback address of one family.
enum LoopbackAddress: CaseIterable {
    case v4
    case v6

    var family: Int32 { self == .v4 ? AF_INET : AF_INET6 }

    /// The address as text, for a server's configuration.
    var text: String { self == .v4 ? "127.0.0.1" : "::1" }

    /// Binds `descriptor` to this address. Returns false on failure, with the reason in `errno`.
    func bind(_ descriptor: Int32, port: Int) -> Bool {
        withSockAddr(port: port) { Glibc.bind(descriptor, $0, $1) } == 0
    }

    /// Calls `body` with the address as a `sockaddr`.
    func withSockAddr<Result>(port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        let port = in_port_t(port).bigEndian
        switch self {
        case .v4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port
            address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .v6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port
            address.sin6_addr = in6addr_loopback
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
    }
}

extension LoopbackAddress {
    /// Whether this machine has the address.
    var isAvailable: Bool {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return bind(descriptor, port: 0)
    }
}
