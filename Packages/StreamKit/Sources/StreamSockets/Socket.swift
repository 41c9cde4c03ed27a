@_spi(Packages) public import EventLoops
internal import Glibc
public import HostResolver

/// A socket of any family and type: listening, connected, or for datagrams.
///
/// ```swift
/// let listener = try Socket(listeningAt: .ip(.v6(.any), port: 8080))
/// for try await client in listener.accepted {
///     Task {
///         while let message = try? await client.receive(upTo: 4096), !message.bytes.isEmpty {
///             try await client.sendAll(message.bytes)
///         }
///     }
/// }
/// ```
///
/// One object serves four styles, which may alternate: **blocking** calls wait on the calling thread, **`try…`** calls
/// never wait, **async** calls suspend, and **events** (``setClient(_:_:)``, ``schedule(on:)``) call back. Every member
/// may be called from any thread. One call at a time may receive or accept and one may send or connect; a second one
/// throws ``StreamError/busy``. ``invalidate()`` ends calls in progress. To use a connected socket as a stream, see
/// ``makeStreams()``.
///
/// An adopted descriptor is `DescriptorOwnership.owned` (this object shuts it down and closes it) or
/// `DescriptorOwnership.borrowed` (this object never shuts it down, reconfigures it or closes it). Unlike CFSocket,
/// there is no table that maps a descriptor to its first object: the kernel reuses descriptors, so a table would
/// confuse sockets. Two `Socket`s for one descriptor are two users of one socket, each with its own client; only one
/// may own it.
///
/// Replaces `CFSocket`. Its name registry (`CFSocketRegisterValue` …), long deprecated, has no equivalent.
public final class Socket: Sendable {
    /// The default number of connections that wait to be accepted, as in `CFSocketSetAddress`.
    public static let defaultBacklog: Int32 = 256

    /// The address family.
    public let family: SocketFamily
    /// The socket type.
    public let type: SocketType

    package let point: WaitPoint
    let state: Locked<SocketState>
    let eventClient = SocketClient()

    /// Makes a socket that is neither bound nor connected. Replaces `CFSocketCreate`.
    ///
    /// - Parameters:
    ///   - family: the address family.
    ///   - type: how the socket transfers data.
    ///   - number: the protocol, if type and family leave a choice.
    ///   - loop: the loop that watches the socket for tasks and events.
    /// - Throws: `EAFNOSUPPORT`, `EPROTONOSUPPORT`, `EMFILE`; `EPERM` for raw sockets without privileges.
    public convenience init(
        _ family: SocketFamily = .ipv4, _ type: SocketType = .stream, protocol number: SocketProtocol = .automatic,
        loop: EventLoop = .shared
    ) throws(StreamError) {
        let descriptor = try Syscalls.make(family, type, number)
        self.init(family, type, descriptor, .owned, SocketState(), loop)
    }

    /// Adopts an existing socket in any state. Replaces `CFSocketCreateWithNative`.
    ///
    /// An owned descriptor gets CLOEXEC, and O_NONBLOCK if it is listening.
    ///
    /// - Throws: `EBADF`, `ENOTSOCK`; the descriptor still belongs to the caller then.
    public convenience init(
        descriptor: Int32, ownership: DescriptorOwnership, loop: EventLoop = .shared
    ) throws(StreamError) {
        func number(_ name: CInt) throws(StreamError) -> CInt {
            switch Syscalls.option(descriptor, SOL_SOCKET, name, CInt(0)) {
            case .success(let value): return value
            case .failure(let reason):
                throw StreamError(posix: reason.value, .notAdopted(descriptor, reason.value))
            }
        }
        let family = SocketFamily(rawValue: try number(SO_DOMAIN))
        let type = SocketType(rawValue: try number(SO_TYPE))
        var state = SocketState()
        if type.needsConnection, try number(SO_ACCEPTCONN) != 0 {
            state.phase = .listening
            if ownership == .owned { Syscalls.setNonBlocking(descriptor, true) }
        } else if Syscalls.isConnected(descriptor) {
            state.phase = .connected
        }
        if ownership == .owned { Syscalls.setCloseOnExec(descriptor) }
        self.init(family, type, descriptor, ownership, state, loop)
    }

