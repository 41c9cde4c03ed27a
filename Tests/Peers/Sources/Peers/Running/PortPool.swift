internal import Glibc

/// Gives out ports that are free on both loopback addresses, for TCP and UDP.
///
/// They lie below the range from which the kernel takes the ports of outgoing connections: a port of that range (which
/// is what binding to port 0 gives) is often taken away by some client between the moment it is found and the moment a
/// server binds it. No port is given twice in a process. Another process may still be faster, so whoever starts a server
/// must be ready to ask again.
public enum PortPool {
    /// Gives `count` different free ports.
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
                throw PeerError(.noPort, "no \(count) free ports in \(range)")
            }
            return ports
        }
    }

    /// Gives one free port.
    ///
    /// - Throws: ``PeerError/Code/noPort`` if the whole range is taken.
    public static func take() throws(PeerError) -> Int {
        try take(1)[0]
    }

    /// Whether nobody listens on `port`, for TCP and UDP, on 127.0.0.1 and, if the machine has it, ::1.
    public static func isFree(_ port: Int) -> Bool {
        for type in [SOCK_STREAM, SOCK_DGRAM] {
            for address in [LoopbackAddress.v4, .v6] {
                let descriptor = socket(address.family, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
                if descriptor < 0 { continue }
                defer { close(descriptor) }
                if type == SOCK_STREAM {
                    // What is left of closed connections (TIME_WAIT) does not count; servers set this option too.
                    var yes: Int32 = 1
                    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
                }
                if !address.bind(descriptor, port: port), errno == EADDRINUSE { return false }
            }
        }
        return true
    }

    /// 10240 ..< 32768 on an unchanged Linux.
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
