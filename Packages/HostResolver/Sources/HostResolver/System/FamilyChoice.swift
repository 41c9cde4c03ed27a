internal import EventLoops
internal import Glibc

/// The families to look up on a machine that may lack addresses of some.
///
/// A family of which this machine has no address is omitted: its addresses would be unreachable, and querying a server
/// for them would waste time. At least one family remains: on a machine with only loopback addresses, no family is
/// omitted. A host that has only addresses of an omitted family, such as `ip6-localhost` in a hosts file, is found by a
/// second lookup.
struct FamilyChoice: Hashable {
    /// The families to look up first.
    let first: AddressFamilies
    /// The families to look up if the host has no address in ``first``; may be empty.
    let fallback: AddressFamilies

    init(wanted: AddressFamilies, configured: AddressFamilies) {
        let usable = wanted.intersection(configured)
        first = usable.isEmpty ? wanted : usable
        fallback = wanted.subtracting(first)
    }
}

/// The address families of which this machine has an address.
///
/// Theory of operation. With `AI_ADDRCONFIG`, the C library queries all addresses from the kernel at every call, which
/// costs more than a lookup in the hosts file. Here the families are queried once and cached. A netlink socket, which
/// is never waited on, receives a message for every change; if it is readable, the cache is out of date. The kernel
/// queues the message before the system call that made the change returns. Checking the socket first is therefore
/// enough to never return an outdated value.
final class ConfiguredFamilies: Sendable {
    private struct State {
        /// The netlink socket that receives changes; nil before the first query, and if the kernel provides none.
        var changeSocket: CInt?
        var cached: AddressFamilies?
    }

    private let state = Locked(State())

    deinit {
        if let descriptor = state.withLock({ $0.changeSocket }) { close(descriptor) }
    }

    /// Returns the families of all addresses except loopback ones. A link-local address counts, as for `AI_ADDRCONFIG`.
    func current() -> AddressFamilies {
        state.withLock { state in
            if state.changeSocket == nil {
                state.changeSocket = try? RouteSocket.open(groups: RouteNetlink.addressGroups)
            }
            guard let descriptor = state.changeSocket else { return Self.ofInterfaces() }
            let hasChanged = Self.drain(descriptor)
            if !hasChanged, let cached = state.cached { return cached }
            let families = Self.ofInterfaces()
            state.cached = families
            return families
        }
    }

    /// Discards all pending messages; true if there were any, or if some were lost (`ENOBUFS`).
    private static func drain(_ descriptor: CInt) -> Bool {
        var hasChanged = false
        var byte: UInt8 = 0
        // Only the first byte of each datagram is read. Its sender does not matter: at worst, the families are queried
        // once more.
        while recv(descriptor, &byte, 1, CInt(MSG_DONTWAIT)) >= 0 || errno == EINTR || errno == ENOBUFS {
            hasChanged = true
        }
        return hasChanged
    }

    private static func ofInterfaces() -> AddressFamilies {
        var list: UnsafeMutablePointer<ifaddrs>?
        // Assume both families if the query fails: lookups still work, at worst with unusable addresses.
        guard getifaddrs(&list) == 0 else { return .all }
        defer { freeifaddrs(list) }
        var families: AddressFamilies = []
        var next = list
        while let interface = next?.pointee {
            next = interface.ifa_next
            guard let address = interface.ifa_addr, let ip = SocketAddress(ip: address)?.ipAddress else { continue }
            if !ip.isLoopback { families.formUnion(ip.family) }
        }
        return families
    }
}
