/// Takes numbers and signs off the front of a field.
///
/// ```swift
/// var scan = FieldScanner(field)              // 09:05
/// guard let hour = scan.number(digits: 1...2), scan.take(":"), let minute = scan.number(digits: 2...2) else { … }
/// ```
struct FieldScanner {
    private let bytes: ArraySlice<UInt8>
    private var place: Int

    init(_ field: ArraySlice<UInt8>) {
        bytes = field
        place = field.startIndex
    }

    var isAtEnd: Bool { place == bytes.endIndex }

    /// What has not been taken.
    var rest: ArraySlice<UInt8> { bytes[place...] }

    /// All digits that come next, as a number; nil, and nothing is taken, if they are fewer or more than that.
    mutating func number(digits count: ClosedRange<Int>) -> Int? {
        let run = digitCount
        return count.contains(run) ? take(digits: run) : nil
    }

    /// So many digits as a number, whatever follows; nil, and nothing is taken, if there are fewer.
    mutating func take(digits count: Int) -> Int? {
        guard bytes.endIndex - place >= count else { return nil }
        var value = 0
        for byte in bytes[place..<(place + count)] {
            guard FieldScanner.isDigit(byte) else { return nil }
            value = value * 10 + Int(byte - 0x30)
        }
        place += count
        return value
    }

    /// How many digits come next.
    var digitCount: Int {
        var end = place
        while end < bytes.endIndex, FieldScanner.isDigit(bytes[end]) { end += 1 }
        return end - place
    }

    /// Takes a byte if it is next; true if it was.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard place < bytes.endIndex, bytes[place] == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }

    /// Takes what comes before a byte, and the byte; nil, and nothing is taken, if it is not there.
    mutating func take(upTo character: Unicode.Scalar) -> ArraySlice<UInt8>? {
        guard let end = bytes[place...].firstIndex(of: UInt8(ascii: character)) else { return nil }
        defer { place = end + 1 }
        return bytes[place..<end]
    }

    /// Takes digits as long as there are any.
    mutating func skipDigits() { place += digitCount }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
}
