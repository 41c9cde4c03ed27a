public import EventLoops
public import StreamKit

/// A layer that makes the worst of what is below: few bytes at a time, and a would-block before each.
///
/// Code that works over it does not lean on how bytes happen to arrive together.
///
/// ```swift
/// let stream = ReadStream(transport: FragmentingTransport(over: lower, pieceSize: 1))
/// ```
public final class FragmentingTransport: StreamTransport {
    private let lower: any StreamTransport
    private let pieceSize: Int
    private let turns = Locked((read: false, write: false))

    /// - Parameters:
    ///   - lower: what really moves the bytes.
    ///   - pieceSize: the most that one call moves, at least 1.
    public init(over lower: any StreamTransport, pieceSize: Int = 1) {
        self.lower = lower
        self.pieceSize = max(1, pieceSize)
    }

    /// The lower transport's.
    public var waitPoint: WaitPoint { lower.waitPoint }

    /// Opens the lower transport.
    public func tryOpen() throws(StreamError) -> OpenAttempt {
        try lower.tryOpen()
    }

    /// Every other call would block, though there may be bytes; the others give at most a piece.
    public func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        if turns.withLock({ turns in
            turns.read.toggle()
            return turns.read
        }) {
            return pause(.readable)
        }
        var piece = [UInt8](repeating: 0, count: min(pieceSize, buffer.byteCount))
        var span = piece.mutableSpan
        var bytes = span.mutableBytes
        let attempt = try lower.tryRead(into: &bytes)
        guard case .moved(let count) = attempt else { return attempt }
        buffer.withUnsafeMutableBytes { $0.copyBytes(from: piece[..<count]) }
        return attempt
    }

    /// Every other call would block; the others take at most a piece.
    public func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        if turns.withLock({ turns in
            turns.write.toggle()
            return turns.write
        }) {
            return pause(.writable)
        }
        return try lower.tryWrite(bytes.extracting(..<min(pieceSize, bytes.byteCount)))
    }

    /// What is below.
    public func peek() throws(StreamError) -> Attempt { try lower.peek() }

    /// What is below.
    public func writability() throws(StreamError) -> Attempt { try lower.writability() }

    /// Flushes the lower transport.
    public func tryFlush() throws(StreamError) -> Attempt { try lower.tryFlush() }

    /// Ends the lower transport's sending.
    public func tryFinish() throws(StreamError) -> Attempt { try lower.tryFinish() }

    /// Closes the lower transport.
    public func close() { lower.close() }

    /// A would-block after which a try succeeds: whoever waits is woken at once.
    private func pause(_ interest: Interest) -> Attempt {
        lower.waitPoint.signal(interest)
        return .wouldBlock(interest)
    }
}
