internal import EventLoops
internal import Foundation
internal import StreamKit

/// Bytes in memory that can be read, or lent without a copy: the source of a ``BridgedInputStream`` of data.
final class LentMemory: StreamTransport {
    let waitPoint = WaitPoint()
    // Written only by init, before any other thread knows it, and by callers to which it is lent.
    private nonisolated(unsafe) let bytes: UnsafeMutableBufferPointer<UInt8>
    private let offset = Locked(0)

    init(_ data: Data) {
        bytes = .allocate(capacity: data.count)
        _ = data.copyBytes(to: bytes)
    }

    deinit { bytes.deallocate() }

    /// Skips to the last byte and returns the bytes that have not been read, which include it; nil if there are none.
    ///
    /// Reading the last byte then ends the stream's data like any other read. The memory is valid as long as this object.
    func lend() -> UnsafeMutableBufferPointer<UInt8>? {
        offset.withLock { offset in
            if offset == bytes.count { return nil }
            defer { offset = bytes.count - 1 }
            return UnsafeMutableBufferPointer(rebasing: bytes[offset...])
        }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        offset.withLock { offset in
            let count = min(buffer.byteCount, bytes.count - offset)
            if count == 0 { return .ended }
            buffer.withUnsafeMutableBytes { target in
                target.copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[offset..<offset + count]))
            }
            offset += count
            return .moved(count)
        }
    }

    func peek() throws(StreamError) -> Attempt {
        let left = bytes.count - offset.withLock { $0 }
        return left == 0 ? .ended : .moved(left)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }

    func writability() throws(StreamError) -> Attempt { .ended }
}
