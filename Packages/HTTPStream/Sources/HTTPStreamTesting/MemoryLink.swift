internal import EventLoops
internal import HTTPStream

/// One end of a connection within the process: bytes written at one end are read at the other. There is no descriptor.
final class MemoryLink: StreamTransport {
    /// The bytes of one direction.
    private struct Flow {
        var bytes: [UInt8] = []
        var isFinished = false
        var isReaderClosed = false
    }

    private final class Shared: Sendable {
        /// The flow that each end reads.
        let flows = Locked([Flow(), Flow()])
    }

    private static let capacity = 64 * 1024

    let waitPoint: WaitPoint
    private let other: WaitPoint
    private let shared: Shared
    /// 0 or 1.
    private let side: Int

    private init(_ shared: Shared, side: Int, _ waitPoint: WaitPoint, _ other: WaitPoint) {
        self.shared = shared
        self.side = side
        self.waitPoint = waitPoint
        self.other = other
    }

    /// Makes the two ends of a connection.
    static func pair(loop: EventLoop) -> (MemoryLink, MemoryLink) {
        let shared = Shared()
        let (first, second) = (WaitPoint(loop: loop), WaitPoint(loop: loop))
        return (MemoryLink(shared, side: 0, first, second), MemoryLink(shared, side: 1, second, first))
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        let attempt: Attempt = shared.flows.withLock { flows in
            let count = min(buffer.byteCount, flows[side].bytes.count)
            if count == 0 { return flows[side].isFinished ? .ended : .wouldBlock(.readable) }
            buffer.withUnsafeMutableBytes { $0.copyBytes(from: flows[side].bytes[..<count]) }
            flows[side].bytes.removeFirst(count)
            return .moved(count)
        }
        if case .moved = attempt { other.signal(.writable) }
        return attempt
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        let attempt: Attempt = try shared.flows.withLock { (flows) throws(StreamError) in
            let room = try MemoryLink.room(in: flows[1 - side])
            let count = min(bytes.byteCount, room)
            if count == 0 { return .wouldBlock(.writable) }
            bytes.withUnsafeBytes { flows[1 - side].bytes.append(contentsOf: $0.prefix(count)) }
            return .moved(count)
        }
        if case .moved = attempt { other.signal(.readable) }
        return attempt
    }

    func peek() throws(StreamError) -> Attempt {
        shared.flows.withLock { flows in
            let count = flows[side].bytes.count
            if count > 0 { return .moved(count) }
            return flows[side].isFinished ? .ended : .wouldBlock(.readable)
        }
    }

    func writability() throws(StreamError) -> Attempt {
        try shared.flows.withLock { (flows) throws(StreamError) in
            let room = try MemoryLink.room(in: flows[1 - side])
            return room == 0 ? .wouldBlock(.writable) : .moved(room)
        }
    }

    func tryFinish() throws(StreamError) -> Attempt {
        shared.flows.withLock { $0[1 - side].isFinished = true }
        other.signal(.readable)
        return .ended
    }

    func close() {
        shared.flows.withLock { flows in
            flows[1 - side].isFinished = true
            flows[side].isReaderClosed = true
            flows[side].bytes = []
        }
        other.signal([.readable, .writable])
    }

    private static func room(in flow: Flow) throws(StreamError) -> Int {
        if flow.isReaderClosed { throw StreamError(posix: 32) }  // EPIPE
        return max(0, capacity - flow.bytes.count)
    }
}
