internal import EventLoops
internal import Glibc

/// The address families that this machine has addresses of.
///
/// Theory of operation. `AI_ADDRCONFIG` has the C library ask the kernel for all addresses at every call, which costs more
/// than a name from the hosts file does. Here they are asked for once. A netlink socket that nobody waits on hears of every
/// change; when it has something to read, what is known is out of date. The kernel puts a change there before the call
/// that made it returns, so looking first is enough: nothing out of date is ever given.
final class ConfiguredFamilies: Sendable {
    private struct State {
        /// Hears of changes; nil before the first question, and where the kernel gives none.
        var changes: CInt?
        var known: AddressFamilies?
    }

    private let state = Locked(State())

    deinit {
        if let descriptor = state.withLock({ $0.changes }) { close(descriptor) }
    }

    /// The families of all addresses but the loopback ones. A link-local address counts, as it does for `AI_ADDRCONFIG`.
    func current() -> AddressFamilies {
        state.withLock { state in
            if state.changes == nil {
                state.changes = try? RouteSocket.open(groups: RouteNetlink.addressGroups)
            }
            guard let descriptor = state.changes else { return Self.ofInterfaces() }
            let hasChanged = Self.drain(descriptor)
            if !hasChanged, let known = state.known { return known }
            let families = Self.ofInterfaces()
            state.known = families
            return families
        }
    }

    /// Throws away what has come; true if there was something, or too much of it (`ENOBUFS`).
    private static func drain(_ descriptor: CInt) -> Bool {
        var hasChanged = false
        var byte: UInt8 = 0
        // The rest of each datagram is cut off. From whom it came does not matter: at worst the kernel is asked again.
        while recv(descriptor, &byte, 1, CInt(MSG_DONTWAIT)) >= 0 || errno == EINTR || errno == ENOBUFS {
            hasChanged = true
        }
        return hasChanged
    }

    private static func ofInterfaces() -> AddressFamilies {
        var list: UnsafeMutablePointer<ifaddrs>?
        // A machine that tells nothing is taken for one that has all: names are found then, at worst too many addresses.
        guard getifaddrs(&list) == 0 else { return .all }
        defer { freeifaddrs(list) }
        var families: AddressFamilies = []
        var next = list
        while let interface = next?.pointee {
            next = interface.ifa_next
            guard let address = interface.ifa_addr else { continue }
            let size =
                switch CInt(address.pointee.sa_family) {
                case AF_INET: MemoryLayout<sockaddr_in>.size
                case AF_INET6: MemoryLayout<sockaddr_in6>.size
                default: 0
                }
            let bytes = UnsafeRawBufferPointer(start: address, count: size)
            if let ip = try? SocketAddress(sockaddr: bytes).ipAddress, !ip.isLoopback { families.formUnion(ip.family) }
        }
        return families
    }
}
