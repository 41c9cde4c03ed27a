internal import EventLoops
public import Glibc
internal import HostResolver

/// The system calls that transfer bytes and query sockets, each as one thin function. They repeat EINTR themselves, because they are inlined
/// into each read and write; elsewhere `SystemCall.retrying(_:)` does.
@usableFromInline
package enum Syscalls {
    /// `recv(2)`. With `waits` the kernel waits for bytes; otherwise EAGAIN becomes `.wouldBlock`.
    @inlinable
    @inline(__always)
    package static func receive(
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
    @inlinable
    @inline(__always)
    package static func send(
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
    package static func peek(_ descriptor: CInt, waits: Bool = false) throws(StreamError) -> Attempt {
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
    package static func read(_ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer) throws(StreamError)
        -> Attempt
    {
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
    package static func write(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Attempt {
        while true {
            let (count, number) = PipeSignal.blocked { Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
            if count >= 0 { return .moved(count) }
            if number == EAGAIN { return .wouldBlock(.writable) }
            if number != EINTR { throw transferError(number) }
        }
    }

    /// The part of `interest` that a descriptor is ready for, without waiting. A descriptor in error is ready for all
    /// of it.
    package static func ready(_ descriptor: CInt, for interest: Interest) -> Interest {
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

    @usableFromInline
    @inline(never)
    static func transferError(_ number: CInt) -> StreamError {
        switch number {
        case ECONNRESET, EPIPE, ECONNABORTED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENETDOWN:
            StreamError(posix: number, .connectionLost(number))
        default:
            StreamError(posix: number)
        }
    }

    @inlinable package static var dontWait: CInt { CInt(MSG_DONTWAIT) }
    @inlinable package static var noSignal: CInt { CInt(MSG_NOSIGNAL) }
}

/// The calls of sockets(7) that query and configure a socket. No call waits.
extension Syscalls {
    /// The type of a socket (`SOCK_STREAM`, …); nil for other descriptors.
    package static func socketType(_ descriptor: CInt) -> CInt? {
        if case .success(let type) = option(descriptor, SOL_SOCKET, SO_TYPE, CInt(0)) { type } else { nil }
    }

    /// `getsockname(2)`.
    package static func localAddress(_ descriptor: CInt) -> SocketAddress? {
        address { getsockname(descriptor, $0, $1) == 0 }
    }

    /// `getpeername(2)`.
    package static func peerAddress(_ descriptor: CInt) -> SocketAddress? {
        address { getpeername(descriptor, $0, $1) == 0 }
    }

    /// True if `getpeername(2)` succeeds, even for a peer without a name.
    package static func isConnected(_ descriptor: CInt) -> Bool {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) == 0 }
        }
    }

    /// `getsockopt(2)` for a value of fixed size.
    package static func option<Value: BitwiseCopyable>(
        _ descriptor: CInt, _ level: CInt, _ name: CInt, _ initial: Value
    ) -> Result<Value, ErrorNumber> {
        var value = initial
        var length = socklen_t(MemoryLayout<Value>.size)
        return getsockopt(descriptor, level, name, &value, &length) == 0
            ? .success(value) : .failure(ErrorNumber(errno))
    }

    /// `setsockopt(2)` for a value of fixed size. Returns the error number, or nil.
    package static func setOption<Value: BitwiseCopyable>(
        _ descriptor: CInt, _ level: CInt, _ name: CInt, _ value: Value
    ) -> ErrorNumber? {
        var value = value
        let length = socklen_t(MemoryLayout<Value>.size)
        return setsockopt(descriptor, level, name, &value, length) == 0 ? nil : ErrorNumber(errno)
    }

    /// Reads and clears `SO_ERROR`; 0 if there is no error.
    package static func takeError(_ descriptor: CInt) -> CInt {
        switch option(descriptor, SOL_SOCKET, SO_ERROR, CInt(0)) {
        case .success(let number): number
        case .failure(let number): number.value
        }
    }

    /// `poll(2)` without waiting: the events that have occurred.
    package static func poll(_ descriptor: CInt, _ events: CInt) -> CInt {
        var set = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        while Glibc.poll(&set, 1, 0) < 0 {
            if errno != EINTR { return POLLERR }
        }
        return CInt(set.revents)
    }

    package static func isNonBlocking(_ descriptor: CInt) -> Bool {
        fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0
    }

    package static func setNonBlocking(_ descriptor: CInt, _ isOn: Bool) {
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, isOn ? flags | O_NONBLOCK : flags & ~O_NONBLOCK)
    }

    package static func setCloseOnExec(_ descriptor: CInt) {
        _ = fcntl(descriptor, F_SETFD, fcntl(descriptor, F_GETFD) | FD_CLOEXEC)
    }

    package static func close(_ descriptor: CInt) {
        Glibc.close(descriptor)
    }

    /// Runs a call that fills in an address; nil if it returns false or the address cannot be decoded.
    package static func address(
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Bool
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isDone = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        return isDone ? decode(&storage, length) : nil
    }

    package static func decode(_ storage: inout sockaddr_storage, _ length: socklen_t) -> SocketAddress? {
        let count = min(Int(length), MemoryLayout<sockaddr_storage>.size)
        guard count >= MemoryLayout<sa_family_t>.size else { return nil }
        return withUnsafeBytes(of: &storage) { bytes in
            try? SocketAddress(sockaddr: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
    }
}

/// An `errno` value, passed to the caller that knows the failed operation.
package struct ErrorNumber: Error {
    package let value: CInt

    package init(_ value: CInt) {
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
