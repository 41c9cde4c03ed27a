public import EventLoops
public import StreamKit

/// A transport over streams, for a layer whose lower end is a stream.
///
/// ```swift
/// let lower = StreamPair(descriptor: fd, ownership: .owned)
/// let pair = StreamPair(transport: FragmentingTransport(over: PairTransport(lower)))
/// ```
///
/// Opening and closing the transport opens and closes the streams.
public final class PairTransport: StreamTransport {
    private let input: ReadStream?
    private let output: WriteStream?

    /// Makes a transport for both directions.
    public init(_ pair: StreamPair) {
        input = pair.input
        output = pair.output
    }

    /// Makes a transport that only reads.
    public init(reading input: ReadStream) {
        self.input = input
        output = nil
    }

    /// Makes a transport that only writes.
    public init(writing output: WriteStream) {
        input = nil
        self.output = output
    }

    /// The wait point of the streams below; while one of them is opening, its wait point.
    public var waitPoint: WaitPoint {
        if let output, output.status == .opening, input?.status != .opening { return output.waitPoint }
        return input?.waitPoint ?? output?.waitPoint ?? WaitPoint()
    }

    private var areOpening: Bool { input?.status == .opening || output?.status == .opening }

    /// Opens the streams below.
    public func tryOpen() throws(StreamError) -> OpenAttempt {
        if input?.status == .notOpen { try input?.open() }
        if output?.status == .notOpen { try output?.open() }
        if let error = input?.error ?? output?.error { throw error }
        return areOpening ? .wouldBlock(.readable) : .opened
    }

    /// Reads from the stream below.
    public func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard let input else { return .ended }
        guard let count = try input.tryRead(into: &buffer) else { return .wouldBlock(.readable) }
        return count == 0 ? .ended : .moved(count)
    }

    /// Writes to the stream below.
    public func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        guard let output else { return .ended }
        guard let count = try output.tryWrite(bytes) else { return .wouldBlock(.writable) }
        return count == 0 ? .ended : .moved(count)
    }

    /// Whether the stream below has bytes.
    public func peek() throws(StreamError) -> Attempt {
        guard let input, input.status != .atEnd else { return .ended }
        if input.hasBytesAvailable { return .moved(1) }
        if let error = input.error { throw error }
        return .wouldBlock(.readable)
    }

    /// Whether the stream below accepts bytes.
    public func writability() throws(StreamError) -> Attempt {
        guard let output, output.status != .atEnd else { return .ended }
        if output.canAcceptBytes { return .moved(1) }
        if let error = output.error { throw error }
        return .wouldBlock(.writable)
    }

    /// Flushes the stream below.
    public func tryFlush() throws(StreamError) -> Attempt {
        try output?.tryFlush() ?? true ? .ended : .wouldBlock(.writable)
    }

    /// Ends the sending direction of the stream below.
    public func tryFinish() throws(StreamError) -> Attempt {
        try output?.tryFinish() ?? true ? .ended : .wouldBlock(.writable)
    }

    /// Closes the streams below.
    public func close() {
        output?.close()
        input?.close()
    }
}
