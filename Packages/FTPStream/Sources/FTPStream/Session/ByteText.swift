/// Numbers in replies.
extension ArraySlice<UInt8> {
    /// The number that these digits are; nil if they are none, or it is too large.
    var number: UInt64? {
        guard !isEmpty, count <= 20, allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt64(String(decoding: self, as: UTF8.self))
    }

    /// Without the blanks at both ends.
    var trimmed: ArraySlice<UInt8> {
        var part = self
        while let first = part.first, first == 0x20 || first == 0x09 { part = part.dropFirst() }
        while let last = part.last, last == 0x20 || last == 0x09 { part = part.dropLast() }
        return part
    }
}
