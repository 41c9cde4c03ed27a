internal import HPACK

/// The classes of the bytes in fields.
enum FieldBytes {
    /// Whether a byte can be part of a token (RFC 9110 §5.6.2).
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Whether the bytes are a token.
    static func isToken(_ bytes: RawSpan) -> Bool {
        for index in 0..<bytes.byteCount where !isToken(bytes.byte(at: index)) { return false }
        return bytes.byteCount > 0
    }

    /// Whether the bytes are `ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )` (RFC 3986 §3.1).
    static func isScheme(_ bytes: RawSpan) -> Bool {
        for index in 0..<bytes.byteCount {
            let byte = bytes.byte(at: index)
            if (byte | 0x20) &- UInt8(ascii: "a") < 26 { continue }
            let isLater =
                byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
            if index == 0 || !isLater { return false }
        }
        return bytes.byteCount > 0
    }

    /// Whether a `:path` has the origin form, or is `*` with OPTIONS. The bytes are not checked.
    static func isPath(_ path: RawSpan, _ method: RawSpan) -> Bool {
        guard path.byteCount > 0 else { return false }
        return path.byte(at: 0) == UInt8(ascii: "/") || path.isEqual("*") && method.isEqual("OPTIONS")
    }

    /// Returns the number that the bytes are in decimal, or nil. At most 18 digits.
    static func number(_ bytes: RawSpan) -> Int64? {
        guard (1...18).contains(bytes.byteCount) else { return nil }
        var number: Int64 = 0
        for index in 0..<bytes.byteCount {
            let digit = bytes.byte(at: index) &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number * 10 + Int64(digit)
        }
        return number
    }
}

extension RawSpan {
    /// Whether the bytes are those of a literal.
    @inline(__always)
    func isEqual(_ literal: StaticString) -> Bool {
        isEqual(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount).bytes)
    }

    /// Whether the bytes are those of a literal, ignoring the case of ASCII letters.
    @inline(__always)
    func isEqualIgnoringCase(_ literal: StaticString) -> Bool {
        isEqualIgnoringCase(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount).bytes)
    }

    /// Whether the bytes contain a `#`, which begins a fragment, or one above 0x7F. No path contains either.
    var hasNumberSignOrHighByte: Bool {
        var found: UInt64 = 0
        var offset = 0
        while offset &+ 8 <= byteCount {
            let word = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
            // A byte of the first sum is 0 where there is a number sign; borrows reach only the bytes above it.
            let signs = word ^ 0x2323_2323_2323_2323
            found |= word | (signs &- 0x0101_0101_0101_0101) & ~signs
            offset &+= 8
        }
        if found & 0x8080_8080_8080_8080 != 0 { return true }
        while offset < byteCount {
            let byte = byte(at: offset)
            if byte == UInt8(ascii: "#") || byte > 0x7F { return true }
            offset &+= 1
        }
        return false
    }

    /// Whether the bytes contain a letter from `A` to `Z`.
    var containsCapital: Bool { withUnsafeBytes { $0.contains { $0 &- UInt8(ascii: "A") < 26 } } }

    /// The bytes as text.
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
