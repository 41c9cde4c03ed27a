internal import CLibcrypto

/// What has come over a bus and was not taken yet. There may be secrets in it: what leaves it is overwritten, and so is the
/// memory that it grows out of.
struct DBusInput {
    /// How much room there is at least for the next piece.
    static let room = 4096

    private(set) var count = 0
    /// Behind ``count`` there are zeros.
    private(set) var storage: [UInt8] = []

    /// Lets `receive` write behind what there is, and say how much it wrote; gives what it said.
    mutating func fill(_ receive: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        if storage.count - count < Self.room {
            var larger = [UInt8](repeating: 0, count: 2 * storage.count + Self.room)
            larger.replaceSubrange(..<count, with: storage[..<count])
            storage.wipe()
            storage = larger
        }
        let moved = storage.withUnsafeMutableBytes { receive(UnsafeMutableRawBufferPointer(rebasing: $0[count...])) }
        count += max(0, moved)
        return moved
    }

    /// The first bytes, which stay; there must be as many.
    func first(_ length: Int) -> [UInt8] { Array(storage[..<length]) }

    /// Takes the first bytes out; there must be as many. Wipe them.
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
