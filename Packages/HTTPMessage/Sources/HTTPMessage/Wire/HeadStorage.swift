/// The bytes of a head or trailer section and the positions of its fields, in one allocation.
///
/// The tail consists of `slotCapacity` field slots and `byteCapacity` bytes. The bytes are the head in wire format:
///
///     prefix (start line, if the head was parsed) | field lines | empty line
///     0                                 fieldsStart        fieldsEnd       byteCount
///
/// Field lines are contiguous: a line extends from its own slot's name to the next slot's name. Parsed lines are kept as
/// received; lines that are set are stored as `Name: value CR LF`. If parsed lines deviate from the strict syntax,
/// ``Layout/toleratedDeviations`` records it, and the bytes are rewritten before they are sent.
///
/// A storage is changed only while a single value refers to it (`isKnownUniquelyReferenced` in ``HTTPFields``).
final class HeadStorage: ManagedBuffer<HeadStorage.Layout, FieldSlot> {
    struct Layout {
        var slotCapacity: Int
        var byteCapacity: Int
        var fieldCount: Int
        var fieldsStart: Int
        var fieldsEnd: Int
        var byteCount: Int
        /// The start line of a parsed head.
        var startLine = StartLine()
        /// The leniencies that parsing the bytes required.
        var toleratedDeviations: HTTPLeniency

        /// Whether a value may contain the line endings of folded lines.
        var hasFolds: Bool { toleratedDeviations.contains(.foldedLines) }

        /// Whether the bytes conform to the strict syntax of RFC 9112 and can be sent unchanged.
        var isStrict: Bool { toleratedDeviations.isDisjoint(with: .syntax) }

        /// The size of the tail in bytes: slots and bytes together.
        var size: Int { slotCapacity &* MemoryLayout<FieldSlot>.stride &+ byteCapacity }
    }

    /// Creates a storage without prefix and fields, which contains only the empty line.
    static func make(slotCapacity: Int, byteCapacity: Int) -> HeadStorage {
        let storage = allocate(slotCapacity: slotCapacity, byteCapacity: Swift.max(byteCapacity, 2))
        storage.bytes[0] = HTTPGrammar.cr
        storage.bytes[1] = HTTPGrammar.lf
        storage.layout.byteCount = 2
        return storage
    }

    /// Whether ``fill(copying:slots:count:fieldsStart:fieldsEnd:startLine:toleratedDeviations:)`` can store this many slots and bytes.
    func hasCapacity(slots: Int, bytes: Int) -> Bool {
        slots &* MemoryLayout<FieldSlot>.stride &+ bytes <= layout.size
    }

    /// Replaces the contents with a parsed head.
    ///
    /// The capacity must be sufficient, and the caller must have the only reference to the storage.
    func fill(
        copying bytes: UnsafeRawBufferPointer, slots: UnsafePointer<FieldSlot>, count: Int, fieldsStart: Int,
        fieldsEnd: Int, startLine: StartLine, toleratedDeviations: HTTPLeniency
    ) {
        withUnsafeMutablePointers { layout, tail in
            let size = layout.pointee.size
            layout.pointee = Layout(
                slotCapacity: count, byteCapacity: size &- count &* MemoryLayout<FieldSlot>.stride, fieldCount: count,
                fieldsStart: fieldsStart, fieldsEnd: fieldsEnd, byteCount: bytes.count,
                startLine: startLine, toleratedDeviations: toleratedDeviations)
            tail.update(from: slots, count: count)
            if let base = bytes.baseAddress {
                UnsafeMutableRawPointer(tail + count).copyMemory(from: base, byteCount: bytes.count)
            }
        }
    }

    private static func allocate(slotCapacity: Int, byteCapacity: Int) -> HeadStorage {
        let stride = MemoryLayout<FieldSlot>.stride
        let buffer = HeadStorage.create(minimumCapacity: slotCapacity &+ (byteCapacity &+ stride &- 1) / stride) { _ in
            Layout(
                slotCapacity: slotCapacity, byteCapacity: byteCapacity, fieldCount: 0, fieldsStart: 0, fieldsEnd: 0,
                byteCount: 0, toleratedDeviations: .strict)
        }
        return unsafeDowncast(buffer, to: HeadStorage.self)
    }

    /// Returns a copy with capacity for `slots` more fields and `added` more bytes.
    ///
    /// The capacity is at least doubled, so that repeated appending takes linear time.
    func copy(addingSlots slots: Int, bytes added: Int) -> HeadStorage {
        let layout = layout
        let copy = HeadStorage.allocate(
            slotCapacity: layout.fieldCount + Swift.max(slots, layout.fieldCount, 8),
            byteCapacity: layout.byteCount + Swift.max(added, layout.byteCount, 256))
        copy.layout.fieldCount = layout.fieldCount
        copy.layout.fieldsStart = layout.fieldsStart
        copy.layout.fieldsEnd = layout.fieldsEnd
        copy.layout.byteCount = layout.byteCount
        copy.layout.startLine = layout.startLine
        copy.layout.toleratedDeviations = layout.toleratedDeviations
        copy.slots.update(from: self.slots, count: layout.fieldCount)
        copy.bytes.update(from: self.bytes, count: layout.byteCount)
        return copy
    }

    /// The header. Accessed through a pointer, because each access to a class property checks for exclusivity.
    var layout: Layout {
        get { withUnsafeMutablePointerToHeader { $0.pointee } }
        _modify {
            let pointer = withUnsafeMutablePointerToHeader { $0 }
            yield &pointer.pointee
        }
    }

