/// Room for the field slots of a head while it is parsed; kept by the parser and used again for the next head.
///
/// Reached through a plain pointer so that the parser's loop is free of reference counts and exclusivity checks.
final class SlotBuffer {
    let slots: UnsafeMutablePointer<FieldSlot>
    let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
        slots = .allocate(capacity: capacity)
    }

    /// A buffer of at least `capacity` with the first `count` slots of `other`.
    init(capacity: Int, copying other: SlotBuffer, count: Int) {
        self.capacity = capacity
        slots = .allocate(capacity: capacity)
        slots.update(from: other.slots, count: count)
    }

    deinit {
        slots.deallocate()
    }
}
