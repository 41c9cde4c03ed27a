/// The dynamic table (RFC 7541 §2.3.2): the most recent entries that fit into a maximum size.
///
/// Entries have numbers in the order of their insertion. Entry `number` is in the slot `number & mask` of a ring. The bytes of the
/// entries follow each other in one array, each name followed by its value; once the array is full, those that are left move to its
/// front.
struct DynamicTable: Sendable {
    /// The sum of the sizes of all entries.
    private(set) var size = 0

    /// The maximum of ``size`` that the encoder has chosen (RFC 7541 §4.2).
    private(set) var maximumSize: Int

    /// The number that the next entry gets: as many entries have been inserted since the beginning.
    private(set) var nextNumber = 0

    /// The number of entries.
    private(set) var count = 0

    private var slots: [Slot] = []
    private var bytes: [UInt8] = []
    /// The offset in `bytes` behind the newest entry.
    private var end = 0
    /// By how much the bytes have been moved so far: the difference between the positions in slots and offsets in `bytes`.
    private var moved = 0

    private struct Slot: BitwiseCopyable {
        var position: Int
        var nameLength: UInt32
        var valueLength: UInt32

        var size: Int { Int(nameLength) + Int(valueLength) + DynamicTable.overhead }
    }

    /// What an entry counts beyond the bytes of its name and value (RFC 7541 §4.1).
    static let overhead = 32

    init(maximumSize: Int) {
        self.maximumSize = maximumSize
    }

    /// Changes the maximum size, and evicts the oldest entries until the rest fits (RFC 7541 §4.3).
    mutating func setMaximumSize(_ size: Int) {
        maximumSize = size
        evict(until: size)
    }

    /// Removes all entries.
    mutating func removeAll() {
        evict(until: 0)
    }

    /// Inserts an entry, after evicting the oldest ones until it fits (RFC 7541 §4.4). An entry that is larger than the table empties it.
    ///
    /// Returns the number of the entry, or nil if it is too large.
    @discardableResult
    mutating func insert(name: RawSpan, value: RawSpan) -> Int? {
        let length = name.byteCount + value.byteCount
        let size = length + Self.overhead
        evict(until: max(0, maximumSize - size))
        guard size <= maximumSize else { return nil }
        makeRoom(for: length)
        if count == slots.count { growSlots() }
        let start = end
        var span = bytes.mutableSpan
        var memory = span.mutableBytes
        memory.copy(name, to: start)
        memory.copy(value, to: start + name.byteCount)
        slots[nextNumber & (slots.count - 1)] = Slot(
            position: start + moved, nameLength: UInt32(name.byteCount), valueLength: UInt32(value.byteCount))
        end += length
        self.size += size
        count += 1
        nextNumber += 1
        return nextNumber - 1
    }

    /// The bytes of all entries.
    var allBytes: [UInt8] {
        _read { yield bytes }
    }

    /// The position of an entry in ``allBytes``.
    func entry(_ number: Int) -> TableEntry {
        precondition(number < nextNumber && number >= nextNumber &- count)
        let slot = slots[number & (slots.count &- 1)]
        return TableEntry(
            isStatic: false, start: slot.position &- moved, nameLength: Int(slot.nameLength),
            valueLength: Int(slot.valueLength))
    }

    private mutating func evict(until limit: Int) {
        while size > limit {
            size -= slots[(nextNumber - count) & (slots.count - 1)].size
            count -= 1
        }
    }

    /// Makes room for `length` bytes at the end, by moving the bytes of the entries to the front of the array.
    ///
    /// The array has twice the size that they need, so that each byte is moved once on average.
    private mutating func makeRoom(for length: Int) {
        guard end + length > bytes.count else { return }
        let start = count == 0 ? end : slots[(nextNumber - count) & (slots.count - 1)].position - moved
        let used = end - start
        var room = max(bytes.count, 256)
        while room < 2 * (used + length) { room *= 2 }
        bytes += [UInt8](repeating: 0, count: room - bytes.count)
        bytes.withUnsafeMutableBytes { bytes in
            bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + used]))
        }
        moved += start
        end = used
    }

    private mutating func growSlots() {
        var larger = [Slot](
            repeating: Slot(position: 0, nameLength: 0, valueLength: 0), count: max(16, slots.count * 2))
        for number in nextNumber - count..<nextNumber {
            larger[number & (larger.count - 1)] = slots[number & (slots.count - 1)]
        }
        slots = larger
    }
}

/// The position of an entry in the bytes of its table: its name, followed by its value.
struct TableEntry: BitwiseCopyable, Sendable {
    var isStatic: Bool
    var start: Int
    var nameLength: Int
    var valueLength: Int

    var name: Range<Int> { Range(uncheckedBounds: (start, start &+ nameLength)) }

    var value: Range<Int> { Range(uncheckedBounds: (start &+ nameLength, start &+ nameLength &+ valueLength)) }
}