    // The pointers below are valid while the storage is referenced. All users hold it in a local variable or a property.

    var slots: UnsafeMutablePointer<FieldSlot> {
        withUnsafeMutablePointerToElements { $0 }
    }

    var bytes: UnsafeMutablePointer<UInt8> {
        withUnsafeMutablePointers { layout, tail in
            UnsafeMutableRawPointer(tail + layout.pointee.slotCapacity).assumingMemoryBound(to: UInt8.self)
        }
    }

    func slice(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + range.lowerBound, count: range.count)
    }

    /// Appends the field lines in strict syntax, without the empty line that ends the section.
    func writeLines(to output: inout [UInt8]) {
        if layout.fieldCount == 0 { return }
        if layout.isStrict {
            output.append(contentsOf: slice(layout.fieldsStart..<layout.fieldsEnd))
        } else {
            writeStrictLines(to: &output)
        }
    }

    /// Appends each field as `Name: value CR LF`. Each fold and each control character becomes a space.
    @inline(never)
    private func writeStrictLines(to output: inout [UInt8]) {
        for index in 0..<layout.fieldCount {
            output.append(contentsOf: slice(slots[index].name))
            output.append(HTTPGrammar.colon)
            output.append(HTTPGrammar.space)
            output.append(contentsOf: strictValue(index))
            output.append(HTTPGrammar.cr)
            output.append(HTTPGrammar.lf)
        }
    }

    /// Returns the value of field `index` in strict syntax: each fold and each control character is a space, and none is at an end.
    func strictValue(_ index: Int) -> [UInt8] {
        Array(HTTPGrammar.trimmed(HTTPGrammar.replacingControls(value(index))))
    }

    /// Moves the fields away from the front, to make room for a start line. The capacity must be sufficient.
    func moveFields(by distance: Int) {
        UnsafeMutableRawPointer(bytes + distance).copyMemory(from: bytes, byteCount: layout.byteCount)
        for index in 0..<layout.fieldCount { slots[index] = slots[index].moved(by: distance) }
        layout.fieldsStart += distance
        layout.fieldsEnd += distance
        layout.byteCount += distance
    }

    /// Returns the range of the line of field `index`, including its line ending.
    func line(_ index: Int) -> Range<Int> {
        let start = Int(slots[index].nameStart)
        let end = index + 1 < layout.fieldCount ? Int(slots[index + 1].nameStart) : layout.fieldsEnd
        return start..<end
    }

    /// Returns the index of the first field with this name, searching from index `start`.
    func firstIndex(of name: UnsafeBufferPointer<UInt8>, from start: Int = 0) -> Int? {
        withUnsafeMutablePointers { layout, tail in
            let bytes = UnsafeMutableRawPointer(tail + layout.pointee.slotCapacity)
            let count = layout.pointee.fieldCount
            var index = start
            while index < count {
                let slot = tail[index]
                if Int(slot.nameEnd &- slot.nameStart) == name.count {
                    guard let base = name.baseAddress else { return nil }
                    if HTTPGrammar.equalsIgnoringCase(bytes + Int(slot.nameStart), base, count: name.count) {
                        return index
                    }
                }
                index &+= 1
            }
            return nil
        }
    }

    func firstIndex(of name: StaticString, from start: Int = 0) -> Int? {
        firstIndex(
            of: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), from: start)
    }

    /// Returns the bytes of the value of field `index`, with each fold replaced by a space (RFC 9112 §5.2).
    func value(_ index: Int) -> [UInt8] {
        let raw = slice(slots[index].value)
        guard layout.hasFolds else { return Array(raw) }
        var value: [UInt8] = []
        value.reserveCapacity(raw.count)
        var i = 0
        while i < raw.count {
            if raw[i] == HTTPGrammar.cr || raw[i] == HTTPGrammar.lf {
                while let last = value.last, HTTPGrammar.isSpaceOrTab(last) { value.removeLast() }
                while i < raw.count, raw[i] <= HTTPGrammar.space { i += 1 }
                if !value.isEmpty { value.append(HTTPGrammar.space) }
            } else {
                value.append(raw[i])
                i += 1
            }
        }
        return value
    }

    /// Returns the value of field `index` as a string.
    func text(_ index: Int) -> String {
        layout.hasFolds ? HTTPGrammar.text(value(index)) : HTTPGrammar.text(slice(slots[index].value))
    }
}

/// The position of a field: offsets into the bytes of its head. The value excludes leading and trailing whitespace.
struct FieldSlot: BitwiseCopyable {
    var nameStart: UInt32
    var nameEnd: UInt32
    var valueStart: UInt32
    var valueEnd: UInt32

    init(name: Range<Int>, value: Range<Int>) {
        nameStart = UInt32(truncatingIfNeeded: name.lowerBound)
        nameEnd = UInt32(truncatingIfNeeded: name.upperBound)
        valueStart = UInt32(truncatingIfNeeded: value.lowerBound)
        valueEnd = UInt32(truncatingIfNeeded: value.upperBound)
    }

    var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }

    var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }

    /// Returns the position after `distance` bytes were inserted (or, if negative, removed) before the field.
    func moved(by distance: Int) -> FieldSlot {
        let distance = UInt32(truncatingIfNeeded: distance)
        var slot = self
        slot.nameStart &+= distance
        slot.nameEnd &+= distance
        slot.valueStart &+= distance
        slot.valueEnd &+= distance
        return slot
    }
}

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
