internal import Glibc
internal import HostResolver

/// The interfaces of this machine, and which of them discovery uses.
struct InterfaceList {
    /// One interface, as the kernel lists it.
    struct Interface: Hashable {
        let name: String
        let index: UInt32
        /// `IFF_UP` and its siblings.
        let flags: UInt32
        var addresses: [MulticastLink.Address] = []

        func has(_ flag: some BinaryInteger) -> Bool { flags & UInt32(flag) != 0 }
        var isLoopback: Bool { has(IFF_LOOPBACK) }
        var isUp: Bool { has(IFF_UP) && has(IFF_RUNNING) }
        /// Whether an engine that names no interfaces may use it: point-to-point links are left out.
        var isLink: Bool { has(IFF_MULTICAST) && !has(IFF_POINTOPOINT) && !isLoopback }
    }

    /// All of the machine's, in the order of the kernel, whether they are up or not.
    var interfaces: [Interface]

    /// Those that are up and can multicast, in the order of the kernel; the loopback interface if there is no other, or if
    /// it is named. Point-to-point links are left out unless named.
    ///
    /// - Parameter names: the only ones wanted; nil for all.
    func links(names: Set<String>?) -> [MulticastLink] {
        let usable = interfaces.filter { $0.isUp && !$0.addresses.isEmpty }
        let links = usable.filter { names?.contains($0.name) ?? $0.isLink }
        let chosen = links.isEmpty && names == nil ? usable.filter(\.isLoopback) : links
        return chosen.map { MulticastLink(index: $0.index, name: $0.name, addresses: $0.addresses) }
    }

    /// Refuses an interface on which nothing could ever be found: one that does not exist, or that the engine does not use.
    /// One that is merely down is waited for.
    ///
    /// - Parameters:
    ///   - name: the interface that an operation is limited to; nil for all that the engine uses.
    ///   - names: the only ones that the engine uses; nil for all links.
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/badArgument``.
    func check(_ name: String?, engine names: Set<String>?) throws(ServiceDiscoveryError) {
        for wanted in (names ?? []).sorted() + (name.map { [$0] } ?? []) {
            guard interfaces.contains(where: { $0.name == wanted }) else {
                throw ServiceDiscoveryError(.badArgument, name: wanted, detail: "no such interface")
            }
        }
        guard let interface = interfaces.first(where: { $0.name == name }) else { return }
        let isOnlyLoopback = interface.isLoopback && links(names: nil).allSatisfy { $0.name == name }
        guard names?.contains(interface.name) ?? (interface.isLink || isOnlyLoopback) else {
            throw ServiceDiscoveryError(
                .badArgument, name: name, detail: "the engine uses this interface only if it is created for it")
        }
    }
}

// MARK: - The kernel's

extension InterfaceList {
    /// ``links(names:)`` of this machine, now.
    static func links(names: Set<String>?) -> [MulticastLink] {
        InterfaceList.current().links(names: names)
    }

    /// ``check(_:engine:)`` on this machine, now. Without any name there is nothing to look at.
    static func check(_ name: String?, engine names: Set<String>?) throws(ServiceDiscoveryError) {
        if name != nil || names != nil { try InterfaceList.current().check(name, engine: names) }
    }

    /// What this machine has now.
    static func current() -> InterfaceList {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return InterfaceList(interfaces: []) }
        defer { freeifaddrs(list) }
        var interfaces: [Interface] = []
        var places: [String: Int] = [:]
        var next = list
        // Each interface is listed once for itself and once for each address.
        while let entry = next?.pointee {
            next = entry.ifa_next
            let name = String(cString: entry.ifa_name)
            if places[name] == nil {
                let index = if_nametoindex(name)
                guard index != 0 else { continue }
                places[name] = interfaces.count
                interfaces.append(Interface(name: name, index: index, flags: entry.ifa_flags))
            }
            guard let place = places[name], let address = entry.ifa_addr.flatMap(Self.address) else { continue }
            let length = entry.ifa_netmask.flatMap(Self.prefixLength) ?? address.octets.count * 8
            interfaces[place].addresses.append(.init(address: address, prefixLength: length))
        }
        return InterfaceList(interfaces: interfaces)
    }

    private static func address(_ pointer: UnsafeMutablePointer<sockaddr>) -> IPAddress? {
        socketAddress(pointer)?.ipAddress
    }

    /// The number of leading ones.
    private static func prefixLength(_ pointer: UnsafeMutablePointer<sockaddr>) -> Int? {
        guard let octets = socketAddress(pointer)?.ipAddress?.octets else { return nil }
        var length = 0
        for octet in octets {
            length += (~octet).leadingZeroBitCount
            if octet != 0xFF { break }
        }
        return length
    }

    private static func socketAddress(_ pointer: UnsafeMutablePointer<sockaddr>) -> SocketAddress? {
        let size: Int
        switch CInt(pointer.pointee.sa_family) {
        case AF_INET: size = MemoryLayout<sockaddr_in>.size
        case AF_INET6: size = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        return try? SocketAddress(sockaddr: UnsafeRawBufferPointer(start: pointer, count: size))
    }
}
