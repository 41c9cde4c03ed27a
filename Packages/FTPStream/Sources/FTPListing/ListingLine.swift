/// A line of a listing without its end, and the ranges of its fields, which blanks separate.
struct ListingLine: Sendable {
    /// The most fields that are found. Names are taken from the line and may contain any number of blanks.
    static let maximumFields = 32

    private(set) var bytes: [UInt8] = []
    private(set) var fields: [Range<Int>] = []

    var count: Int { bytes.count }

    init() {}

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        split()
    }

    /// Replaces the line, without the CRs at its end. The fields are empty until ``split()``.
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
        var index = 0
        while fields.count < Self.maximumFields {
            while index < line.count, Self.isBlank(line[index]) { index += 1 }
            if index == line.count { return }
            let start = index
            while index < line.count, !Self.isBlank(line[index]) { index += 1 }
            fields.append(start..<index)
        }
    }

    /// The bytes of a field; empty beyond the last field.
    subscript(field: Int) -> ArraySlice<UInt8> {
        get { field < fields.count ? bytes[fields[field]] : [] }
    }

    /// A field as text.
    func text(_ field: Int) -> String { ListingEntry.text(self[field]) }

    /// The bytes from an index to the end of the line.
    func rest(from index: Int) -> ArraySlice<UInt8> {
        index < bytes.count ? bytes[index...] : []
    }

    /// The bytes after a field and the blanks that follow it.
    func rest(after field: Int) -> ArraySlice<UInt8> {
        field + 1 < fields.count ? bytes[fields[field + 1].lowerBound...] : []
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

extension ArraySlice<UInt8> {
    /// The number that these digits represent; nil if there is another byte, no digit, or the number is too large.
    package var number: UInt64? {
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

    /// The number that digits in groups of three represent: `1,234,567`; nil if there is another byte.
    func groupedNumber(_ separator: Unicode.Scalar) -> UInt64? {
        let groups = split(separator: UInt8(ascii: separator), omittingEmptySubsequences: false)
        guard groups.count > 1, (1...3).contains(groups[0].count), groups.dropFirst().allSatisfy({ $0.count == 3 })
        else { return nil }
        return ArraySlice(groups.joined()).number
    }

    /// The bytes of a rounded size, as `ls -h` prints it: `33.5k`, `4,0K`, `12M`, `0B`. Units are powers of 1024.
    var roundedSize: UInt64? {
        guard let unit = last.flatMap({ Array("BKMGTP".utf8).firstIndex(of: $0 & 0xDF) }) else { return nil }
        let digits = dropLast()
        let point = digits.firstIndex { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ",") } ?? digits.endIndex
        guard let whole = digits[..<point].number, whole < 1 << 13 else { return nil }
        let scale = UInt64(1) << (10 * UInt64(unit))
        if point == digits.endIndex { return whole * scale }
        guard digits.distance(from: point, to: digits.endIndex) == 2, let tenth = digits[(point + 1)...].number
        else { return nil }
        return whole * scale + tenth * scale / 10
    }

    func isText(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { elementsEqual($0) }
    }

    /// Whether the bytes are equal to a word in lower case, ignoring the case of ASCII letters.
    func isWord(_ word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount && beginsWithWord(word)
    }

    /// Whether the bytes begin with a word in lower case, ignoring the case of ASCII letters.
    func beginsWithWord(_ word: StaticString) -> Bool {
        guard count >= word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { word in
            zip(self, word).allSatisfy { $0 == $1 || (0x41...0x5A).contains($0) && $0 | 0x20 == $1 }
        }
    }

    /// The bytes without blanks at both ends.
    package var trimmed: ArraySlice<UInt8> {
        var part = self
        while let first = part.first, ListingLine.isBlank(first) { part = part.dropFirst() }
        while let last = part.last, ListingLine.isBlank(last) { part = part.dropLast() }
        return part
    }

    var isBlank: Bool { allSatisfy(ListingLine.isBlank) }
}

/// A scanner that takes numbers and separators from the beginning of a field.
///
/// ```swift
/// var scan = FieldScanner(field)              // 09:05
/// guard let hour = scan.number(digits: 1...2), scan.take(":"), let minute = scan.number(digits: 2...2) else { return }
/// ```
struct FieldScanner {
    private let bytes: ArraySlice<UInt8>
    private var index: Int

    init(_ field: ArraySlice<UInt8>) {
        bytes = field
        index = field.startIndex
    }

    var isAtEnd: Bool { index == bytes.endIndex }

    /// The bytes that have not been taken.
    var rest: ArraySlice<UInt8> { bytes[index...] }

    /// Takes all digits that come next, as a number. If their count is out of range, it takes nothing and returns nil.
    mutating func number(digits count: ClosedRange<Int>) -> Int? {
        let run = digitCount
        return count.contains(run) ? take(digits: run) : nil
    }

    /// Takes exactly `count` digits as a number, even if more follow. If there are fewer, it takes nothing and returns nil.
    mutating func take(digits count: Int) -> Int? {
        guard bytes.endIndex - index >= count else { return nil }
        var value = 0
        for byte in bytes[index..<(index + count)] {
            guard FieldScanner.isDigit(byte) else { return nil }
            value = value * 10 + Int(byte - 0x30)
        }
        index += count
        return value
    }

    /// The number of digits that come next.
    var digitCount: Int {
        var end = index
        while end < bytes.endIndex, FieldScanner.isDigit(bytes[end]) { end += 1 }
        return end - index
    }

    /// Takes a character if it is next; returns whether it was.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard index < bytes.endIndex, bytes[index] == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    /// Takes a character and the bytes before it, which it returns. If the character is missing, it takes nothing and returns
    /// nil.
    mutating func take(upTo character: Unicode.Scalar) -> ArraySlice<UInt8>? {
        guard let end = bytes[index...].firstIndex(of: UInt8(ascii: character)) else { return nil }
        defer { index = end + 1 }
        return bytes[index..<end]
    }

    /// Takes all digits that come next.
    mutating func skipDigits() { index += digitCount }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
}
