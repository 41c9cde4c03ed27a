public import EventLoops
internal import Glibc

/// The transport of a stream. The case that matters most for speed is listed, so that a call is a switch rather than a
/// witness call.
@usableFromInline
package enum Engine: Sendable {
    /// A connected stream socket: the bottom of most stacks.
    case socket(WaitPoint)
    /// Any other transport: TLS, a tunnel, a file, a program's own.
    case layer(any StreamTransport)

    @inlinable package var waitPoint: WaitPoint {
        switch self {
        case .socket(let point): point
        case .layer(let layer): layer.waitPoint
        }
    }

    @inlinable
    package func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point): try point.receive(into: &buffer, waits: false)
        case .layer(let layer): try layer.tryRead(into: &buffer)
        }
    }

    /// Passes down bytes that a layer holds; a socket holds none.
    @inlinable
    package func tryFlush() throws(StreamError) -> Attempt {
        switch self {
        case .socket: .ended
        case .layer(let layer): try layer.tryFlush()
        }
    }

    @inlinable
    package func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point): try point.send(bytes)
        case .layer(let layer): try layer.tryWrite(bytes)
        }
    }

    /// As `tryWrite`, but a layer may wait on the calling thread.
    @inlinable
    package func write(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point): try point.send(bytes)
        case .layer(let layer): try layer.write(bytes)
        }
    }
}

// MARK: - Looking and ending

extension Engine {
    package func peek() throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point): try Syscalls.peek(point.descriptor)
        case .layer(let layer): try layer.peek()
        }
    }

    package func writability() throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point):
            Syscalls.ready(point.descriptor, for: .writable).isEmpty ? .wouldBlock(.writable) : .moved(1)
        case .layer(let layer): try layer.writability()
        }
    }

    package func tryFinish() throws(StreamError) -> Attempt {
        switch self {
        case .socket(let point):
            guard shutdown(point.descriptor, CInt(SHUT_WR)) == 0 || errno == ENOTCONN else {
                throw StreamError(posix: errno)
            }
            return .ended
        case .layer(let layer): return try layer.tryFinish()
        }
    }

    /// Sends the layer's closing message, such as close_notify; a socket has none.
    package func close() {
        layer?.close()
    }
}

// MARK: - Properties

extension Engine {
    /// The transport above the socket; nil if there is none.
    package var layer: (any StreamTransport)? {
        switch self {
        case .socket: nil
        case .layer(let layer): layer
        }
    }

    package func property(named name: String) -> (any Sendable)? {
        layer?.property(named: name)
    }

    package func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try layer?.setProperty(value, named: name) ?? false
    }
}

extension WaitPoint {
    /// Counts the bytes that a layer's read moved (``countBytes(_:_:)``); returns the attempt.
    @inlinable
    package func count(_ attempt: Attempt) -> Attempt {
        if case .moved(let count) = attempt { countBytes(count, .reader) }
        return attempt
    }

    /// Receives from the point's socket.
    @inlinable
    @inline(__always)
    package func receive(into buffer: inout MutableRawSpan, waits: Bool) throws(StreamError) -> Attempt {
        try buffer.withUnsafeMutableBytes { (bytes) throws(StreamError) in
            try Syscalls.receive(descriptor, into: bytes, waits: waits)
        }
    }

    /// Sends on the point's socket.
    @inlinable
    @inline(__always)
    package func send(_ bytes: RawSpan, waits: Bool = false) throws(StreamError) -> Attempt {
        try bytes.withUnsafeBytes { (bytes) throws(StreamError) in
            try Syscalls.send(descriptor, bytes, waits: waits)
        }
    }
}

extension WaitPoint.Half {
    /// The readiness that a transfer of this direction usually waits for.
    package var interest: Interest {
        switch self {
        case .reader: .readable
        case .writer: .writable
        }
    }
}
