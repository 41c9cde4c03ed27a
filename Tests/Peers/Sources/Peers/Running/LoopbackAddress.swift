internal import Glibc

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
