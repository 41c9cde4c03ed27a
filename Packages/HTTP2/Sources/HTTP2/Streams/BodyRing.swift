/// The bytes of a message that have arrived and that the program has not read.
///
/// The memory is taken when the first byte arrives, and grows with what is unread, at most to the window of the stream.
struct BodyRing: Sendable {
    private var memory: [UInt8] = []
    private var start = 0

    /// The number of bytes.
    private(set) var count = 0

    /// The memory that a ring keeps for the next stream.
    static let keptCapacity = 16 * 1024

    /// The bytes of memory that the ring occupies.
    var capacity: Int { memory.count }

    /// Appends bytes. The memory does not exceed `limit`, which is the number of bytes that there can be.
    mutating func append(_ bytes: RawSpan, limit: Int) {
        let added = bytes.byteCount
        if added == 0 { return }
        if count + added > memory.count { grow(to: count + added, limit: limit) }
        let end = start + count < memory.count ? start + count : start + count - memory.count
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
        count -= taken
        start = count == 0 ? 0 : first < taken ? taken - first : start + taken
        if start == memory.count { start = 0 }
        return taken
    }

    /// Removes all bytes, and the memory if there is much of it.
    mutating func removeAll() {
        start = 0
        count = 0
        if memory.count > Self.keptCapacity { memory = [] }
    }

    /// Frees the memory beyond what the bytes need, when no more will come.
    mutating func trim() {
        if count == 0 { return removeAll() }
        if memory.count > max(count, Self.keptCapacity) { move(to: count) }
    }

    /// Moves the bytes to more memory: twice as much, unless that is too little or too much.
    private mutating func grow(to needed: Int, limit: Int) {
        move(to: max(needed, min(max(1024, memory.count * 2), limit)))
    }

    private mutating func move(to capacity: Int) {
        var moved = [UInt8](repeating: 0, count: capacity)
        let (first, count) = (min(count, memory.count - start), count)
        moved.withUnsafeMutableBytes { moved in
            memory.withUnsafeBytes { memory in
                moved[..<first].copyBytes(from: memory[start..<start + first])
                moved[first..<count].copyBytes(from: memory[..<(count - first)])
            }
        }
        memory = moved
        start = 0
    }
}
