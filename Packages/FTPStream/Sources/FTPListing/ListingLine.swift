/// One line of a listing without its end, and where its fields are: the runs between blanks.
struct ListingLine: Sendable {
    /// So many fields are found; a name with more blanks than that is still whole, as it is taken from the line.
    static let fieldLimit = 32

    private(set) var bytes: [UInt8] = []
    private(set) var fields: [Range<Int>] = []

    var count: Int { bytes.count }

    init() {}

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        split()
    }

    /// Takes another line, without the CRs at its end.
    mutating func set(_ line: RawSpan) {
        var end = line.byteCount
        while end > 0, line.unsafeLoad(fromUncheckedByteOffset: end - 1, as: UInt8.self) == UInt8(ascii: "\r") {
            end -= 1
        }
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
        line.extracting(..<end).withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    /// Finds the fields.
    mutating func split() {
        var fields: [Range<Int>] = []
        swap(&fields, &self.fields)
        fields.removeAll(keepingCapacity: true)
        defer { self.fields = fields }
        let line = bytes.span
        var place = 0
        while fields.count < Self.fieldLimit {
            while place < line.count, Self.isBlank(line[place]) { place += 1 }
            if place == line.count { return }
            let start = place
            while place < line.count, !Self.isBlank(line[place]) { place += 1 }
            fields.append(start..<place)
        }
    }

    /// A field's bytes; none beyond the last.
    subscript(field: Int) -> ArraySlice<UInt8> {
        @inline(__always) get { field < fields.count ? bytes[fields[field]] : [] }
    }

    /// A field as text.
    func text(_ field: Int) -> String { ListingEntry.text(self[field]) }

    /// Everything from a place on.
    func rest(from place: Int) -> ArraySlice<UInt8> {
        place < bytes.count ? bytes[place...] : []
    }

    /// Everything behind a field and the blanks after it.
    func rest(after field: Int) -> ArraySlice<UInt8> {
        field + 1 < fields.count ? bytes[fields[field + 1].lowerBound...] : []
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

extension ArraySlice<UInt8> {
    /// The number that these digits are; nil if they are none, or it is too large.
    var number: UInt64? {
        guard !isEmpty else { return nil }
        var value: UInt64 = 0
        for byte in self {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            let (product, carries) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = product.addingReportingOverflow(UInt64(byte - 0x30))
            if carries || overflows { return nil }
            value = sum
        }
        return value
    }

    /// A number of at most four digits.
    var smallNumber: Int? { count <= 4 ? number.map(Int.init) : nil }

    func isText(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { elementsEqual($0) }
    }

    /// Compares with a word in lower case; the case of ASCII letters does not matter.
    func isWord(_ word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount && beginsWithWord(word)
    }

    /// Whether it begins with a word in lower case; the case of ASCII letters does not matter.
    func beginsWithWord(_ word: StaticString) -> Bool {
        guard count >= word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { word in
            zip(self, word).allSatisfy { $0 == $1 || (0x41...0x5A).contains($0) && $0 | 0x20 == $1 }
        }
    }

    /// The first place of a byte.
    func place(of byte: UInt8) -> Int? { firstIndex(of: byte) }

    /// Without the blanks at both ends.
    var trimmed: ArraySlice<UInt8> {
        var part = self
        while let first = part.first, ListingLine.isBlank(first) { part = part.dropFirst() }
        while let last = part.last, ListingLine.isBlank(last) { part = part.dropLast() }
        return part
    }

    var isBlank: Bool { allSatisfy(ListingLine.isBlank) }
}
