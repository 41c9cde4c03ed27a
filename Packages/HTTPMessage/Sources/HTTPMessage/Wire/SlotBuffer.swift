/// A buffer for the field slots of a head during parsing. The parser reuses it for the next head.
///
/// Accessed through an unsafe pointer so that the parser's loop has no reference counting and no exclusivity checks.
final class SlotBuffer {
    let slots: UnsafeMutablePointer<FieldSlot>
    let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
        slots = .allocate(capacity: capacity)
    }

    /// Creates a buffer that contains the first `count` slots of another one.
    init(capacity: Int, copying other: SlotBuffer, count: Int) {
        self.capacity = capacity
        slots = .allocate(capacity: capacity)
        slots.update(from: other.slots, count: count)
    }

    deinit {
        slots.deallocate()
    }
}
