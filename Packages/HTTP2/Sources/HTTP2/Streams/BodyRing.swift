/// The bytes of a message that have arrived and that the program has not read.
///
/// The memory grows with what is unread, at most to the window of the stream, and is taken on arrival of the first byte.
struct BodyRing: Sendable {
    private var memory: [UInt8] = []
    private var start = 0

    /// The number of bytes.
    private(set) var count = 0

    /// The memory that a ring keeps for the next stream.
    static let keptCapacity = 16 * 1024

    /// The bytes of memory that the ring occupies.
    var capacity: Int { memory.count }

    /// Appends bytes.
    mutating func append(_ bytes: RawSpan) {
        let added = bytes.byteCount
        if added == 0 { return }
        if count + added > memory.count { grow(to: count + added) }
        let end = (start + count) & (memory.count - 1)
        let first = min(added, memory.count - end)
        memory.withUnsafeMutableBytes { memory in
            bytes.withUnsafeBytes { bytes in
                memory[end..<end + first].copyBytes(from: bytes[..<first])
                memory[0..<added - first].copyBytes(from: bytes[first...])
            }
        }
        count += added
    }

    /// Moves bytes to the front of `target`. Returns their number, which is 0 only if the ring or the target is empty.
    mutating func read(into target: inout MutableRawSpan) -> Int {
        let taken = min(count, target.byteCount)
        if taken == 0 { return 0 }
        let first = min(taken, memory.count - start)
        memory.withUnsafeBytes { memory in
            target.withUnsafeMutableBytes { target in
                target[..<first].copyBytes(from: memory[start..<start + first])
                target[first..<taken].copyBytes(from: memory[0..<taken - first])
            }
        }
        start = (start + taken) & (memory.count - 1)
        count -= taken
        if count == 0 { start = 0 }
        return taken
    }

    /// Removes all bytes, and the memory if there is much of it.
    mutating func removeAll() {
        start = 0
        count = 0
        if memory.count > Self.keptCapacity { memory = [] }
    }

    /// Moves the bytes to memory of the next power of two.
    private mutating func grow(to needed: Int) {
        var capacity = max(1024, memory.count)
        while capacity < needed { capacity *= 2 }
        var grown: [UInt8] = []
        grown.reserveCapacity(capacity)
        let first = min(count, memory.count - start)
        grown += memory[start..<start + first]
        grown += memory[..<(count - first)]
        grown += repeatElement(0, count: capacity - count)
        memory = grown
        start = 0
    }
}
