internal import CSockets
internal import EventLoops
internal import Glibc
internal import HostResolver

/// The calls of sockets(7) that create, bind and accept a socket. No call waits.
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
    package static func accept(_ descriptor: CInt) -> Result<(descriptor: CInt, peer: SocketAddress?), ErrorNumber> {
        var accepted: CInt = -1
        var number: CInt = 0
        let peer = address { bytes, length in
            accepted = netkit_accept4(descriptor, bytes, length, closeOnExec)
            number = errno
            return accepted >= 0
        }
        return accepted < 0 ? .failure(ErrorNumber(number)) : .success((accepted, peer))
    }

    static func duplicate(_ descriptor: CInt) throws(StreamError) -> CInt {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        if copy < 0 { throw StreamError(posix: errno, .socketNotMade(.unix, errno)) }
        return copy
    }

    /// `if_nametoindex(3)`; ENODEV if there is no such interface. The call needs a socket, and does not say so if it gets none.
    static func interfaceIndex(_ name: String) -> Result<UInt32, ErrorNumber> {
        let index = if_nametoindex(name)
        if index != 0 { return .success(index) }
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | closeOnExec, 0)
        guard descriptor >= 0 else { return .failure(ErrorNumber(errno)) }
        close(descriptor)
        return .failure(ErrorNumber(ENODEV))
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
    package static func receive(
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
    package static func send(
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
