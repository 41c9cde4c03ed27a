internal import CSockets
internal import Glibc
internal import HostResolver

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
