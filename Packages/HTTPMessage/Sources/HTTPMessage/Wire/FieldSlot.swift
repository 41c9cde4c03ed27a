/// The position of a field: offsets into the bytes of its head. The value excludes leading and trailing whitespace.
struct FieldSlot: BitwiseCopyable {
    var nameStart: UInt32
    var nameEnd: UInt32
    var valueStart: UInt32
    var valueEnd: UInt32

    @inline(__always)
    init(name: Range<Int>, value: Range<Int>) {
        nameStart = UInt32(truncatingIfNeeded: name.lowerBound)
        nameEnd = UInt32(truncatingIfNeeded: name.upperBound)
        valueStart = UInt32(truncatingIfNeeded: value.lowerBound)
        valueEnd = UInt32(truncatingIfNeeded: value.upperBound)
    }

    @inline(__always)
    var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }

    @inline(__always)
    var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }

    /// Returns the position after `distance` bytes were inserted (or, if negative, removed) before the field.
    @inline(__always)
    func moved(by distance: Int) -> FieldSlot {
        FieldSlot(
            name: name.lowerBound + distance..<name.upperBound + distance,
            value: value.lowerBound + distance..<value.upperBound + distance)
    }
}
