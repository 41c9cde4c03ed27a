/// A parser for the text form of one IPv6 address (RFC 4291 §2.2), without the zone.
struct IPv6TextParser {
    private let bytes: [UInt8]
    private var position = 0
    /// The groups read so far.
    private var groups: [UInt16] = []
    /// The index in ``groups`` where a `::` was; nil if there was none.
    private var gap: Int?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Returns the address as a number; nil if the text is not an address.
    mutating func parse() -> UInt128? {
        // The longest form has 8 × 4 digits and 7 colons, or an IPv4 tail: 45 bytes.
        guard bytes.count >= 2, bytes.count <= 45 else { return nil }
        if bytes.starts(with: [colon, colon]) {
            gap = 0
            position = 2
        }
        while position < bytes.count {
            guard groups.count < 8, readGroup(), readSeparator() else { return nil }
        }
        return assembled()
    }

    private var colon: UInt8 { UInt8(ascii: ":") }

    private mutating func readGroup() -> Bool {
        let start = position
        var value: UInt16 = 0
        while position < bytes.count, let digit = hexadecimalDigit(bytes[position]) {
            if position - start == 4 { return readEmbeddedIPv4(from: start) }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") { return readEmbeddedIPv4(from: start) }
        guard position > start else { return false }
        groups.append(value)
        return true
    }

    /// Reads the last 32 bits, written as an IPv4 address (RFC 4291 §2.2, form 3).
    private mutating func readEmbeddedIPv4(from start: Int) -> Bool {
        guard groups.count <= 6, let tail = IPv4Address(bytes: bytes[start...]) else { return false }
        groups.append(UInt16(tail.rawValue >> 16))
        groups.append(UInt16(tail.rawValue & 0xFFFF))
        position = bytes.count
        return true
    }

    /// Skips `:` or `::`. Of the two, only `::` may end the text.
    private mutating func readSeparator() -> Bool {
        guard position < bytes.count else { return true }
        guard bytes[position] == colon else { return false }
        position += 1
        guard position < bytes.count else { return false }
        if bytes[position] == colon {
            guard gap == nil else { return false }
            gap = groups.count
            position += 1
        }
        return true
    }

    private func assembled() -> UInt128? {
        var all = groups
        if let gap {
            guard groups.count < 8 else { return nil }
            all.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
        }
        guard all.count == 8 else { return nil }
        return all.reduce(0) { $0 << 16 | UInt128($1) }
    }

    private func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
