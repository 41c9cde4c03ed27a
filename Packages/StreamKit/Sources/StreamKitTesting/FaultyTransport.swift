public import EventLoops
public import StreamKit

/// A layer that breaks, ends or falls silent after a number of bytes.
///
/// ```swift
/// let lower = FaultyTransport(over: transport, reading: .failure(StreamError(posix: ECONNRESET), after: 17))
/// ```
///
/// A loop over every number of bytes of a conversation shows whether its reader survives a fault anywhere in it.
public final class FaultyTransport: StreamTransport {
    /// What happens to one direction.
    public enum Fault: Sendable {
        /// Throws once this many bytes have passed, and from then on.
        case failure(StreamError, after: Int)
        /// Ends once this many bytes have passed, as if the peer had finished.
        case end(after: Int)
        /// Would block for ever once this many bytes have passed.
        case silence(after: Int)

        fileprivate var count: Int {
            switch self {
            case .failure(_, let count), .end(let count), .silence(let count): count
            }
        }
    }

    private let lower: any StreamTransport
    private let reading: Fault?
    private let writing: Fault?
    private let passed = Locked((read: 0, written: 0))

    /// - Parameters:
    ///   - lower: what really moves the bytes.
    ///   - reading: what goes wrong with bytes read; nil for nothing.
    ///   - writing: what goes wrong with bytes written; nil for nothing.
    public init(over lower: any StreamTransport, reading: Fault? = nil, writing: Fault? = nil) {
        self.lower = lower
        self.reading = reading
        self.writing = writing
    }

    /// The lower transport's.
    public var waitPoint: WaitPoint { lower.waitPoint }

    /// Opens the lower transport.
    public func tryOpen() throws(StreamError) -> OpenAttempt { try lower.tryOpen() }

    /// Reads up to the fault, then has it.
    public func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        let left = reading.map { $0.count - passed.withLock { $0.read } } ?? .max
        if let reading, left <= 0 { return try FaultyTransport.fall(into: reading, .readable) }
        var piece = buffer._mutatingExtracting(first: left)
        let attempt = try lower.tryRead(into: &piece)
        if case .moved(let count) = attempt { passed.withLock { $0.read += count } }
        return attempt
    }

    /// Writes up to the fault, then has it.
    public func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        let left = writing.map { $0.count - passed.withLock { $0.written } } ?? .max
        if let writing, left <= 0 { return try FaultyTransport.fall(into: writing, .writable) }
        let attempt = try lower.tryWrite(bytes.extracting(first: left))
        if case .moved(let count) = attempt { passed.withLock { $0.written += count } }
        return attempt
    }

    /// What a read would give.
    public func peek() throws(StreamError) -> Attempt {
        guard let reading, passed.withLock({ $0.read }) >= reading.count else { return try lower.peek() }
        return try FaultyTransport.fall(into: reading, .readable)
    }

    /// What a write would give.
    public func writability() throws(StreamError) -> Attempt {
        guard let writing, passed.withLock({ $0.written }) >= writing.count else { return try lower.writability() }
        return try FaultyTransport.fall(into: writing, .writable)
    }

    /// Flushes the lower transport.
    public func tryFlush() throws(StreamError) -> Attempt { try lower.tryFlush() }

    /// Ends the lower transport's sending.
    public func tryFinish() throws(StreamError) -> Attempt { try lower.tryFinish() }

    /// Closes the lower transport.
    public func close() { lower.close() }

    private static func fall(into fault: Fault, _ interest: Interest) throws(StreamError) -> Attempt {
        switch fault {
        case .failure(let error, _): throw error
        case .end: .ended
        case .silence: .wouldBlock(interest)
        }
    }
}
