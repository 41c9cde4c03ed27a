public import EventLoops
internal import Glibc
public import StreamKit

extension TestTransport {
    /// Makes a pair in memory without a buffer: a byte is accepted only after a read has asked for it.
    ///
    /// It exposes code that works only because a buffer absorbs a small message, such as two sides that both write first,
    /// or a protocol that forgets to read.
    ///
    /// ```swift
    /// let (reading, writing) = TestTransport.lockstep()
    /// let input = ReadStream(transport: reading), output = WriteStream(transport: writing)
    /// ```
    public static func lockstep(
        loop: EventLoop = .shared
    ) -> (reading: any StreamTransport, writing: any StreamTransport) {
        LockstepTransport.pair(loop: loop)
    }
}

/// One end of ``TestTransport/lockstep(loop:)``.
private final class LockstepTransport: StreamTransport {
    private struct State {
        /// The number of bytes that the reader has asked for and not received.
        var wanted = 0
        /// Bytes accepted and not read yet; never more than the reader asked for.
        var given: [UInt8] = []
        var hasEnded = false
        var isReaderClosed = false
    }

    private final class Shared: Sendable {
        let state = Locked(State())
        let readingPoint: WaitPoint
        let writingPoint: WaitPoint

        init(loop: EventLoop) {
            readingPoint = WaitPoint(loop: loop)
            writingPoint = WaitPoint(loop: loop)
        }
    }

    private let shared: Shared
    private let reads: Bool

    private init(_ shared: Shared, reads: Bool) {
        self.shared = shared
        self.reads = reads
    }

    /// Makes the two ends of one flow.
    static func pair(loop: EventLoop = .shared) -> (reading: LockstepTransport, writing: LockstepTransport) {
        let shared = Shared(loop: loop)
        return (LockstepTransport(shared, reads: true), LockstepTransport(shared, reads: false))
    }

    /// The wait point of this end.
    var waitPoint: WaitPoint { reads ? shared.readingPoint : shared.writingPoint }

    /// Reads the bytes accepted so far; if there are none, asks for as many as fit into `buffer`.
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard reads else { return .ended }
        let attempt: Attempt = shared.state.withLock { state in
            let count = min(buffer.byteCount, state.given.count)
            if count == 0 { return state.hasEnded ? .ended : ask(for: buffer.byteCount, &state) }
            buffer.withUnsafeMutableBytes { $0.copyBytes(from: state.given[..<count]) }
            state.given.removeFirst(count)
            return .moved(count)
        }
        if case .wouldBlock = attempt { shared.writingPoint.signal(.writable) }
        return attempt
    }

    /// Accepts as many bytes as the reader has asked for.
    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        guard !reads else { return .ended }
        let attempt: Attempt = try shared.state.withLock { (state) throws(StreamError) in
            if state.isReaderClosed { throw .brokenPipe }
            let count = min(state.wanted, bytes.byteCount)
            if count == 0 { return .wouldBlock(.writable) }
            bytes.withUnsafeBytes { state.given.append(contentsOf: $0.prefix(count)) }
            state.wanted = 0
            return .moved(count)
        }
        if case .moved = attempt { shared.readingPoint.signal(.readable) }
        return attempt
    }

    /// Whether bytes are available; if not, asks for one byte.
    func peek() throws(StreamError) -> Attempt {
        guard reads else { return .ended }
        let attempt: Attempt = shared.state.withLock { state in
            if !state.given.isEmpty { return .moved(state.given.count) }
            return state.hasEnded ? .ended : ask(for: 1, &state)
        }
        if case .wouldBlock = attempt { shared.writingPoint.signal(.writable) }
        return attempt
    }

    /// Whether the reader has asked for bytes.
    func writability() throws(StreamError) -> Attempt {
        guard !reads else { return .ended }
        return try shared.state.withLock { (state) throws(StreamError) in
            if state.isReaderClosed { throw .brokenPipe }
            return state.wanted == 0 ? .wouldBlock(.writable) : .moved(state.wanted)
        }
    }

    /// Ends the flow after the bytes accepted so far.
    func tryFinish() throws(StreamError) -> Attempt {
        close()
        return .ended
    }

    /// Closes this end: without a reader, writes fail; without a writer, reads end.
    func close() {
        shared.state.withLock { if reads { $0.isReaderClosed = true } else { $0.hasEnded = true } }
        if reads { shared.writingPoint.signal(.writable) } else { shared.readingPoint.signal(.readable) }
    }

    private func ask(for count: Int, _ state: inout State) -> Attempt {
        state.wanted = max(state.wanted, count)
        return .wouldBlock(.readable)
    }
}

extension StreamError {
    /// The error of a write without a reader.
    fileprivate static let brokenPipe = StreamError(posix: EPIPE)
}
