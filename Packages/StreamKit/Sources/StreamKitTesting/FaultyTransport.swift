internal import EventLoops
public import StreamKit

extension TestTransport {
    /// The fault of one direction.
    public enum Fault: Sendable {
        /// Throws once this many bytes have passed, and on every later call.
        case failure(StreamError, after: Int)
        /// Ends once this many bytes have passed, as if the peer had finished.
        case end(after: Int)
        /// Would block forever once this many bytes have passed.
        case silence(after: Int)

        fileprivate var count: Int {
            switch self {
            case .failure(_, let count), .end(let count), .silence(let count): count
            }
        }
    }

    /// Makes a layer that fails, ends or stalls after a given number of bytes.
    ///
    /// ```swift
    /// let lower = TestTransport.faulty(transport, reading: .failure(StreamError(posix: ECONNRESET), after: 17))
    /// ```
    ///
    /// To show that a reader survives a fault at any point of a conversation, run it with every number of bytes.
    ///
    /// - Parameters:
    ///   - lower: the transport that moves the bytes.
    ///   - reading: the fault of reading; nil for none.
    ///   - writing: the fault of writing; nil for none.
    public static func faulty(
        _ lower: any StreamTransport, reading: Fault? = nil, writing: Fault? = nil
    ) -> any StreamTransport {
        FaultyTransport(over: lower, reading: reading, writing: writing)
    }
}

/// The transport of ``TestTransport/faulty(_:reading:writing:)``.
private final class FaultyTransport: TestLayer {
    let lower: any StreamTransport
    private let reading: TestTransport.Fault?
    private let writing: TestTransport.Fault?
    private let passed = Locked((read: 0, written: 0))

    init(over lower: any StreamTransport, reading: TestTransport.Fault? = nil, writing: TestTransport.Fault? = nil) {
        self.lower = lower
        self.reading = reading
        self.writing = writing
    }

    /// Reads up to the fault; then the fault occurs.
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        let left = reading.map { $0.count - passed.withLock { $0.read } } ?? .max
        if let reading, left <= 0 { return try FaultyTransport.fall(into: reading, .readable) }
        var piece = buffer._mutatingExtracting(first: left)
        let attempt = try lower.tryRead(into: &piece)
        if case .moved(let count) = attempt { passed.withLock { $0.read += count } }
        return attempt
    }

    /// Writes up to the fault; then the fault occurs.
    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        let left = writing.map { $0.count - passed.withLock { $0.written } } ?? .max
        if let writing, left <= 0 { return try FaultyTransport.fall(into: writing, .writable) }
        let attempt = try lower.tryWrite(bytes.extracting(first: left))
        if case .moved(let count) = attempt { passed.withLock { $0.written += count } }
        return attempt
    }

    /// The result that a read would have.
    func peek() throws(StreamError) -> Attempt {
        guard let reading, passed.withLock({ $0.read }) >= reading.count else { return try lower.peek() }
        return try FaultyTransport.fall(into: reading, .readable)
    }

    /// The result that a write would have.
    func writability() throws(StreamError) -> Attempt {
        guard let writing, passed.withLock({ $0.written }) >= writing.count else { return try lower.writability() }
        return try FaultyTransport.fall(into: writing, .writable)
    }

    private static func fall(into fault: TestTransport.Fault, _ interest: Interest) throws(StreamError) -> Attempt {
        switch fault {
        case .failure(let error, _): throw error
        case .end: .ended
        case .silence: .wouldBlock(interest)
        }
    }
}
