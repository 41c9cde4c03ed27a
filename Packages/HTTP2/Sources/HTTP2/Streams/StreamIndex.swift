/// Finds the place of a stream in an array by the stream's identifier: a hash table with open addressing.
struct StreamIndex: Sendable {
    private struct Slot: BitwiseCopyable {
        /// ``StreamID/connection`` if the slot is free.
        var stream: StreamID
        var place: UInt32

        static let free = Slot(stream: .connection, place: 0)
    }

    /// At most half of the slots are used.
    private var slots = [Slot](repeating: .free, count: 16)

    /// The number of streams.
    private(set) var count = 0

    /// Returns the place of a stream, or nil if it is not in the index.
    @inline(__always)
    func place(of stream: StreamID) -> Int? {
        var slot = firstSlot(of: stream)
        while true {
            let entry = slots[slot]
            if entry.stream == stream, stream != .connection { return Int(entry.place) }
            if entry.stream == .connection { return nil }
            slot = (slot &+ 1) & (slots.count &- 1)
        }
    }

    /// Adds a stream, which is not in the index.
    mutating func insert(_ stream: StreamID, place: Int) {
        count += 1
        if count * 2 > slots.count { grow() }
        enter(Slot(stream: stream, place: UInt32(place)))
    }

    /// Removes a stream, which is in the index.
    mutating func remove(_ stream: StreamID) {
        let mask = slots.count - 1
        var hole = firstSlot(of: stream)
        while slots[hole].stream != stream { hole = (hole + 1) & mask }
        // Later entries of the same run move forward, unless that would put them before their first slot.
        var slot = (hole + 1) & mask
        while slots[slot].stream != .connection {
            if (slot - firstSlot(of: slots[slot].stream)) & mask >= (slot - hole) & mask {
                slots[hole] = slots[slot]
                hole = slot
            }
            slot = (slot + 1) & mask
        }
        slots[hole] = .free
        count -= 1
    }

    /// Multiplication spreads identifiers, also those that a peer chooses. Those that follow each other have different slots.
    @inline(__always)
    func firstSlot(of stream: StreamID) -> Int {
        Int(truncatingIfNeeded: (stream.rawValue &* 0x61C8_8647) &>> 17) & (slots.count &- 1)
    }

    private mutating func enter(_ entry: Slot) {
        var slot = firstSlot(of: entry.stream)
        while slots[slot].stream != .connection { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = entry
    }

    private mutating func grow() {
        let entries = slots
        slots = [Slot](repeating: .free, count: entries.count * 2)
        for entry in entries where entry.stream != .connection { enter(entry) }
    }
}
