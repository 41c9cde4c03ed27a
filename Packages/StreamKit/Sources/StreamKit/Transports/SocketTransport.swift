internal import EventLoops
internal import Glibc

/// A connected stream socket: the bottom of most stacks. The wait point owns the descriptor, and closes it.
///
/// A connection with this engine reads, writes and looks at the socket of its point, without this object (``Connection/hasSocket``). It makes
/// one to finish. TLS of a connection without a proxy calls it for everything.
final class SocketTransport: StreamTransport {
    let waitPoint: WaitPoint

    init(_ point: WaitPoint) {
        waitPoint = point
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try waitPoint.receive(into: &buffer, waits: false)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { try waitPoint.send(bytes, waits: false) }

    func peek() throws(StreamError) -> Attempt { try waitPoint.peek() }

    func writability() throws(StreamError) -> Attempt { waitPoint.writability() }

    func tryFinish() throws(StreamError) -> Attempt {
        guard shutdown(waitPoint.descriptor, CInt(SHUT_WR)) == 0 || errno == ENOTCONN else {
            throw StreamError(posix: errno)
        }
        return .ended
    }
}

extension WaitPoint {
    /// Receives from the point's socket.
    @inline(__always)
    func receive(into buffer: inout MutableRawSpan, waits: Bool) throws(StreamError) -> Attempt {
        try buffer.withUnsafeMutableBytes { (bytes) throws(StreamError) in
            try Syscalls.receive(descriptor, into: bytes, waits: waits)
        }
    }

    /// Sends on the point's socket.
    @inline(__always)
    func send(_ bytes: RawSpan, waits: Bool) throws(StreamError) -> Attempt {
        try bytes.withUnsafeBytes { (bytes) throws(StreamError) in
            try Syscalls.send(descriptor, bytes, waits: waits)
        }
    }

    /// What a read from the point's socket would find.
    func peek() throws(StreamError) -> Attempt { try Syscalls.peek(descriptor) }

    /// Whether the point's socket accepts bytes.
    func writability() -> Attempt {
        Syscalls.ready(descriptor, for: .writable).isEmpty ? .wouldBlock(.writable) : .moved(1)
    }
}