    private init(
        _ family: SocketFamily, _ type: SocketType, _ descriptor: CInt, _ ownership: DescriptorOwnership,
        _ state: SocketState, _ loop: EventLoop
    ) {
        self.family = family
        self.type = type
        self.state = Locked(state)
        point = WaitPoint(descriptor: descriptor, ownership: ownership, loop: loop)
    }

    deinit { point.close() }

    /// Makes two connected sockets within this process. The C name is `socketpair(2)`.
    ///
    /// - Throws: `EMFILE`, or `EOPNOTSUPP` and the like for an unsupported type.
    public static func pair(
        _ type: SocketType = .stream, loop: EventLoop = .shared
    ) throws(StreamError) -> (Socket, Socket) {
        let (left, right) = try Syscalls.makePair(type)
        let state = SocketState(phase: .connected)
        return (
            Socket(.unix, type, left, .owned, state, loop), Socket(.unix, type, right, .owned, state, loop)
        )
    }

    package static func accepted(
        _ descriptor: CInt, peer: SocketAddress?, from listener: Socket
    ) -> Socket {
        Socket(
            listener.family, listener.type, descriptor, .owned, SocketState(phase: .connected, peer: peer),
            listener.point.loop)
    }
}

// MARK: - State

extension Socket {
    /// The file descriptor; -1 once closed. It remains the socket's. Replaces `CFSocketGetNative`.
    public var descriptor: Int32 { point.withDescriptor { $0 } ?? -1 }

    /// The point to wait at after a `try…` call has returned nil. For custom transports on this socket, such as an
    /// active FTP transfer that waits for its connection.
    public var waitPoint: WaitPoint { point }

    /// A duplicate of the descriptor, which the caller must close. The C name is `F_DUPFD_CLOEXEC`.
    ///
    /// - Throws: `EMFILE`; ``StreamError/closed`` after ``invalidate()``.
    public func duplicateDescriptor() throws(StreamError) -> Int32 {
        try using { (descriptor) throws(StreamError) in try Syscalls.duplicate(descriptor) }
    }

    /// The local address; nil once invalidated. Before binding, an address without host and port.
    ///
    /// Replaces `CFSocketCopyAddress`.
    public var localAddress: SocketAddress? {
        point.withDescriptor { Syscalls.localAddress($0) } ?? nil
    }

    /// The peer's address; nil unless connected. An accepted socket knows it even after the peer has disconnected.
    ///
    /// Replaces `CFSocketCopyPeerAddress`.
    public var peerAddress: SocketAddress? {
        state.withLock { $0.peer } ?? point.withDescriptor { Syscalls.peerAddress($0) } ?? nil
    }

    /// False after ``invalidate()`` and ``makeStreams()``. Replaces `CFSocketIsValid`.
    public var isValid: Bool { !(point.isClosed(.reader) && point.isClosed(.writer)) }

    /// True if ``invalidate()`` closes the descriptor. Initially true for owned descriptors, false for borrowed ones.
    ///
    /// If false, invalidating does not shut the socket down either. Replaces `kCFSocketCloseOnInvalidate`.
    public var closesOnInvalidate: Bool {
        get { point.ownership == .owned }
        set { point.setOwnership(newValue) }
    }

    /// Closes the socket: waiting calls throw ``StreamError/closed``, no event follows, the descriptor is closed.
    ///
    /// If called on the target that delivers the events, no event is delivered after it has returned. If called on
    /// another thread, one delivery may still be in progress. Idempotent; may be called from any thread. Replaces
    /// `CFSocketInvalidate`.
    public func invalidate() {
        eventClient.end()
        point.close()
    }
}

// MARK: - Calls and waits

extension Socket {
    /// Begins a call on one half.
    package func enter(_ half: WaitPoint.Half) throws(StreamError) {
        switch point.enter(half) {
        case .busy: throw .busy
        case .closed: throw .closed
        case .entered: break
        }
    }

    /// Ends a call on one half, and arms the events again, which were suspended during the call.
    package func leave(_ half: WaitPoint.Half) {
        point.leave(half)
        if eventClient.isActive { eventClient.arm(self) }
    }

