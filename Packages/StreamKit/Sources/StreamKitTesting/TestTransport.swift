internal import EventLoops
@_spi(Packages) public import StreamKit

/// Transports for tests: layers that behave as awkward connections do, and their lower ends.
public enum TestTransport {
    /// Makes a transport over streams, for a layer whose lower end is a stream.
    ///
    /// ```swift
    /// let lower = StreamPair(descriptor: fd, ownership: .owned)
    /// let pair = StreamPair(transport: TestTransport.fragmenting(TestTransport.over(lower)))
    /// ```
    ///
    /// Opening and closing the transport opens and closes the streams.
    public static func over(_ pair: StreamPair) -> any StreamTransport {
        PairTransport(input: pair.input, output: pair.output)
    }

    /// As ``over(_:)``, for reading alone.
    public static func over(reading input: ReadStream) -> any StreamTransport {
        PairTransport(input: input, output: nil)
    }

    /// As ``over(_:)``, for writing alone.
    public static func over(writing output: WriteStream) -> any StreamTransport {
        PairTransport(input: nil, output: output)
    }
}

private final class PairTransport: StreamTransport {
    private let input: ReadStream?
    private let output: WriteStream?

    init(input: ReadStream?, output: WriteStream?) {
        self.input = input
        self.output = output
    }

    /// The wait point of the streams below; while one of them is opening, its wait point.
    var waitPoint: WaitPoint {
        if let output, output.status == .opening, input?.status != .opening { return output.waitPoint }
        return input?.waitPoint ?? output?.waitPoint ?? WaitPoint()
    }

    private var areOpening: Bool { input?.status == .opening || output?.status == .opening }

    /// Opens the streams below.
    func tryOpen() throws(StreamError) -> OpenAttempt {
        if input?.status == .notOpen { try input?.open() }
        if output?.status == .notOpen { try output?.open() }
        if let error = input?.error ?? output?.error { throw error }
        return areOpening ? .wouldBlock(.readable) : .opened
    }

    /// Reads from the stream below.
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard let input else { return .ended }
        guard let count = try input.tryRead(into: &buffer) else { return .wouldBlock(.readable) }
        return count == 0 ? .ended : .moved(count)
    }

    /// Writes to the stream below.
    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        guard let output else { return .ended }
        guard let count = try output.tryWrite(bytes) else { return .wouldBlock(.writable) }
        return count == 0 ? .ended : .moved(count)
    }

    /// Whether the stream below has bytes.
    func peek() throws(StreamError) -> Attempt {
        guard let input, input.status != .atEnd else { return .ended }
        if input.hasBytesAvailable { return .moved(1) }
        if let error = input.error { throw error }
        return .wouldBlock(.readable)
    }

    /// Whether the stream below accepts bytes.
    func writability() throws(StreamError) -> Attempt {
        guard let output, output.status != .atEnd else { return .ended }
        if output.canAcceptBytes { return .moved(1) }
        if let error = output.error { throw error }
        return .wouldBlock(.writable)
    }

    /// Flushes the stream below.
    func tryFlush() throws(StreamError) -> Attempt {
        try output?.tryFlush() ?? true ? .ended : .wouldBlock(.writable)
    }

    /// Ends the sending direction of the stream below.
    func tryFinish() throws(StreamError) -> Attempt {
        try output?.tryFinish() ?? true ? .ended : .wouldBlock(.writable)
    }

    /// Closes the streams below.
    func close() {
        output?.close()
        input?.close()
    }
}
