internal import EventLoops
internal import Glibc

/// A connected stream socket: the bottom of most stacks.
final class SocketTransport: StreamTransport {
    let waitPoint: WaitPoint

    init(_ point: WaitPoint) {
        waitPoint = point
    }

    @inline(__always)
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try buffer.withUnsafeMutableBytes { (bytes) throws(StreamError) in
            try Syscalls.receive(waitPoint.descriptor, into: bytes)
        }
    }

    /// Waits inside `recv`, if the socket is ours: only such a one is shut down by ``WaitPoint/close(_:)``, which wakes the call.
    @inline(__always)
    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        let waits = waitPoint.ownership == .owned
        return try buffer.withUnsafeMutableBytes { (bytes) throws(StreamError) in
            try Syscalls.receive(waitPoint.descriptor, into: bytes, waits: waits)
        }
    }

    @inline(__always)
    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        try bytes.withUnsafeBytes { (bytes) throws(StreamError) in try Syscalls.send(waitPoint.descriptor, bytes) }
    }

    func peek() throws(StreamError) -> Attempt {
        try Syscalls.peek(waitPoint.descriptor)
    }

    func writability() throws(StreamError) -> Attempt {
        Syscalls.ready(waitPoint.descriptor, for: .writable).isEmpty ? .wouldBlock(.writable) : .moved(1)
    }

    func tryFinish() throws(StreamError) -> Attempt {
        guard shutdown(waitPoint.descriptor, CInt(SHUT_WR)) == 0 || errno == ENOTCONN else {
            throw StreamError(posix: errno)
        }
        return .ended
    }
}
