internal import EventLoops
internal import Glibc
internal import HostResolver

/// Every call into the system that moves bytes or makes sockets, each as one thin function; EINTR is retried here only.
enum Syscalls {
    /// `recv(2)`. With `waits` the kernel waits for bytes; else EAGAIN becomes `.wouldBlock`.
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

    /// `send(2)`, never with SIGPIPE. With `waits` the kernel waits until all is taken.
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

    /// What a `recv` would give, taking nothing. With `waits` the kernel waits until it would give something.
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

    /// `read(2)` on what is no socket.
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

    /// `write(2)` on what is no socket, never with SIGPIPE.
    static func write(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Attempt {
        while true {
            let (count, number) = PipeSignal.withheld { Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
            if count >= 0 { return .moved(count) }
            if number == EAGAIN { return .wouldBlock(.writable) }
            if number != EINTR { throw transferError(number) }
        }
    }

    /// Which of `interest` a descriptor is ready for, without waiting. A descriptor in error is ready for all.
    static func ready(_ descriptor: CInt, for interest: Interest) -> Interest {
        var events: Int16 = 0
        if interest.contains(.readable) { events |= Int16(POLLIN) }
        if interest.contains(.writable) { events |= Int16(POLLOUT) }
        var set = pollfd(fd: descriptor, events: events, revents: 0)
        while poll(&set, 1, 0) < 0 {
            if errno != EINTR { return interest }
        }
        if set.revents & ~(Int16(POLLIN) | Int16(POLLOUT)) != 0 { return interest }
        var ready: Interest = []
        if set.revents & Int16(POLLIN) != 0 { ready.insert(.readable) }
        if set.revents & Int16(POLLOUT) != 0 { ready.insert(.writable) }
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

    private static let dontWait = CInt(MSG_DONTWAIT)
    private static let noSignal = CInt(MSG_NOSIGNAL)
}

extension Syscalls {
    /// A socket's type (`SOCK_STREAM`, …), nil for what is no socket.
    static func socketType(_ descriptor: CInt) -> CInt? {
        var kind: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 ? kind : nil
    }

    /// `getsockname(2)`.
    static func localAddress(_ descriptor: CInt) -> SocketAddress? {
        address { getsockname(descriptor, $0, $1) }
    }

    /// `getpeername(2)`.
    static func peerAddress(_ descriptor: CInt) -> SocketAddress? {
        address { getpeername(descriptor, $0, $1) }
    }

    private static func address(
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes in
            guard let start = bytes.baseAddress else { return nil }
            guard call(start.assumingMemoryBound(to: sockaddr.self), &size) == 0 else { return nil }
            return try? SocketAddress(sockaddr: UnsafeRawBufferPointer(rebasing: bytes[..<min(Int(size), bytes.count)]))
        }
    }
}
