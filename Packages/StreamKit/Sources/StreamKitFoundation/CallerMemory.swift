internal import EventLoops
internal import StreamKit

/// Writes into the caller's memory. The stream is at its end when the memory is full.
final class CallerMemory: StreamTransport, @unchecked Sendable {
    // The stream ensures that only one writer at a time writes through the pointer.
    let waitPoint = WaitPoint()
    var kind: StreamKind { .writtenMemory }
    private let memory: UnsafeMutableRawBufferPointer
    private let used = Locked(0)

    init(_ memory: UnsafeMutablePointer<UInt8>, capacity: Int) {
        self.memory = UnsafeMutableRawBufferPointer(start: memory, count: max(0, capacity))
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .ended }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        used.withLock { used in
            let count = min(bytes.byteCount, memory.count - used)
            if count == 0 { return .ended }
            bytes.withUnsafeBytes { source in
                UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + count])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<count]))
            }
            used += count
            return .moved(count)
        }
    }

    func peek() throws(StreamError) -> Attempt { .ended }

    func writability() throws(StreamError) -> Attempt {
        let room = memory.count - used.withLock { $0 }
        return room == 0 ? .ended : .moved(room)
    }
}
