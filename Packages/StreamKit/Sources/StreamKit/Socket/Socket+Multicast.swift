internal import Glibc
public import HostResolver

extension Socket {
    /// Joins a multicast group: the socket receives what is sent to it. The C name is `MCAST_JOIN_GROUP`.
    ///
    /// ```swift
    /// let socket = try Socket(.ipv4, .datagram)
    /// try socket.set(.reusesAddress, to: true)            // other processes of this machine may listen to the group
    /// try socket.bind(to: .ip(.v4(.any), port: 5353))
    /// try socket.joinGroup(IPAddress("224.0.0.251")!, interface: "eth0")
    /// ```
    ///
    /// - Parameters:
    ///   - group: the address of the group, of the socket's family.
    ///   - interface: the interface to receive on; nil lets the routing table decide.
    /// - Throws: `EINVAL` if `group` is not a multicast address; `EADDRINUSE` if the socket has joined already;
    ///   `ENODEV` if there is no such interface.
    public func joinGroup(_ group: IPAddress, interface: String? = nil) throws(StreamError) {
        try changeGroup(group, interface, MCAST_JOIN_GROUP, "MCAST_JOIN_GROUP")
    }

    /// Leaves a multicast group. The C name is `MCAST_LEAVE_GROUP`.
    ///
    /// - Throws: `EADDRNOTAVAIL` if the socket has not joined on that interface.
    public func leaveGroup(_ group: IPAddress, interface: String? = nil) throws(StreamError) {
        try changeGroup(group, interface, MCAST_LEAVE_GROUP, "MCAST_LEAVE_GROUP")
    }

    private func changeGroup(
        _ group: IPAddress, _ interface: String?, _ option: CInt, _ name: String
    ) throws(StreamError) {
        var request = group_req()
        if let interface {
            request.gr_interface = if_nametoindex(interface)
            if request.gr_interface == 0 { throw StreamError(posix: ENODEV, .noInterface(interface)) }
        }
        SocketAddress.ip(group, port: 0).withSockAddr { address, length in
            withUnsafeMutableBytes(of: &request.gr_group) {
                $0.copyMemory(from: UnsafeRawBufferPointer(start: UnsafeRawPointer(address), count: Int(length)))
            }
        }
        let level = group.family == .v6 ? CInt(IPPROTO_IPV6) : CInt(IPPROTO_IP)
        let value = request
        let failure = try using { (descriptor) throws(StreamError) in
            Syscalls.setOption(descriptor, level, option, value)
        }
        if let failure { throw StreamError(posix: failure.value, .optionFailed(name, failure.value)) }
    }
}
