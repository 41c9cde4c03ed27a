internal import EventLoops
internal import Glibc

/// The system calls that create sockets and transfer bytes, each as one thin function. Only these functions retry
/// EINTR. This file holds the transfers.
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