    /// Performs an operation of one half without waiting.
    ///
    /// - Parameter attempt: makes one attempt; nil if it would have to wait.
    package func attempt<Value>(
        _ half: WaitPoint.Half, _ attempt: () throws(StreamError) -> Value?
    ) throws(StreamError) -> Value? {
        try enter(half)
        defer { leave(half) }
        return try attempt()
    }

    /// Performs an operation of one half, waiting on the calling thread. See ``attempt(_:_:)``.
    @available(*, noasync)
    package func perform<Value>(
        _ half: WaitPoint.Half, until deadline: ContinuousClock.Instant?, _ attempt: () throws(StreamError) -> Value?
    ) throws(StreamError) -> Value {
        try enter(half)
        defer { leave(half) }
        return try complete(half, until: deadline, attempt)
    }

    /// Performs an operation of one half, suspending the task. See ``attempt(_:_:)``.
    package nonisolated(nonsending) func perform<Value>(
        _ half: WaitPoint.Half, until deadline: ContinuousClock.Instant?, _ attempt: () throws(StreamError) -> Value?
    ) async throws(StreamError) -> Value {
        try enter(half)
        defer { leave(half) }
        return try await complete(half, until: deadline, attempt)
    }

    /// Completes an operation of a half that has been entered, waiting on the calling thread.
    @available(*, noasync)
    func complete<Value>(
        _ half: WaitPoint.Half, until deadline: ContinuousClock.Instant?, _ attempt: () throws(StreamError) -> Value?
    ) throws(StreamError) -> Value {
        while true {
            if let value = try attempt() { return value }
            try check(point.block(half, for: half.interest, until: deadline.map(Moment.init)))
        }
    }

    /// Completes an operation of a half that has been entered, suspending the task.
    nonisolated(nonsending) func complete<Value>(
        _ half: WaitPoint.Half, until deadline: ContinuousClock.Instant?, _ attempt: () throws(StreamError) -> Value?
    ) async throws(StreamError) -> Value {
        while true {
            if beginTransfer(half, for: half.interest), let value = try attempt() { return value }
            try await wait(half, for: half.interest, until: deadline)
        }
    }

    /// Calls `body` with the descriptor, which stays open during the call. Neither half is entered.
    package func using<Result>(_ body: (CInt) throws(StreamError) -> Result) throws(StreamError) -> Result {
        guard let result = try point.withDescriptor(body) else { throw .closed }
        return result
    }

    /// Counts an attempt of an async call, and returns whether it may be made now. False after ``WaitPoint/transfersPerTurn`` attempts
    /// without a wait, because the loop must process other work first; a wait for `interest` then ends in the loop's next turn.
    package func beginTransfer(_ half: WaitPoint.Half, for interest: Interest) -> Bool {
        if point.beginTransfer(half) { return true }
        point.signalNextTurn(interest)
        return false
    }

    package func wait(
        _ half: WaitPoint.Half, for interest: Interest, until deadline: ContinuousClock.Instant?
    ) async throws(StreamError) {
        point.beginTurn(half)
        try check(await point.wait(half, for: interest, until: deadline.map(Moment.init)))
    }

