internal import EventLoops
internal import StreamKit

/// Memory of the caller's to be written to; full, it is at its end.
final class CallerMemory: StreamTransport, @unchecked Sendable {
    // The pointer is written through by one writer at a time, which the stream sees to.
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
