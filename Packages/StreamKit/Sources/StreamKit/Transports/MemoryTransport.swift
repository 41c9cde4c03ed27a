internal import EventLoops
internal import Glibc

/// The source of a stream that reads bytes from memory.
final class MemorySource: StreamTransport {
    let waitPoint: WaitPoint
    private let bytes: [UInt8]
    private let offset = Locked(0)

    init(_ bytes: [UInt8], point: WaitPoint) {
        self.bytes = bytes
        waitPoint = point
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        offset.withLock { offset in
            let count = min(buffer.byteCount, bytes.count - offset)
            if count == 0 { return .ended }
            buffer.withUnsafeMutableBytes { target in
                bytes.withUnsafeBytes {
                    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count]))
                }
            }
            offset += count
            return .moved(count)
        }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }

    func peek() throws(StreamError) -> Attempt {
        let left = bytes.count - offset.withLock { $0 }
        return left == 0 ? .ended : .moved(left)
    }

    func writability() throws(StreamError) -> Attempt { .ended }
}

/// The destination of a stream that writes to memory: growing, or of a fixed size, which is at its end once full.
final class MemorySink: StreamTransport {
    let waitPoint: WaitPoint
    private let capacity: Int?
    private let written = Locked<[UInt8]>([])

    /// - Parameter capacity: the most bytes that are accepted; nil for no limit.
    init(capacity: Int?, point: WaitPoint) {
        self.capacity = capacity
        waitPoint = point
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .ended }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        written.withLock { written in
            let count = min(bytes.byteCount, (capacity ?? .max) - written.count)
            if count <= 0 { return .ended }
            bytes.withUnsafeBytes { written.append(contentsOf: $0.prefix(count)) }
            return .moved(count)
        }
    }

    func peek() throws(StreamError) -> Attempt { .ended }

    func writability() throws(StreamError) -> Attempt {
        let room = (capacity ?? .max) - written.withLock { $0.count }
        return room <= 0 ? .ended : .moved(room)
    }

    func property(named name: String) -> (any Sendable)? {
        name == StreamProperty<[UInt8]>.dataWritten.name ? written.withLock { $0 } : nil
    }
}

/// One end of a pipe, such as a bound pair or one direction of a ``DuplexPipe``: bytes written at one end are read at the other, through a
/// buffer of fixed size.
///
/// Both ends share one ``Buffer``. Each end waits at a wait point, which the other end signals. There is no descriptor.
final class PipeTransport: StreamTransport {
    enum End: Sendable {
        case reading
        case writing
    }

    /// The ring buffer between the two ends.
    final class Buffer: Sendable {
        struct State {
            var ring: [UInt8]
            var start = 0
            var count = 0
            var isWriterClosed = false
            var isReaderClosed = false
        }

        let state: Locked<State>
        let readingPoint: WaitPoint
        let writingPoint: WaitPoint

        init(size: Int, readingPoint: WaitPoint, writingPoint: WaitPoint) {
            state = Locked(State(ring: [UInt8](repeating: 0, count: max(1, size))))
            self.readingPoint = readingPoint
            self.writingPoint = writingPoint
        }
    }

    private let buffer: Buffer
    private let end: End

    init(_ buffer: Buffer, end: End) {
        self.buffer = buffer
        self.end = end
    }

    var waitPoint: WaitPoint { end == .reading ? buffer.readingPoint : buffer.writingPoint }

    func tryRead(into target: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard end == .reading else { return .ended }
        let attempt: Attempt = buffer.state.withLock { state in
            let count = min(target.byteCount, state.count)
            if count == 0 { return state.isWriterClosed ? .ended : .wouldBlock(.readable) }
            target.withUnsafeMutableBytes { target in
                state.ring.withUnsafeBytes { ring in
                    let first = min(count, ring.count - state.start)
                    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: ring[state.start..<state.start + first]))
                    UnsafeMutableRawBufferPointer(rebasing: target[first...])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: ring[..<(count - first)]))
                }
            }
            state.start = (state.start + count) % state.ring.count
            state.count -= count
            return .moved(count)
        }
        if case .moved = attempt { buffer.writingPoint.signal(.writable) }
        return attempt
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        guard end == .writing else { return .ended }
        let attempt: Attempt = try buffer.state.withLock { (state) throws(StreamError) in
            if state.isReaderClosed { throw StreamError(posix: EPIPE, .connectionLost(EPIPE)) }
            let count = min(bytes.byteCount, state.ring.count - state.count)
            if count == 0 { return .wouldBlock(.writable) }
            bytes.withUnsafeBytes { bytes in
                state.ring.withUnsafeMutableBytes { ring in
                    let end = (state.start + state.count) % ring.count
                    let first = min(count, ring.count - end)
                    UnsafeMutableRawBufferPointer(rebasing: ring[end...])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<first]))
                    ring.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[first..<count]))
                }
            }
            state.count += count
            return .moved(count)
        }
        if case .moved = attempt { buffer.readingPoint.signal(.readable) }
        return attempt
    }

    func peek() throws(StreamError) -> Attempt {
        guard end == .reading else { return .ended }
        return buffer.state.withLock { state in
            if state.count > 0 { return .moved(state.count) }
            return state.isWriterClosed ? .ended : .wouldBlock(.readable)
        }
    }

    func writability() throws(StreamError) -> Attempt {
        guard end == .writing else { return .ended }
        return try buffer.state.withLock { (state) throws(StreamError) in
            if state.isReaderClosed { throw StreamError(posix: EPIPE, .connectionLost(EPIPE)) }
            let room = state.ring.count - state.count
            return room == 0 ? .wouldBlock(.writable) : .moved(room)
        }
    }

    func tryFinish() throws(StreamError) -> Attempt {
        close()
        return .ended
    }

    func close() {
        if end == .reading {
            buffer.state.withLock { $0.isReaderClosed = true }
            buffer.writingPoint.signal(.writable)
        } else {
            buffer.state.withLock { $0.isWriterClosed = true }
            buffer.readingPoint.signal(.readable)
        }
    }
}

/// One end of a connection within the process: a pipe in each direction, whose other ends are those of the peer.
final class DuplexPipe: StreamTransport {
    private let input: PipeTransport
    private let output: PipeTransport

    private init(input: PipeTransport.Buffer, output: PipeTransport.Buffer) {
        self.input = PipeTransport(input, end: .reading)
        self.output = PipeTransport(output, end: .writing)
    }

    /// Makes both ends. Each has one wait point for both directions.
    static func pair(size: Int, loop: EventLoop) -> (DuplexPipe, DuplexPipe) {
        let (first, second) = (WaitPoint(loop: loop), WaitPoint(loop: loop))
        let forth = PipeTransport.Buffer(size: size, readingPoint: second, writingPoint: first)
        let back = PipeTransport.Buffer(size: size, readingPoint: first, writingPoint: second)
        return (DuplexPipe(input: back, output: forth), DuplexPipe(input: forth, output: back))
    }

    var waitPoint: WaitPoint { input.waitPoint }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { try input.tryRead(into: &buffer) }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { try output.tryWrite(bytes) }

    func peek() throws(StreamError) -> Attempt { try input.peek() }

    func writability() throws(StreamError) -> Attempt { try output.writability() }

    func tryFinish() throws(StreamError) -> Attempt { try output.tryFinish() }

    func close() {
        input.close()
        output.close()
    }
}
