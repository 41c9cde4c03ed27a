internal import DNSWire
internal import Glibc
@_spi(Packages) internal import HostResolver

/// The properties of an interface that discovery needs.
struct MulticastLink: Hashable, Sendable {
    /// An address with the prefix length of its network.
    struct Address: Hashable, Sendable {
        let address: IPAddress
        let prefixLength: Int
    }

    let index: UInt32
    let name: String
    let addresses: [Address]
    /// Whether an address is on this link (RFC 6762 §11).
    func contains(_ address: IPAddress) -> Bool {
        if address.isLinkLocal || addresses.contains(where: { Self.isSame($0.address, address) }) { return true }
        return addresses.contains { own in
            guard own.address.family == address.family else { return false }
            let (mine, theirs) = (own.address.octets, address.octets)
            return (0..<own.prefixLength).allSatisfy { bit in
                let mask: UInt8 = 0x80 >> UInt8(bit % 8)
                return mine[bit / 8] & mask == theirs[bit / 8] & mask
            }
        }
    }

    func isOwn(_ address: IPAddress) -> Bool {
        addresses.contains { Self.isSame($0.address, address) }
    }

    /// Compares addresses without their zones.
    private static func isSame(_ one: IPAddress, _ other: IPAddress) -> Bool {
        one.octets == other.octets
    }
}

/// The addresses of this host on all of its interfaces. A record with one of them is no conflict, whichever program of the host sent it.
struct HostAddresses: Equatable {
    // Without their zones.
    private let octets: Set<[UInt8]>

    init(_ links: some Sequence<MulticastLink> = []) {
        octets = Set(links.flatMap { $0.addresses.map(\.address.octets) })
    }

    /// Whether the record is an address of this host.
    func contain(_ record: DNSRecord) -> Bool { record.data.address.map { octets.contains($0.octets) } ?? false }
}

/// The interfaces of this machine, and the choice of those that discovery uses.
struct InterfaceList {
    /// An interface as the kernel lists it.
    struct Interface: Hashable {
        let name: String
        let index: UInt32
        /// `IFF_UP` and others.
        let flags: UInt32
        var addresses: [MulticastLink.Address] = []

        func has(_ flag: some BinaryInteger) -> Bool { flags & UInt32(flag) != 0 }
        var isLoopback: Bool { has(IFF_LOOPBACK) }
        var isUp: Bool { has(IFF_UP) && has(IFF_RUNNING) }
        /// Whether an engine that names no interfaces may use it. Point-to-point links are excluded.
        var isLink: Bool { has(IFF_MULTICAST) && !has(IFF_POINTOPOINT) && !isLoopback }
    }

    /// All interfaces in the kernel's order, whether they are up or not.
    var interfaces: [Interface]

    /// The interfaces that are up and support multicast, in the kernel's order. Loopback is included if it is named, or
    /// if there is no other interface. Point-to-point links are included only if named.
    ///
    /// - Parameter names: the only interfaces to use; nil for all.
    func links(names: Set<String>?) -> [MulticastLink] {
        let usable = interfaces.filter { $0.isUp && !$0.addresses.isEmpty }
        let links = usable.filter { names?.contains($0.name) ?? $0.isLink }
        let chosen = links.isEmpty && names == nil ? usable.filter(\.isLoopback) : links
        return chosen.map { MulticastLink(index: $0.index, name: $0.name, addresses: $0.addresses) }
    }

    /// Refuses an interface on which nothing can ever be found, because it does not exist or the engine does not use
    /// it. An interface that is only down is accepted, because it may come up.
    ///
    /// - Parameters:
    ///   - name: the interface of an operation; nil for all that the engine uses.
    ///   - names: the only interfaces that the engine uses; nil for all links.
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

// MARK: - Interfaces of this machine

extension InterfaceList {
    /// ``links(names:)`` of this machine, now.
    static func links(names: Set<String>?) throws(ServiceDiscoveryError) -> [MulticastLink] {
        try InterfaceList.current().links(names: names)
    }

    /// ``check(_:engine:)`` on this machine, now. Without any name there is nothing to check.
    static func check(_ name: String?, engine names: Set<String>?) throws(ServiceDiscoveryError) {
        if name != nil || names != nil { try InterfaceList.current().check(name, engine: names) }
    }

    /// The interfaces that this machine has now.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/system`` if the kernel cannot be asked. A machine without interfaces is
    ///   something else.
    static func current() throws(ServiceDiscoveryError) -> InterfaceList {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { throw ServiceDiscoveryError(errno: errno) }
        defer { freeifaddrs(list) }
        var interfaces: [Interface] = []
        var positions: [String: Int] = [:]
        var next = list
        // The kernel lists each interface once for itself and once for each address.
        while let entry = next?.pointee {
            next = entry.ifa_next
            let name = String(cString: entry.ifa_name)
            if positions[name] == nil {
                // Nil if the interface was removed meanwhile.
                guard let index = try InterfaceName.index(of: name) else { continue }
                positions[name] = interfaces.count
                interfaces.append(Interface(name: name, index: index, flags: entry.ifa_flags))
            }
            guard let position = positions[name], let pointer = entry.ifa_addr,
                let address = SocketAddress(ip: pointer)?.ipAddress
            else { continue }
            let length = entry.ifa_netmask.flatMap(Self.prefixLength) ?? address.octets.count * 8
            interfaces[position].addresses.append(.init(address: address, prefixLength: length))
        }
        return InterfaceList(interfaces: interfaces)
    }

    /// The number of leading one bits.
    private static func prefixLength(_ pointer: UnsafeMutablePointer<sockaddr>) -> Int? {
        guard let octets = SocketAddress(ip: pointer)?.ipAddress?.octets else { return nil }
        var length = 0
        for octet in octets {
            length += (~octet).leadingZeroBitCount
            if octet != 0xFF { break }
        }
        return length
    }
}
