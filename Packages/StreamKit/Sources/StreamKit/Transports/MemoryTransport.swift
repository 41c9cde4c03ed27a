internal import EventLoops

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
