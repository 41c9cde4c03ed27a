@_spi(Packages) internal import EventLoops

/// Whether other sockets of this machine use the port of multicast DNS.
///
/// The kernel divides unicast packets to a shared port among the sockets, by sender, so that a program misses some of them. It lists the
/// sockets in files (proc_net(5)). A bind that does not share the port would tell as well, but other programs could not bind it meanwhile.
enum PortUse {
    /// Whether sockets other than `own`, which are given by their inodes, use the port. True if the kernel does not tell.
    static func isShared(beside own: Set<UInt64>) -> Bool {
        // Those of the thread's network namespace.
        isShared(
            ["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"].map { try? SystemCall.contents(of: $0) },
            beside: own)
    }

    /// Whether the lists of both families have other sockets with the port than `own`. The second one is missing on a machine without IPv6.
    /// Lists without the own sockets are those of another network namespace, and tell nothing.
    static func isShared(_ lists: [[UInt8]?], beside own: Set<UInt64>) -> Bool {
        let known = lists.compactMap { $0 }.map { sockets(in: $0, port: MulticastRules.port) }
        return own.isEmpty || known.reduce([]) { $0.union($1) } != own
    }

    /// The inodes of the sockets that are bound to the port.
    ///
    /// A line has the number of the socket, its address and port in hexadecimal digits, and the inode as its tenth field.
    static func sockets(in list: [UInt8], port: UInt16) -> Set<UInt64> {
        var inodes: Set<UInt64> = []
        for line in list.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 9, let colon = fields[1].lastIndex(of: UInt8(ascii: ":")),
                UInt16(String(decoding: fields[1][(colon + 1)...], as: UTF8.self), radix: 16) == port,
                let inode = UInt64(String(decoding: fields[9], as: UTF8.self))
            else { continue }
            inodes.insert(inode)
        }
        return inodes
    }
}
