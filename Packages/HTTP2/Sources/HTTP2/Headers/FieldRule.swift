/// The rules for the fields of a message (RFC 9113 §8.2 and §8.3), in one table.
///
/// A message that violates a rule is malformed: an error of its stream (RFC 9113 §8.1.1).
enum FieldRule: Error, Hashable, CaseIterable {
    case name
    case lowercase
    case value
    case pseudoFirst
    case pseudoKnown
    case pseudoOnce
    case pseudoInTrailers
    case connectionField
    case te
    case method
    case scheme
    case path
    case authority
    case authorityPresent
    case hostEqual
    case hostOnce
    case connect
    case connectProtocol
    case status
    case switchingProtocols
    case contentLength
    case contentLengthOnce
    case contentLengthForbidden

    /// The section that states the rule, and what is wrong with a message that violates it.
    var text: (section: String, reason: String) {
        switch self {
        case .name: ("RFC 9113 §8.2.1", "a field name is not a token")
        case .lowercase: ("RFC 9113 §8.2", "a field name contains a capital letter")
        case .value: ("RFC 9113 §8.2.1", "a field value contains a control character or begins or ends with whitespace")
        case .pseudoFirst: ("RFC 9113 §8.3", "a pseudo-header field follows a field")
        case .pseudoKnown:
            ("RFC 9113 §8.3", "a pseudo-header field is unknown, or belongs to the other kind of message")
        case .pseudoOnce: ("RFC 9113 §8.3", "a pseudo-header field occurs twice")
        case .pseudoInTrailers: ("RFC 9113 §8.1", "a trailer section contains a pseudo-header field")
        case .connectionField: ("RFC 9113 §8.2.2", "a field belongs to a connection of HTTP/1.1")
        case .te: ("RFC 9113 §8.2.2", "the value of te is not 'trailers'")
        case .method: ("RFC 9113 §8.3.1", "there is no :method, or it is not a token")
        case .scheme: ("RFC 9113 §8.3.1", "there is no :scheme, or it is not the scheme of a URL")
        case .path: ("RFC 9113 §8.3.1", "there is no :path, or it is neither a path nor '*' with OPTIONS")
        case .authority: ("RFC 9113 §8.3.1", "the :authority or host is not a host with an optional port")
        case .authorityPresent: ("RFC 9113 §8.3.1", "there is neither :authority nor host")
        case .hostEqual: ("RFC 9113 §8.3.1", "the host differs from the :authority")
        case .hostOnce: ("RFC 9110 §7.2", "there is more than one host")
        case .connect: ("RFC 9113 §8.5", "a CONNECT has a :scheme or :path, or no host and port in :authority")
        case .connectProtocol:
            ("RFC 8441 §4", "there is a :protocol without CONNECT or the server's permission, or it is not a token")
        case .status: ("RFC 9113 §8.3.2", "there is no :status, or it is not a number from 100 to 999")
        case .switchingProtocols: ("RFC 9113 §8.6", "the status is 101")
        case .contentLength: ("RFC 9110 §8.6", "the content-length is not a number")
        case .contentLengthOnce: ("RFC 9110 §8.6", "there is more than one content-length")
        case .contentLengthForbidden:
            ("RFC 9110 §8.6", "a message that has no content, such as a CONNECT, has a content-length")
        }
    }

    /// The error of the stream.
    func error(on stream: StreamID) -> HTTP2Error {
        .stream(stream, .protocolError, text.section, text.reason)
    }
}

/// Classes and comparisons of the bytes in fields.
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

    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }

    /// Up to eight bytes, whose letters from `A` to `Z` become lower case.
    @inline(__always)
    static func lowercased(_ bytes: UInt64) -> UInt64 {
        // The sums have the top bit of a byte set if its low 7 bits are at least `A`, or beyond `Z`.
        let low = bytes & 0x7F7F_7F7F_7F7F_7F7F
        let isAtLeastA = low &+ 0x3F3F_3F3F_3F3F_3F3F
        let isBeyondZ = low &+ 0x2525_2525_2525_2525
        return bytes | (isAtLeastA & ~isBeyondZ & ~bytes & 0x8080_8080_8080_8080) >> 2
    }

    /// Whether the bytes are a token.
    static func isToken(_ bytes: RawSpan) -> Bool {
        for index in 0..<bytes.byteCount where !isToken(bytes.byte(index)) { return false }
        return bytes.byteCount > 0
    }

    /// Whether the bytes are `ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )` (RFC 3986 §3.1).
    static func isScheme(_ bytes: RawSpan) -> Bool {
        for index in 0..<bytes.byteCount {
            let byte = bytes.byte(index)
            if (byte | 0x20) &- UInt8(ascii: "a") < 26 { continue }
            let isLater =
                byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
            if index == 0 || !isLater { return false }
        }
        return bytes.byteCount > 0
    }

    /// Returns the number that the bytes are in decimal, or nil. At most 18 digits.
    static func number(_ bytes: RawSpan) -> Int64? {
        guard (1...18).contains(bytes.byteCount) else { return nil }
        var number: Int64 = 0
        for index in 0..<bytes.byteCount {
            let digit = bytes.byte(index) &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number * 10 + Int64(digit)
        }
        return number
    }
}

extension RawSpan {
    /// Whether the bytes are those of a literal.
    @inline(__always)
    func isEqual(_ literal: StaticString) -> Bool { isEqual(literal) { $0 } }

    /// Whether the bytes are those of a literal in lower case, ignoring their case.
    @inline(__always)
    func isEqualIgnoringCase(_ literal: StaticString) -> Bool { isEqual(literal, FieldBytes.lowercased) }

    /// Whether the bytes are those of a literal after a change. Compares words; the last one may overlap those before.
    @inline(__always)
    private func isEqual(_ literal: StaticString, _ changed: (UInt64) -> UInt64) -> Bool {
        let count = byteCount
        guard count == literal.utf8CodeUnitCount else { return false }
        let expected = UnsafeRawBufferPointer(start: literal.utf8Start, count: count).bytes
        if count >= 8 {
            var offset = 0
            while offset < count - 8 {
                if changed(word(offset)) != expected.word(offset) { return false }
                offset += 8
            }
            return changed(word(count - 8)) == expected.word(count - 8)
        }
        if count >= 4 {
            return changed(halfWord(0)) == expected.halfWord(0)
                && changed(halfWord(count - 4)) == expected.halfWord(count - 4)
        }
        for index in 0..<count where changed(UInt64(byte(index))) != UInt64(expected.byte(index)) { return false }
        return true
    }

    @inline(__always)
    private func word(_ offset: Int) -> UInt64 { unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self) }

    @inline(__always)
    private func halfWord(_ offset: Int) -> UInt64 {
        UInt64(unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Whether the bytes are those of `other`, ignoring the case of ASCII letters.
    func isEqualIgnoringCase(_ other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        for index in 0..<byteCount {
            let (a, b) = (byte(index), other.byte(index))
            if a != b, FieldBytes.lowercased(a) != FieldBytes.lowercased(b) { return false }
        }
        return true
    }

    /// Whether the bytes contain a letter from `A` to `Z`.
    var containsCapital: Bool { withUnsafeBytes { $0.contains { $0 &- UInt8(ascii: "A") < 26 } } }

    /// The bytes as text.
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
