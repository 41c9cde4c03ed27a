public import EventLoops
internal import Glibc
public import HostResolver

extension Socket {
    /// Makes a socket bound to `address`. Replaces `CFSocketCreateWithSocketSignature` for datagrams.
    ///
    /// - Throws: as ``bind(to:)``.
    public convenience init(
        boundTo address: SocketAddress, _ type: SocketType = .datagram, protocol number: SocketProtocol = .automatic,
        loop: EventLoop = .shared
    ) throws(StreamError) {
        try self.init(SocketFamily(rawValue: address.family), type, protocol: number, loop: loop)
        try bind(to: address)
    }

    /// Makes a socket that listens at `address`. Replaces `CFSocketCreateWithSocketSignature` for connections.
    ///
    /// Unlike CFSocket's, it can reuse an address whose previous connections are in TIME_WAIT (`SO_REUSEADDR`). On
    /// Linux that never lets two listeners share a port.
    ///
    /// - Parameters:
    ///   - address: where to listen; port 0 selects a free one, which ``localAddress`` then returns.
    ///   - type: ``SocketType/stream`` or ``SocketType/sequencedPacket``.
    ///   - backlog: the most connections that wait to be accepted.
    ///   - isIPv6Only: whether an IPv6 listener refuses IPv4.
    ///   - loop: the loop that watches the socket for tasks and events.
    /// - Throws: as ``bind(to:)``.
    public convenience init(
        listeningAt address: SocketAddress, _ type: SocketType = .stream, backlog: Int32 = defaultBacklog,
        isIPv6Only: Bool = false, loop: EventLoop = .shared
    ) throws(StreamError) {
        try self.init(SocketFamily(rawValue: address.family), type, loop: loop)
        if address.ipAddress != nil { try set(.reusesAddress, to: true) }
        if isIPv6Only { try set(.isIPv6Only, to: true) }
        try bind(to: address)
        try listen(backlog: backlog)
    }

    /// Makes two listeners, IPv6 and IPv4, that share a port, as a published service needs; one if the machine has only
    /// one family.
    ///
    /// ```swift
    /// let listeners = try Socket.listeners(onPort: 0)
    /// let port = listeners[0].localAddress?.port
    /// ```
    ///
    /// - Parameters:
    ///   - port: the port; 0 selects one that is free for both families.
    ///   - isLocal: whether to listen on the loopback addresses only.
    ///   - backlog: the most connections that wait to be accepted, for each listener.
    ///   - loop: the loop that watches the sockets for tasks and events.
    /// - Throws: as ``bind(to:)``; `EADDRINUSE` if ``sharedPortTries`` ports that were free for one family were in use
    ///   for the other.
    public static func listeners(
        onPort port: UInt16, isLocal: Bool = false, backlog: Int32 = defaultBacklog, loop: EventLoop = .shared
    ) throws(StreamError) -> [Socket] {
        let v4 = IPAddress.v4(isLocal ? .loopback : .any)
        let v6 = IPAddress.v6(isLocal ? .loopback : .any)
        for _ in 0..<sharedPortTries {
            let first: Socket
            do throws(StreamError) {
                first = try Socket(listeningAt: .ip(v6, port: port), backlog: backlog, isIPv6Only: true, loop: loop)
            } catch  where error.isPOSIX(EAFNOSUPPORT) || error.isPOSIX(EADDRNOTAVAIL) {
                return [try Socket(listeningAt: .ip(v4, port: port), backlog: backlog, loop: loop)]
            }
            do throws(StreamError) {
                let shared = first.localAddress?.port ?? port
                return [first, try Socket(listeningAt: .ip(v4, port: shared), backlog: backlog, loop: loop)]
            } catch  where error.isPOSIX(EAFNOSUPPORT) {
                return [first]
            } catch  where error.isPOSIX(EADDRINUSE) && port == 0 {
                continue
            }
        }
        throw StreamError(posix: EADDRINUSE, .portNotShared)
    }

    /// The number of free ports that ``listeners(onPort:isLocal:backlog:loop:)`` tries.
    public static let sharedPortTries = 16

    /// Binds the socket to a local address. The C name is `bind(2)`; `CFSocketSetAddress` binds and listens.
    ///
    /// A Unix path creates a file, which remains when the socket is closed; the caller removes it.
    ///
    /// - Throws: `EADDRINUSE`; `EACCES` for a port below 1024; `EADDRNOTAVAIL`; `EINVAL` if the socket is already
    ///   bound.
    public func bind(to address: SocketAddress) throws(StreamError) {
        try using { (descriptor) throws(StreamError) in try Syscalls.bind(descriptor, to: address) }
    }

    /// Begins to accept connections into the queue. The C name is `listen(2)`.
    ///
    /// An owned descriptor becomes O_NONBLOCK, since `accept4` has no flag for a single call.
    ///
    /// - Throws: `EOPNOTSUPP` if the type has no connections; `EINVAL` if the socket is connected.
    public func listen(backlog: Int32 = defaultBacklog) throws(StreamError) {
        try using { (descriptor) throws(StreamError) in
            try Syscalls.listen(descriptor, backlog: backlog)
            if point.ownership == .owned { Syscalls.setNonBlocking(descriptor, true) }
            state.withLock { $0.phase = .listening }
        }
        if pump.isActive { pump.arm(self) }
    }
}
