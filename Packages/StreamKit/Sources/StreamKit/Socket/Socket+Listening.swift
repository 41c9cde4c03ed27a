public import EventLoops
internal import Glibc
public import HostResolver

extension Socket {
    /// A socket bound to `address`. Replaces `CFSocketCreateWithSocketSignature` for datagrams.
    ///
    /// - Throws: what binding says; see ``bind(to:)``.
    public convenience init(
        boundTo address: SocketAddress, _ type: SocketType = .datagram, protocol number: SocketProtocol = .automatic,
        loop: EventLoop = .shared
    ) throws(StreamError) {
        try self.init(SocketFamily(rawValue: address.family), type, protocol: number, loop: loop)
        try bind(to: address)
    }

    /// A listening socket at `address`. Replaces `CFSocketCreateWithSocketSignature` for connections.
    ///
    /// Unlike CFSocket's, it takes an address again whose last connections are still winding down (`SO_REUSEADDR`); on Linux
    /// that never lets two listeners share a port.
    ///
    /// - Parameters:
    ///   - address: where to listen; port 0 takes a free one, which ``localAddress`` tells.
    ///   - type: ``SocketType/stream`` or ``SocketType/sequencedPacket``.
    ///   - backlog: how many connections may wait to be accepted.
    ///   - isIPv6Only: whether an IPv6 listener refuses IPv4.
    ///   - loop: who watches it for tasks and events.
    /// - Throws: what binding says; see ``bind(to:)``.
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

    /// Two listeners, IPv6 and IPv4, that share one port, as a published service needs; one if the machine has one family.
    ///
    /// ```swift
    /// let listeners = try Socket.listeners(onPort: 0)
    /// let port = listeners[0].localAddress?.port
    /// ```
    ///
    /// - Parameters:
    ///   - port: the port; 0 takes one that is free for both.
    ///   - isLocal: listen on the loopback addresses only.
    ///   - backlog: how many connections may wait to be accepted, each.
    ///   - loop: who watches them for tasks and events.
    /// - Throws: what binding says (see ``bind(to:)``); `EADDRINUSE` if ``sharedPortTries`` free ports of the one family
    ///   were in use for the other.
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

    /// How many free ports ``listeners(onPort:isLocal:backlog:loop:)`` tries.
    public static let sharedPortTries = 16

    /// Gives the socket its own address. The C name is `bind(2)`; `CFSocketSetAddress` binds and listens.
    ///
    /// A Unix path makes a file there, which stays when the socket goes; removing it is the caller's.
    ///
    /// - Throws: `EADDRINUSE`, `EACCES` (a port below 1024), `EADDRNOTAVAIL`, `EINVAL` (bound already).
    public func bind(to address: SocketAddress) throws(StreamError) {
        try using { (descriptor) throws(StreamError) in try Syscalls.bind(descriptor, to: address) }
    }

    /// Lets others connect. The C name is `listen(2)`.
    ///
    /// An owned descriptor becomes O_NONBLOCK: `accept4` knows no flag for one call.
    ///
    /// - Throws: `EOPNOTSUPP` if the type knows no connections, `EINVAL` if the socket is connected.
    public func listen(backlog: Int32 = defaultBacklog) throws(StreamError) {
        try using { (descriptor) throws(StreamError) in
            try Syscalls.listen(descriptor, backlog: backlog)
            if point.ownership == .owned { Syscalls.setNonBlocking(descriptor, true) }
            state.withLock { $0.phase = .listening }
        }
        if pump.isActive { pump.arm(self) }
    }
}
