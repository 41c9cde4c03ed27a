internal import EventLoops

/// The transport of a stream, with the two that matter for speed spelled out: a switch instead of a witness call.
enum Engine: Sendable {
    case socket(SocketTransport)
    case tls(TLSTransport)
    case other(any StreamTransport)

    var transport: any StreamTransport {
        switch self {
        case .socket(let socket): socket
        case .tls(let tls): tls
        case .other(let other): other
        }
    }

    var waitPoint: WaitPoint {
        switch self {
        case .socket(let socket): socket.waitPoint
        case .tls(let tls): tls.waitPoint
        case .other(let other): other.waitPoint
        }
    }

    @inline(__always)
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        switch self {
        case .socket(let socket): try socket.tryRead(into: &buffer)
        case .tls(let tls): try tls.tryRead(into: &buffer)
        case .other(let other): try other.tryRead(into: &buffer)
        }
    }

    /// As `tryRead`, but may wait in the system call.
    @inline(__always)
    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        switch self {
        case .socket(let socket): try socket.read(into: &buffer)
        case .tls(let tls): try tls.tryRead(into: &buffer)
        case .other(let other): try other.read(into: &buffer)
        }
    }

    /// Hands down what is held; a socket holds nothing.
    @inline(__always)
    func tryFlush() throws(StreamError) -> Attempt {
        switch self {
        case .socket: .ended
        case .tls(let tls): try tls.tryFlush()
        case .other(let other): try other.tryFlush()
        }
    }

    @inline(__always)
    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        switch self {
        case .socket(let socket): try socket.tryWrite(bytes)
        case .tls(let tls): try tls.tryWrite(bytes)
        case .other(let other): try other.tryWrite(bytes)
        }
    }
}
