/// The bytes of one head (or of a trailer section) and where its fields stand, in one allocation.
///
/// Layout of the tail: `slotCapacity` field slots, then `byteCapacity` bytes. The bytes are the head as it is on the
/// wire:
///
///     prefix (start line, if the head was parsed) | field lines | empty line
///     0                                 fieldsStart        fieldsEnd       byteCount
///
/// Field lines follow each other without gaps, so that a line reaches from its slot's name to the next slot's name. What
/// was parsed stays as it was; only lines that are set anew are written in the plain form `Name: value CR LF`. Where what was
/// parsed departs from the strict form, ``Layout/departures`` says so, and the bytes are never sent as they are.
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
        /// What was tolerated when the bytes were parsed.
        var departures: HTTPLeniency

        /// Some value holds the line ends of folded lines.
        @inline(__always)
        var hasFolds: Bool { departures.contains(.foldedLines) }

        /// The bytes have the strict form of RFC 9112 and can be sent as they are.
        @inline(__always)
        var isStrict: Bool { departures.isDisjoint(with: .forms) }

        /// The room for slots and bytes together.
        @inline(__always)
        var size: Int { slotCapacity &* MemoryLayout<FieldSlot>.stride &+ byteCapacity }
    }

    /// A storage with no fields and no prefix: just the empty line.
    static func make(slotCapacity: Int, byteCapacity: Int) -> HeadStorage {
        let storage = allocate(slotCapacity: slotCapacity, byteCapacity: Swift.max(byteCapacity, 2))
        storage.bytes[0] = HTTPGrammar.cr
        storage.bytes[1] = HTTPGrammar.lf
        storage.layout.byteCount = 2
        return storage
    }

    /// Whether so much can be filled in.
    @inline(__always)
    func hasRoom(slots: Int, bytes: Int) -> Bool {
        slots &* MemoryLayout<FieldSlot>.stride &+ bytes <= layout.size
    }

    /// Puts a parsed head in the place of what was there. There must be room for it, and nobody else may refer to this.
    @inline(__always)
    func fill(
        copying bytes: UnsafeRawBufferPointer, slots: UnsafePointer<FieldSlot>, count: Int, fieldsStart: Int,
        fieldsEnd: Int, departures: HTTPLeniency
    ) {
        withUnsafeMutablePointers { layout, tail in
            let size = layout.pointee.size
            layout.pointee = Layout(
                slotCapacity: count, byteCapacity: size &- count &* MemoryLayout<FieldSlot>.stride, fieldCount: count,
                fieldsStart: fieldsStart, fieldsEnd: fieldsEnd, byteCount: bytes.count, departures: departures)
            tail.update(from: slots, count: count)
            if let base = bytes.baseAddress {
                UnsafeMutableRawPointer(tail + count).copyMemory(from: base, byteCount: bytes.count)
            }
        }
    }

    @inline(__always)
    private static func allocate(slotCapacity: Int, byteCapacity: Int) -> HeadStorage {
        let stride = MemoryLayout<FieldSlot>.stride
        let buffer = HeadStorage.create(minimumCapacity: slotCapacity &+ (byteCapacity &+ stride &- 1) / stride) { _ in
            Layout(
                slotCapacity: slotCapacity, byteCapacity: byteCapacity, fieldCount: 0, fieldsStart: 0, fieldsEnd: 0,
                byteCount: 0, departures: .strict)
        }
        return unsafeDowncast(buffer, to: HeadStorage.self)
    }

    /// A copy with room for `slots` more fields and `bytes` more bytes, at least doubled so that appending stays linear.
    func copy(addingSlots slots: Int, bytes added: Int) -> HeadStorage {
        let layout = layout
        let copy = HeadStorage.allocate(
            slotCapacity: layout.fieldCount + Swift.max(slots, layout.fieldCount, 8),
            byteCapacity: layout.byteCount + Swift.max(added, layout.byteCount, 256))
        copy.layout.fieldCount = layout.fieldCount
        copy.layout.fieldsStart = layout.fieldsStart
        copy.layout.fieldsEnd = layout.fieldsEnd
        copy.layout.byteCount = layout.byteCount
        copy.layout.departures = layout.departures
        copy.slots.update(from: self.slots, count: layout.fieldCount)
        copy.bytes.update(from: self.bytes, count: layout.byteCount)
        return copy
    }

    /// The header, reached through a pointer: as a property of a class, it would be checked for exclusive access each
    /// time.
    @inline(__always)
    var layout: Layout {
        get { withUnsafeMutablePointerToHeader { $0.pointee } }
        _modify {
            let pointer = withUnsafeMutablePointerToHeader { $0 }
            yield &pointer.pointee
        }
    }

    // The pointers below stay valid while the storage is referred to; every user holds it in a local or a property.

    @inline(__always)
    var slots: UnsafeMutablePointer<FieldSlot> {
        withUnsafeMutablePointerToElements { $0 }
    }

    @inline(__always)
    var bytes: UnsafeMutablePointer<UInt8> {
        withUnsafeMutablePointers { layout, tail in
            UnsafeMutableRawPointer(tail + layout.pointee.slotCapacity).assumingMemoryBound(to: UInt8.self)
        }
    }

    @inline(__always)
    func slice(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + range.lowerBound, count: range.count)
    }

    /// Appends the field lines in their strict form, without the empty line that ends the section.
    @inline(__always)
    func writeLines(to output: inout [UInt8]) {
        if layout.isStrict {
            output.append(contentsOf: slice(layout.fieldsStart..<layout.fieldsEnd))
        } else {
            writePlainLines(to: &output)
        }
    }

    /// Appends each field as `Name: value CR LF`: folds are one space, as are control characters.
    @inline(never)
    private func writePlainLines(to output: inout [UInt8]) {
        for index in 0..<layout.fieldCount {
            output.append(contentsOf: slice(slots[index].name))
            output.append(HTTPGrammar.colon)
            output.append(HTTPGrammar.space)
            output.append(contentsOf: HTTPGrammar.withoutControls(value(index)))
            output.append(HTTPGrammar.cr)
            output.append(HTTPGrammar.lf)
        }
    }

    /// The whole line of field `index`, with its line end.
    func line(_ index: Int) -> Range<Int> {
        let start = Int(slots[index].nameStart)
        let end = index + 1 < layout.fieldCount ? Int(slots[index + 1].nameStart) : layout.fieldsEnd
        return start..<end
    }

    /// The first field from `start` on with this name.
    @inline(__always)
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

    @inline(__always)
    func firstIndex(of name: StaticString, from start: Int = 0) -> Int? {
        firstIndex(
            of: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), from: start)
    }

    /// The value of field `index`: its bytes, with each fold replaced by one space (RFC 9112 §5.2).
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

    func text(_ index: Int) -> String {
        layout.hasFolds ? HTTPGrammar.text(value(index)) : HTTPGrammar.text(slice(slots[index].value))
    }
}
