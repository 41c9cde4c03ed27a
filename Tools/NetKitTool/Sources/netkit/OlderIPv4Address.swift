/// The forms of IPv4 addresses that browsers and curl accept in URLs besides the dotted quad: fewer parts, of which the last one fills
/// the remaining bytes, and octal or hexadecimal numbers (WHATWG URL Standard, "IPv4 parser").
enum OlderIPv4Address {
    /// The dotted quad of such a form; nil for a dotted quad itself, and for any other text.
    ///
    /// ```swift
    /// OlderIPv4Address.dottedQuad("127.1")        // 127.0.0.1
    /// OlderIPv4Address.dottedQuad("0x7f000001")   // 127.0.0.1
    /// ```
    static func dottedQuad(_ host: String) -> String? {
        var parts = host.split(separator: ".", omittingEmptySubsequences: false)
        if parts.last?.isEmpty == true, parts.count > 1 { parts.removeLast() }
        let numbers = parts.map(number)
        guard (1...4).contains(parts.count), let last = numbers.last ?? nil else { return nil }
        let room = 8 * (5 - parts.count)
        guard last < 1 << UInt64(room) else { return nil }
        var address = last
        for (index, number) in numbers.dropLast().enumerated() {
            guard let number, number < 256 else { return nil }
            address |= number << UInt64(24 - 8 * index)
        }
        let quad = [24, 16, 8, 0].map { "\(address >> UInt64($0) & 255)" }.joined(separator: ".")
        return quad == host ? nil : quad
    }

    /// A decimal, octal (`0…`) or hexadecimal (`0x…`) number below 2^32.
    private static func number(_ text: Substring) -> UInt64? {
        let isHex = text.lowercased().hasPrefix("0x")
        let digits = isHex ? text.dropFirst(2) : text.count > 1 && text.hasPrefix("0") ? text.dropFirst() : text
        if isHex, digits.isEmpty { return 0 }
        let isOctal = !isHex && text.count > 1 && text.hasPrefix("0")
        // The initializer would accept a sign.
        guard digits.utf8.first.map({ $0 != 0x2B && $0 != 0x2D }) == true else { return nil }
        return UInt64(digits, radix: isHex ? 16 : isOctal ? 8 : 10).flatMap { $0 < 1 << 32 ? $0 : nil }
    }
}
