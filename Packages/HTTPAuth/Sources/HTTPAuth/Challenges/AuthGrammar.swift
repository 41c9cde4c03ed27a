/// The character classes and quoted strings of RFC 9110 §5.6 and §11.2.
package enum AuthGrammar {
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let comma = UInt8(ascii: ",")
    static let equals = UInt8(ascii: "=")

    static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        lowercased(byte) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
    }

    /// Returns whether a byte is a `tchar` (RFC 9110 §5.6.2).
    static func isToken(_ byte: UInt8) -> Bool {
        if isAlphanumeric(byte) { return true }
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            return true
        default: return false
        }
    }

    /// Returns whether a byte can occur in a token68, except for the final `=` characters (RFC 9110 §11.2).
    static func isToken68(_ byte: UInt8) -> Bool {
        if isAlphanumeric(byte) { return true }
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"),
            UInt8(ascii: "/"):
            return true
        default: return false
        }
    }

    /// Returns whether a byte can occur in a quoted string, plain or after a backslash (RFC 9110 §5.6.4).
    static func isText(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == UInt8(ascii: "\t")
    }

    package static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    static func equalsIgnoringCase(_ a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { lowercased($0) == lowercased($1) }
    }

    /// Decodes UTF-8; other bytes are decoded as ISO 8859-1, the former encoding of HTTP (RFC 9110 §5.5).
    package static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// Returns the bytes as a quoted string.
    static func quoted(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var result = [quote]
        for byte in bytes {
            if byte == quote || byte == backslash { result.append(backslash) }
            result.append(byte)
        }
        result.append(quote)
        return result
    }

    static func quoted(_ text: String) -> String {
        String(decoding: quoted(text.utf8), as: UTF8.self)
    }
}
