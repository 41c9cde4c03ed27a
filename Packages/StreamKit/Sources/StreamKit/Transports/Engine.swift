internal import EventLoops
internal import Glibc

/// The transport of a stream. The two cases that matter for speed are listed, so that a call is a switch rather than a
/// witness call.
enum Engine: Sendable {
    /// A connected stream socket: the bottom of most stacks.
    case socket(WaitPoint)
    case tls(TLSTransport)
    case other(any StreamTransport)

    /// The engine over a transport.
    init(_ transport: any StreamTransport) {
        // A comparison of types costs a tenth of a cast, and every stream over a transport opens here.
        if type(of: transport) == TLSTransport.self, let tls = transport as? TLSTransport {
            self = .tls(tls)
        } else {
            self = .other(transport)
        }
    }

    var waitPoint: WaitPoint {
        switch self {
        case .socket(let point): point
        case .tls(let tls): tls.waitPoint
        case .other(let other): other.waitPoint
        }
    }

    @inline(__always)
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point): try point.receive(into: &buffer, waits: false)
        case .tls(let tls): try tls.tryRead(into: &buffer)
        case .other(let other): try other.tryRead(into: &buffer)
        }
    }

    /// As `tryRead`, for a stream's own call: the bytes read from a layer count against the turn of the stream's point.
    @inline(__always)
    func tryRead(into buffer: inout MutableRawSpan, countingAt stream: WaitPoint) throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point): try point.receive(into: &buffer, waits: false)
        case .tls(let tls): stream.count(try tls.tryRead(into: &buffer))
        case .other(let other): stream.count(try other.tryRead(into: &buffer))
        }
    }

    /// As `tryRead`, but may wait in the system call. That is possible only on an owned socket, which
    /// `WaitPoint.close(_:)` shuts down to wake the call.
    @inline(__always)
    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point): try point.receive(into: &buffer, waits: point.ownership == .owned)
        case .tls(let tls): try tls.tryRead(into: &buffer)
        case .other(let other): try other.read(into: &buffer)
        }
    }

    /// Passes down bytes that a layer holds; a socket holds none.
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
        case .socket(let point): try point.send(bytes)
        case .tls(let tls): try tls.tryWrite(bytes)
        case .other(let other): try other.tryWrite(bytes)
        }
    }
}

// MARK: - Looking and ending

extension Engine {
    func peek() throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point): try Syscalls.peek(point.descriptor)
        case .tls(let tls): try tls.peek()
        case .other(let other): try other.peek()
        }
    }

    func writability() throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point):
            Syscalls.ready(point.descriptor, for: .writable).isEmpty ? .wouldBlock(.writable) : .moved(1)
        case .tls(let tls): try tls.writability()
        case .other(let other): try other.writability()
        }
    }

    func tryFinish() throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point):
            guard shutdown(point.descriptor, CInt(SHUT_WR)) == 0 || errno == ENOTCONN else {
                throw StreamError(posix: errno)
            }
            return .ended
        case .tls(let tls): return try tls.tryFinish()
        case .other(let other): return try other.tryFinish()
        }
    }

    /// Sends the layer's closing message, such as close_notify; a socket has none.
    func close() {
        layer?.close()
    }
}

// MARK: - Properties

extension Engine {
    /// The transport above the socket; nil if there is none.
    private var layer: (any StreamTransport)? {
        switch self {
        case .socket: nil
        case .tls(let tls): tls
        case .other(let other): other
        }
    }

    var kind: StreamKind { layer?.kind ?? .transport }

    func property(named name: String) -> (any Sendable)? {
        layer?.property(named: name)
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try layer?.setProperty(value, named: name) ?? false
    }
}

extension WaitPoint {
    /// Counts the bytes that a layer's read moved (``countBytes(_:_:)``); returns the attempt.
    @inline(__always)
    fileprivate func count(_ attempt: Attempt) -> Attempt {
        if case .moved(let count) = attempt { countBytes(count, .reader) }
        return attempt
    }

    /// Receives from the point's socket.
    @inline(__always)
    func receive(into buffer: inout MutableRawSpan, waits: Bool) throws(StreamError) -> Attempt {
        try buffer.withUnsafeMutableBytes { (bytes) throws(StreamError) in
            try Syscalls.receive(descriptor, into: bytes, waits: waits)
        }
    }

    /// Sends on the point's socket.
    @inline(__always)
    func send(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        try bytes.withUnsafeBytes { (bytes) throws(StreamError) in try Syscalls.send(descriptor, bytes) }
    }
}
