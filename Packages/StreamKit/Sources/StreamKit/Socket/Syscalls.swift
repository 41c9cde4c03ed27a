internal import CSockets
internal import EventLoops
internal import Glibc
internal import HostResolver

/// The system calls that create sockets and transfer bytes, each as one thin function. Only these functions retry
/// EINTR.
enum Syscalls {
    /// `recv(2)`. With `waits` the kernel waits for bytes; otherwise EAGAIN becomes `.wouldBlock`.
    @inline(__always)
    static func receive(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer, waits: Bool = false
    ) throws(StreamError) -> Attempt {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, waits ? 0 : dontWait)
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            let number = errno
            if number == EAGAIN { return .wouldBlock(.readable) }
            if number != EINTR { throw transferError(number) }
        }
    }

    /// `send(2)` without SIGPIPE. With `waits` the kernel waits until all bytes are accepted.
    @inline(__always)
    static func send(
        _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, waits: Bool = false
    ) throws(StreamError) -> Attempt {
        while true {
            let flags = noSignal | (waits ? 0 : dontWait)
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags)
            if count >= 0 { return .moved(count) }
            let number = errno
            if number == EAGAIN { return .wouldBlock(.writable) }
            if number != EINTR { throw transferError(number) }
        }
    }

    /// The result that `recv` would have, consuming nothing. With `waits` the kernel waits until there is a result.
    static func peek(_ descriptor: CInt, waits: Bool = false) throws(StreamError) -> Attempt {
        while true {
            var byte: UInt8 = 0
            let count = recv(descriptor, &byte, 1, CInt(MSG_PEEK) | (waits ? 0 : dontWait))
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            let number = errno
            if number == EAGAIN { return .wouldBlock(.readable) }
            if number != EINTR { throw transferError(number) }
        }
    }

    /// `read(2)` on a descriptor that is not a socket.
    static func read(_ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Attempt {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            let number = errno
            if number == EAGAIN { return .wouldBlock(.readable) }
            if number != EINTR { throw StreamError(posix: number) }
        }
    }

    /// `write(2)` without SIGPIPE, on a descriptor that is not a socket.
    static func write(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Attempt {
        while true {
            let (count, number) = PipeSignal.blocked { Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
            if count >= 0 { return .moved(count) }
            if number == EAGAIN { return .wouldBlock(.writable) }
            if number != EINTR { throw transferError(number) }
        }
    }

    /// The part of `interest` that a descriptor is ready for, without waiting. A descriptor in error is ready for all
    /// of it.
    static func ready(_ descriptor: CInt, for interest: Interest) -> Interest {
        var events: CInt = 0
        if interest.contains(.readable) { events |= POLLIN }
        if interest.contains(.writable) { events |= POLLOUT }
        let found = poll(descriptor, events)
        if found & ~(POLLIN | POLLOUT) != 0 { return interest }
        var ready: Interest = []
        if found & POLLIN != 0 { ready.insert(.readable) }
        if found & POLLOUT != 0 { ready.insert(.writable) }
        return ready
    }

    @inline(never)
    private static func transferError(_ number: CInt) -> StreamError {
        switch number {
        case ECONNRESET, EPIPE, ECONNABORTED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENETDOWN:
            StreamError(posix: number, .connectionLost(number))
        default:
            StreamError(posix: number)
        }
    }

    static let dontWait = CInt(MSG_DONTWAIT)
    static let noSignal = CInt(MSG_NOSIGNAL)
}

/// The calls of sockets(7) that create, bind and query a socket. No call waits.
extension Syscalls {
    /// `socket(2)`, with CLOEXEC.
    static func make(_ family: SocketFamily, _ type: SocketType, _ number: SocketProtocol) throws(StreamError) -> CInt {
        let descriptor = socket(family.rawValue, type.rawValue | closeOnExec, number.rawValue)
        if descriptor < 0 { throw StreamError(posix: errno, .socketNotMade(family, errno)) }
        return descriptor
    }

    /// `socketpair(2)`, with CLOEXEC.
    static func makePair(_ type: SocketType) throws(StreamError) -> (CInt, CInt) {
        var pair: (CInt, CInt) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &pair) {
            socketpair(AF_UNIX, type.rawValue | closeOnExec, 0, $0.assumingMemoryBound(to: CInt.self).baseAddress)
        }
        if result != 0 { throw StreamError(posix: errno, .socketNotMade(.unix, errno)) }
        return pair
    }

    static func bind(_ descriptor: CInt, to address: SocketAddress) throws(StreamError) {
        let result = address.withSockAddr { Glibc.bind(descriptor, $0, $1) }
        if result != 0 { throw StreamError(posix: errno, .bindFailed(address, errno)) }
    }

    static func listen(_ descriptor: CInt, backlog: CInt) throws(StreamError) {
        if Glibc.listen(descriptor, backlog) == 0 { return }
        let number = errno
        if number == EADDRINUSE, let address = localAddress(descriptor) {
            throw StreamError(posix: number, .bindFailed(address, number))
        }
        throw StreamError(posix: number)
    }

    /// `accept4(2)`, with CLOEXEC. The descriptor must not block: it has O_NONBLOCK, or `poll` has reported a
    /// connection.
    static func accept(_ descriptor: CInt) -> Result<(descriptor: CInt, peer: SocketAddress?), ErrorNumber> {
        var accepted: CInt = -1
        var number: CInt = 0
        let peer = address { bytes, length in
            accepted = netkit_accept4(descriptor, bytes, length, closeOnExec)
            number = errno
            return accepted >= 0
        }
        return accepted < 0 ? .failure(ErrorNumber(number)) : .success((accepted, peer))
    }

    /// The type of a socket (`SOCK_STREAM`, …); nil for other descriptors.
    static func socketType(_ descriptor: CInt) -> CInt? {
        if case .success(let type) = option(descriptor, SOL_SOCKET, SO_TYPE, CInt(0)) { type } else { nil }
    }

    /// `getsockname(2)`.
    static func localAddress(_ descriptor: CInt) -> SocketAddress? {
        address { getsockname(descriptor, $0, $1) == 0 }
    }

    /// `getpeername(2)`.
    static func peerAddress(_ descriptor: CInt) -> SocketAddress? {
        address { getpeername(descriptor, $0, $1) == 0 }
    }

    /// True if `getpeername(2)` succeeds, even for a peer without a name.
    static func isConnected(_ descriptor: CInt) -> Bool {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) == 0 }
        }
    }

    /// `getsockopt(2)` for a value of fixed size.
    static func option<Value: BitwiseCopyable>(
        _ descriptor: CInt, _ level: CInt, _ name: CInt, _ initial: Value
    ) -> Result<Value, ErrorNumber> {
        var value = initial
        var length = socklen_t(MemoryLayout<Value>.size)
        return getsockopt(descriptor, level, name, &value, &length) == 0
            ? .success(value) : .failure(ErrorNumber(errno))
    }

    /// `setsockopt(2)` for a value of fixed size. Returns the error number, or nil.
    static func setOption<Value: BitwiseCopyable>(
        _ descriptor: CInt, _ level: CInt, _ name: CInt, _ value: Value
    ) -> ErrorNumber? {
        var value = value
        let length = socklen_t(MemoryLayout<Value>.size)
        return setsockopt(descriptor, level, name, &value, length) == 0 ? nil : ErrorNumber(errno)
    }

    /// Reads and clears `SO_ERROR`; 0 if there is no error.
    static func takeError(_ descriptor: CInt) -> CInt {
        switch option(descriptor, SOL_SOCKET, SO_ERROR, CInt(0)) {
        case .success(let number): number
        case .failure(let number): number.value
        }
    }

    /// `poll(2)` without waiting: the events that have occurred.
    static func poll(_ descriptor: CInt, _ events: CInt) -> CInt {
        var set = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        while Glibc.poll(&set, 1, 0) < 0 {
            if errno != EINTR { return POLLERR }
        }
        return CInt(set.revents)
    }

    static func isNonBlocking(_ descriptor: CInt) -> Bool {
        fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0
    }

    static func setNonBlocking(_ descriptor: CInt, _ isOn: Bool) {
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, isOn ? flags | O_NONBLOCK : flags & ~O_NONBLOCK)
    }

    static func setCloseOnExec(_ descriptor: CInt) {
        _ = fcntl(descriptor, F_SETFD, fcntl(descriptor, F_GETFD) | FD_CLOEXEC)
    }

    static func duplicate(_ descriptor: CInt) throws(StreamError) -> CInt {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        if copy < 0 { throw StreamError(posix: errno, .socketNotMade(.unix, errno)) }
        return copy
    }

    static func close(_ descriptor: CInt) {
        Glibc.close(descriptor)
    }

    /// Runs a call that fills in an address; nil if it returns false or the address cannot be decoded.
    static func address(
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Bool
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isDone = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        return isDone ? decode(&storage, length) : nil
    }

    static func decode(_ storage: inout sockaddr_storage, _ length: socklen_t) -> SocketAddress? {
        let count = min(Int(length), MemoryLayout<sockaddr_storage>.size)
        guard count >= MemoryLayout<sa_family_t>.size else { return nil }
        return withUnsafeBytes(of: &storage) { bytes in
            try? SocketAddress(sockaddr: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
    }

    private static let closeOnExec = CInt(SOCK_CLOEXEC.rawValue)
}

/// Connecting, and messages with their addresses. No call waits.
extension Syscalls {
    /// The result of one step of connecting.
    enum ConnectStep {
        case connected
        case underWay
    }

    /// `connect(2)` without waiting.
    ///
    /// It has no flag for a single call, so an owned descriptor is O_NONBLOCK during the call.
    static func beginConnecting(
        _ descriptor: CInt, to address: SocketAddress, isImmediate: Bool, mayChangeFlags: Bool
    ) throws(StreamError) -> ConnectStep {
        let mustToggle = !isImmediate && !isNonBlocking(descriptor)
        if mustToggle {
            guard mayChangeFlags else { throw StreamError(posix: EOPNOTSUPP, .borrowedConnect) }
            setNonBlocking(descriptor, true)
        }
        var number: CInt = 0
        repeat {
            number = address.withSockAddr { connect(descriptor, $0, $1) } == 0 ? 0 : errno
        } while number == EINTR && address.family == AF_UNIX
        if mustToggle { setNonBlocking(descriptor, false) }
        switch number {
        case 0: return .connected
        case EINPROGRESS, EINTR: return .underWay
        default: throw StreamError(posix: number, .connectFailed(address.description, number))
        }
    }

    /// Whether a connection in progress is established.
    ///
    /// Writability is no test, since a refused socket is writable, too. `SO_ERROR` reveals a failure, `getpeername` a
    /// success.
    static func connectOutcome(_ descriptor: CInt, to address: SocketAddress) throws(StreamError) -> ConnectStep {
        guard poll(descriptor, POLLOUT) != 0 else { return .underWay }
        let number = takeError(descriptor)
        if number == 0, isConnected(descriptor) { return .connected }
        // Otherwise the next attempt would fail with ECONNABORTED because of this one.
        abandonConnecting(descriptor)
        // Without a number, the error was cleared elsewhere; the socket is not connected all the same.
        let reason = number == 0 ? ENOTCONN : number
        throw StreamError(posix: reason, .connectFailed(address.description, reason))
    }

    /// Abandons an attempt to connect; the socket can be connected again (connect(2), AF_UNSPEC).
    static func abandonConnecting(_ descriptor: CInt) {
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        _ = connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// `recvmsg(2)` without waiting; nil if nothing is available.
    ///
    /// - Parameter keepsMessages: the property of the socket's type. MSG_TRUNC is valid only if true: on TCP it
    ///   discards bytes.
    static func receive(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer, keepsMessages: Bool
    ) throws(StreamError) -> SocketReception? {
        var storage = sockaddr_storage()
        var part = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
        while true {
            let (count, senderLength) = withUnsafeMutablePointer(to: &storage) { storage in
                withUnsafeMutablePointer(to: &part) { part in
                    var header = msghdr()
                    header.msg_name = UnsafeMutableRawPointer(storage)
                    header.msg_namelen = socklen_t(MemoryLayout<sockaddr_storage>.size)
                    header.msg_iov = part
                    header.msg_iovlen = 1
                    return (
                        recvmsg(descriptor, &header, dontWait | (keepsMessages ? truncation : 0)), header.msg_namelen
                    )
                }
            }
            if count >= 0 {
                let sender = senderLength > 0 ? decode(&storage, senderLength) : nil
                return SocketReception(count: min(count, buffer.count), fullLength: count, sender: sender)
            }
            switch errno {
            case EAGAIN: return nil
            case EINTR: continue
            case ECONNRESET, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENETDOWN:
                throw StreamError(posix: errno, .connectionLost(errno))
            default: throw StreamError(posix: errno)
            }
        }
    }

    /// `sendto(2)` without waiting and without SIGPIPE; nil if there is no room.
    static func send(
        _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, to address: SocketAddress?
    ) throws(StreamError) -> Int? {
        let flags = dontWait | noSignal
        while true {
            let count =
                if let address {
                    address.withSockAddr { sendto(descriptor, bytes.baseAddress, bytes.count, flags, $0, $1) }
                } else {
                    Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags)
                }
            if count >= 0 { return count }
            switch errno {
            case EAGAIN: return nil
            case EINTR: continue
            case ECONNRESET, EPIPE: throw StreamError(posix: errno, .connectionLost(errno))
            default: throw StreamError(posix: errno, .sendFailed(address, count: bytes.count, errno))
            }
        }
    }

    private static let truncation = CInt(MSG_TRUNC)
}

/// An `errno` value, passed to the caller that knows the failed operation.
struct ErrorNumber: Error {
    let value: CInt

    init(_ value: CInt) {
        self.value = value
    }
}

/// Writes to a pipe without raising SIGPIPE.
///
/// Theory of operation. If a pipe has no reader, `write(2)` fails with EPIPE and raises SIGPIPE, which ends the
/// process; no flag of the call prevents that. The signal goes to the writing thread. It is therefore blocked in that
/// thread during the call and consumed afterwards. A signal that was pending before has another origin and stays
/// pending.
private enum PipeSignal {
    /// Runs a call that writes to a pipe; returns its result and `errno`.
    static func blocked(_ call: () -> Int) -> (count: Int, number: CInt) {
        var signal = sigset_t()
        sigemptyset(&signal)
        sigaddset(&signal, SIGPIPE)
        var pending = sigset_t()
        sigpending(&pending)
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, &signal, &mask)
        let count = call()
        let number = count < 0 ? errno : 0
        if number == EPIPE, sigismember(&pending, SIGPIPE) == 0 {
            var now = timespec()
            while sigtimedwait(&signal, nil, &now) < 0, errno == EINTR {}
        }
        pthread_sigmask(SIG_SETMASK, &mask, nil)
        return (count, number)
    }
}