    private func check(_ wake: Wake) throws(StreamError) {
        switch wake {
        case .ready: break
        case .busy: throw .busy
        case .cancelled: throw .cancelled
        case .timedOut: throw .timedOut
        case .closed: throw .closed
        case .failed(let number): throw StreamError(posix: number)
        }
    }
}

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

    /// Makes two listeners, IPv6 and IPv4, on the same port, as a published service needs. Makes only one if the
    /// machine has only one of the families.
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
    /// - Throws: as ``bind(to:)``; `EADDRINUSE` if 16 ports that were free for one family were in use
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

    /// Returns the listening sockets that a service manager has passed to the process: systemd's socket activation.
    ///
    /// ```swift
    /// import HTTPStream
    ///
    /// let sockets = try Socket.listenersFromServiceManager()
    /// let server = try sockets.isEmpty ? HTTPServer(port: 8080) : HTTPServer(sockets: sockets)
    /// ```
    ///
    /// The sockets are those of `LISTEN_FDS`, if `LISTEN_PID` is this process, and belong to the caller. Call this once, before
    /// the program starts other threads that change the environment.
    ///
    /// - Returns: no sockets if none were passed.
    /// - Throws: `EALREADY` for a second call; `EINVAL` if a variable is invalid or a descriptor is not a listening socket.
    public static func listenersFromServiceManager(loop: EventLoop = .shared) throws(StreamError) -> [Socket] {
        let variable = { (name: String) in getenv(name).map { String(cString: $0) } }
        guard let process = variable("LISTEN_PID"), let count = variable("LISTEN_FDS") else { return [] }
        guard let count = try passedCount(count, toProcess: process, getpid()) else { return [] }
        if arePassedListenersTaken.withLock({ exchange(&$0, with: true) }) { throw StreamError(posix: EALREADY) }
        return try listeners(passedAt: 3, count: count, loop: loop)
    }

    private static let arePassedListenersTaken = Locked(false)

    /// Returns the number of descriptors; nil if they are another process's.
    static func passedCount(_ count: String, toProcess process: String, _ own: Int32) throws(StreamError) -> Int32? {
        guard let process = Int32(process), let count = Int32(count), count >= 0, count <= 4096 else {
            throw StreamError(posix: EINVAL, .passedVariablesInvalid)
        }
        return process == own ? count : nil
    }

    package static func listeners(passedAt first: Int32, count: Int32, loop: EventLoop) throws(StreamError) -> [Socket]
    {
        var sockets: [Socket] = []
        // All of them, also those after an invalid one.
        for descriptor in first..<first + count { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        for descriptor in first..<first + count {
            guard let socket = try? Socket(descriptor: descriptor, ownership: .owned, loop: loop) else {
                throw StreamError(posix: EINVAL, .passedSocketNotListening(descriptor))
            }
            guard socket.state.withLock({ $0.phase == .listening }) else {
                throw StreamError(posix: EINVAL, .passedSocketNotListening(descriptor))
            }
            sockets.append(socket)
        }
        return sockets
    }

    /// The number of free ports that ``listeners(onPort:isLocal:backlog:loop:)`` tries.
    package static let sharedPortTries = 16

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
    /// An owned descriptor becomes O_NONBLOCK, because `accept4` has no flag that makes a single call non-blocking.
    ///
    /// - Throws: `EOPNOTSUPP` if the type has no connections; `EINVAL` if the socket is connected.
    public func listen(backlog: Int32 = defaultBacklog) throws(StreamError) {
        try using { (descriptor) throws(StreamError) in
            try Syscalls.listen(descriptor, backlog: backlog)
            if point.ownership == .owned { Syscalls.setNonBlocking(descriptor, true) }
            state.withLock { $0.phase = .listening }
        }
        if eventClient.isActive { eventClient.arm(self) }
    }
}

extension Socket {
    /// Releases the descriptor of a connected stream socket, which is invalid afterwards.
    ///
    /// - Throws: `EINVAL` unless this is a connected stream socket; ``StreamError/busy`` while a call is in progress.
    ///   The socket is unchanged then.
    package func release() throws(StreamError) -> (descriptor: CInt, ownership: DescriptorOwnership) {
        guard type == .stream, state.withLock({ $0.phase }) == .connected else {
            throw StreamError(posix: EINVAL, .notAStream)
        }
        try enter(.reader)
        defer { leave(.reader) }
        try enter(.writer)
        // No other call is inside the halves, and leaving the closed point makes the loop forget the descriptor.
        let ownership = point.ownership
        eventClient.end()
        let descriptor = point.detach()
        point.leave(.writer)
        if descriptor < 0 { throw .closed }
        return (descriptor, ownership)
    }
}

extension Socket {
    /// Joins a multicast group, so that the socket receives datagrams sent to the group. The C name is
    /// `MCAST_JOIN_GROUP`.
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
            switch Syscalls.interfaceIndex(interface) {
            case .success(let index): request.gr_interface = index
            case .failure(let number) where number.value == ENODEV:
                throw StreamError(posix: ENODEV, .noInterface(interface))
            case .failure(let number): throw StreamError(posix: number.value)
            }
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
