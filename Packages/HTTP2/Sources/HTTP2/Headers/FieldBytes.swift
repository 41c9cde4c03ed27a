internal import HPACK
internal import HTTPMessage

/// The classes of the bytes in fields.
enum FieldBytes {
    /// Whether a text is a token (RFC 9110 §5.6.2). HTTPMessage knows the grammar: each token is a method (RFC 9110 §9.1).
    static func isToken(_ text: String) -> Bool { HTTPMethod(text) != nil }

    /// Whether the bytes are `ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )` (RFC 3986 §3.1).
    static func isScheme(_ bytes: RawSpan) -> Bool {
        if bytes.isEqual("https") || bytes.isEqual("http") { return true }
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

    /// Whether the bytes are those of a literal in lower case, ignoring the case of ASCII letters.
    @inline(__always)
    func isEqualIgnoringCase(_ literal: StaticString) -> Bool {
        isEqualIgnoringCase(
            lowercase: UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount).bytes)
    }

    /// Whether the bytes contain a `#`, which begins a fragment, or one above 0x7F. No path contains either.
    var hasNumberSignOrHighByte: Bool { withUnsafeBytes { $0.contains { $0 == UInt8(ascii: "#") || $0 > 0x7F } } }

    /// Whether the bytes contain a letter from `A` to `Z`.
    var containsCapital: Bool { withUnsafeBytes { $0.contains { $0 &- UInt8(ascii: "A") < 26 } } }

    /// The bytes as text.
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
