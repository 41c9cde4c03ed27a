internal import EventLoops
internal import HTTP2
internal import HostResolver
internal import StreamKit

/// This side's use of a stream of HTTP/2 that carries another protocol.
protocol HTTP2TunnelEnd: Sendable {
    /// Signalled when bytes have arrived, when more can be sent, and when the stream has ended.
    var point: WaitPoint { get }
    /// The streams of the connection.
    var pair: StreamPair { get }
    /// Whether bytes were not taken, and the point has not been signalled since.
    var isFull: Bool { get }

    /// Reads bytes; into no memory, to find out whether there are any.
    func read(into target: inout MutableRawSpan) throws(StreamError) -> HTTP2ReadOutcome

    /// Sends bytes. Returns the number of those taken, or nil if neither bytes nor the end were taken.
    func send(_ bytes: RawSpan, endsHere: Bool) throws(StreamError) -> Int?

    /// Ends the use of the stream.
    func close()

    /// The error of a stream that has ended early.
    func error(_ failure: HTTP2StreamFailure) -> StreamError
}

/// A stream of HTTP/2 as a connection that carries another protocol than HTTP (RFC 8441 §4 and §5).
///
/// The end of the bytes of one side is END_STREAM, and a reset of the connection is RST_STREAM. Credit is given for what has been read.
final class HTTP2Tunnel: StreamTransport {
    private let end: any HTTP2TunnelEnd
    /// Whether END_STREAM has been sent.
    private let hasFinished = Locked(false)

    private init(_ end: any HTTP2TunnelEnd) { self.end = end }

    /// Makes the open streams of the protocol.
    static func streams(_ end: any HTTP2TunnelEnd) -> StreamPair {
        let pair = StreamPair(transport: HTTP2Tunnel(end))
        // The transport has nothing to open; reads and writes throw otherwise.
        try? pair.open()
        return pair
    }

    var waitPoint: WaitPoint { end.point }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        switch try end.read(into: &buffer) {
        case .bytes(let count): return .moved(count)
        case .blocked: return .wouldBlock(.readable)
        case .ended: return .ended
        case .reset(let failure): throw end.error(failure)
        }
    }

    func peek() throws(StreamError) -> Attempt { try peekByReading() }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        try end.send(bytes, endsHere: false).map { .moved($0) } ?? .wouldBlock(.writable)
    }

    func writability() throws(StreamError) -> Attempt { end.isFull ? .wouldBlock(.writable) : .moved(1) }

    func tryFinish() throws(StreamError) -> Attempt {
        if hasFinished.withLock({ $0 }) { return .ended }
        guard try end.send(RawSpan(), endsHere: true) != nil else { return .wouldBlock(.writable) }
        hasFinished.withLock { $0 = true }
        return .ended
    }

    func close() {
        // A stream that has ended already cannot be finished.
        _ = try? tryFinish()
        end.close()
    }

    func property(named name: String) -> (any Sendable)? {
        switch name {
        case StreamProperty<TLSInformation>.tlsInformation.name: end.pair[.tlsInformation]
        case StreamProperty<SocketAddress>.localAddress.name: end.pair[.localAddress]
        case StreamProperty<SocketAddress>.remoteAddress.name: end.pair[.remoteAddress]
        default: nil
        }
    }
}

extension StreamTransport {
    /// The result of ``peek()`` for a transport whose ``tryRead(into:)`` takes no memory, and then tells whether there are bytes.
    func peekByReading() throws(StreamError) -> Attempt {
        var nothing: [UInt8] = []
        var span = nothing.mutableSpan
        var memory = span.mutableBytes
        let attempt = try tryRead(into: &memory)
        return if case .moved = attempt { .moved(1) } else { attempt }
    }
}
