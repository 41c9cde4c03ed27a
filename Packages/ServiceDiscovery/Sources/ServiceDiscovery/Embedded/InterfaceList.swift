internal import Glibc
internal import HostResolver

/// The interfaces of this machine that discovery uses.
enum InterfaceList {
    /// Those that are up and can multicast, in the order of the kernel; the loopback interface if there is no other, or if
    /// it is named. Point-to-point links are left out unless named.
    ///
    /// - Parameter names: the only ones wanted; nil for all.
    static func current(names: Set<String>?) -> [MulticastLink] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var order: [String] = []
        var addresses: [String: [MulticastLink.Address]] = [:]
        var loopbacks: Set<String> = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            let name = String(cString: entry.ifa_name)
            let flags = entry.ifa_flags
            func has(_ flag: some BinaryInteger) -> Bool { flags & UInt32(flag) != 0 }
            guard has(IFF_UP), has(IFF_RUNNING), names?.contains(name) ?? true else { continue }
            let isLoopback = has(IFF_LOOPBACK)
            if names == nil, !isLoopback, !has(IFF_MULTICAST) || has(IFF_POINTOPOINT) { continue }
            guard let address = entry.ifa_addr.flatMap(Self.address) else { continue }
            let length = entry.ifa_netmask.flatMap(Self.prefixLength) ?? address.octets.count * 8
            if isLoopback { loopbacks.insert(name) }
            if addresses[name] == nil { order.append(name) }
            addresses[name, default: []].append(.init(address: address, prefixLength: length))
        }
        if names == nil, order.contains(where: { !loopbacks.contains($0) }) {
            order.removeAll { loopbacks.contains($0) }
        }
        return order.compactMap { name in
            let index = if_nametoindex(name)
            return index == 0 ? nil : MulticastLink(index: index, name: name, addresses: addresses[name] ?? [])
        }
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
