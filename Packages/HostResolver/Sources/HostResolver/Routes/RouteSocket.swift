internal import EventLoops
internal import Glibc

/// Queries of the kernel's routing tables over netlink (rtnetlink(7)).
enum RouteSocket {
    /// The maximum number of messages of one kind. A machine with more routes or neighbours is described in part.
    private static let maximumMessages = 100_000

    /// Returns the route to an address, with the state of its link; nil if there is none.
    static func route(to address: IPAddress) throws(ResolverError) -> Route? {
        try withSocket { descriptor throws(ResolverError) in try route(to: address, over: descriptor) }
    }

    /// Calls `body` with a socket for any number of queries, one after another.
    static func withSocket<Value>(
        _ body: (CInt) throws(ResolverError) -> Value
    ) throws(ResolverError) -> Value {
        let descriptor = try open(groups: 0)
        defer { close(descriptor) }
        return try body(descriptor)
    }

    /// Returns the route to an address, over a socket of ``withSocket(_:)``.
    static func route(to address: IPAddress, over descriptor: CInt) throws(ResolverError) -> Route? {
        let query = Route.query(to: address, sequence: 1)
        let answer: NetlinkMessage?
        switch try ask(descriptor, query, about: address) {
        case .message(let message): answer = message
        case .refused: return Route(kind: .refused)
        case .nothing: return nil
        }
        guard let answer, var route = Route(answer) else { return nil }
        // The kernel still routes to an interface whose cable is unplugged, and the route does not show that.
        if route.kind != .local, let index = route.interfaceIndex,
            case .message(let link) = try ask(
                descriptor, NetworkInterface.query(of: index, sequence: 2), about: address)
        {
            route.isDead = route.isDead || NetworkInterface(link)?.hasCarrier == false
        }
        return route
    }

    /// The kernel's answer to a query.
    private enum Answer {
        case message(NetlinkMessage)
        /// A route or a rule forbids sending.
        case refused
        case nothing
    }

    /// Sends a query and returns its answer.
    ///
    /// The kernel queues the answer before `send` returns, so receiving never has to wait.
    private static func ask(
        _ descriptor: CInt, _ query: NetlinkMessage, about address: IPAddress
    ) throws(ResolverError) -> Answer {
        let bytes = query.bytes
        guard send(descriptor, bytes, bytes.count, CInt(MSG_DONTWAIT)) == bytes.count else {
            throw ResolverError(errno: errno)
        }
        guard let datagram = receive(descriptor) else { throw ResolverError(errno: errno) }
        for message in NetlinkMessage.messages(in: datagram) {
            guard message.type == RouteNetlink.error else { return .message(message) }
            if message.payload.count >= 4 {
                let failure = -message.payload[...].native(Int32.self, at: 0)
                // EHOSTUNREACH and EACCES: `unreachable` and `prohibit` routes or rules. EINVAL: a `blackhole`, or, for
                // a link-local address, a missing zone.
                if [EHOSTUNREACH, EACCES].contains(failure) || (failure == EINVAL && !address.isLinkLocal) {
                    return .refused
                }
                // There is no route, no such interface, or no such address family on this machine.
                let noRoute = [ENETUNREACH, EINVAL, ENODEV, ENXIO, EAFNOSUPPORT, EOPNOTSUPP, ENETDOWN]
                if noRoute.contains(failure) { return .nothing }
                throw ResolverError(errno: failure, name: address.description)
            }
        }
        return .nothing
    }

    /// Opens a netlink socket that receives the changes of `groups` (0 for none).
    static func open(groups: UInt32) throws(ResolverError) -> CInt {
        let type = CInt(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_NETLINK, type, RouteNetlink.family)
        guard descriptor >= 0 else { throw ResolverError(errno: errno) }
        // struct sockaddr_nl: family, padding, port (0: chosen by the kernel), groups.
        var address: [UInt8] = []
        address.appendNative(UInt16(AF_NETLINK))
        address.appendNative(UInt16(0))
        address.appendNative(UInt32(0))
        address.appendNative(groups)
        let status = SocketAddress.other(address).withSockAddr { bind(descriptor, $0, $1) }
        guard status == 0 else {
            let failure = errno
            close(descriptor)
            throw ResolverError(errno: failure)
        }
        return descriptor
    }

    /// Reads the next datagram without waiting, for a ``NetworkWatch``.
    static func reading(_ descriptor: CInt) -> NetworkWatch.Reading {
        if let datagram = receive(descriptor) { return .datagram(datagram) }
        switch errno {
        case EAGAIN: return .nothing
        case ENOBUFS: return .overflow
        default: return .end
        }
    }

    /// Receives a datagram without waiting; nil, with `errno` set, if there is none.
    ///
    /// Other processes can send to a netlink socket, so datagrams from ports other than 0, the kernel's, are dropped.
    private static func receive(_ descriptor: CInt) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: NetlinkMessage.maximumDatagramSize)
        while true {
            var source = [UInt8](repeating: 0, count: 12)
            var length = socklen_t(source.count)
            let count = source.withUnsafeMutableBytes { source in
                buffer.withUnsafeMutableBytes { buffer in
                    SystemCall.retrying {
                        recvfrom(
                            descriptor, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT),
                            source.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
                    }
                }
            }
            guard count >= 0 else { return nil }
            if source[...].native(UInt32.self, at: 4) == 0 { return Array(buffer[..<count]) }
        }
    }

    /// Returns all entries of one kind, such as links or routes.
    ///
    /// The kernel produces each part of its answer while the previous part is read, so receiving never has to wait.
    static func dump(_ type: UInt16) throws(ResolverError) -> [NetlinkMessage] {
        let descriptor = try open(groups: 0)
        defer { close(descriptor) }
        // struct rtgenmsg, padded to the largest header that the kernel validates strictly (struct ifinfomsg).
        let query = NetlinkMessage(
            type: type, flags: RouteNetlink.request | RouteNetlink.dump, sequence: UInt32(type),
            payload: [UInt8](repeating: 0, count: 16)
        ).bytes
        guard send(descriptor, query, query.count, CInt(MSG_DONTWAIT)) == query.count else {
            throw ResolverError(errno: errno)
        }
        var all: [NetlinkMessage] = []
        while all.count < maximumMessages {
            guard let datagram = receive(descriptor) else { throw ResolverError(errno: errno) }
            for message in NetlinkMessage.messages(in: datagram) where message.sequence == UInt32(type) {
                if message.type == RouteNetlink.done { return all }
                if message.type == RouteNetlink.error, message.payload.count >= 4 {
                    throw ResolverError(errno: -message.payload[...].native(Int32.self, at: 0))
                }
                all.append(message)
            }
        }
        return all
    }
}
