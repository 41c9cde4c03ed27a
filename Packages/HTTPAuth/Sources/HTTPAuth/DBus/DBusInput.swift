internal import CLibcrypto

/// A buffer for bytes received from a bus. They may contain secrets, so bytes that leave the buffer are overwritten,
/// and so is the old memory when the buffer grows.
struct DBusBuffer {
    /// The minimum free space for the next read, in bytes.
    static let minimumSpace = 4096

    private(set) var count = 0
    /// The memory; all bytes after ``count`` are zero.
    private(set) var storage: [UInt8] = []

    /// Calls `receive` with the free space after the buffered bytes. The closure returns the number of bytes it wrote;
    /// this method returns the same number.
    mutating func fill(_ receive: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        if storage.count - count < Self.minimumSpace {
            var larger = [UInt8](repeating: 0, count: 2 * storage.count + Self.minimumSpace)
            larger.replaceSubrange(..<count, with: storage[..<count])
            storage.wipe()
            storage = larger
        }
        let moved = storage.withUnsafeMutableBytes { receive(UnsafeMutableRawBufferPointer(rebasing: $0[count...])) }
        count += max(0, moved)
        return moved
    }

    /// Returns a copy of the first `length` bytes, which must be buffered.
    func first(_ length: Int) -> [UInt8] { Array(storage[..<length]) }

    /// Removes and returns the first `length` bytes, which must be buffered. The caller wipes them.
    mutating func take(_ length: Int) -> [UInt8] {
        let taken = first(length)
        let rest = count - length
        storage.withUnsafeMutableBytes { bytes in
            bytes.copyBytes(from: bytes[length..<count])
            if let start = bytes.baseAddress { OPENSSL_cleanse(start + rest, length) }
        }
        count = rest
        return taken
    }

    mutating func wipe() {
        storage.wipe()
        count = 0
    }
}
