/// Base 64 encoding (RFC 4648 §4).
enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Encodes bytes, with padding.
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let part = bytes[start..<min(start + 3, bytes.count)]
            let word = part.enumerated().reduce(UInt32(0)) { $0 | UInt32($1.element) << UInt32(16 - 8 * $1.offset) }
            for index in 0..<4 {
                result.append(
                    index <= part.count ? digits[Int(word >> UInt32(18 - 6 * index) & 63)] : AuthGrammar.equals)
            }
        }
        return result
    }

    /// Decodes text; nil if it is not valid base 64. Padding may be missing, because some servers omit it. Padding of
    /// the wrong length and unused bits that are not zero are rejected.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var result: [UInt8] = []
        var word: UInt32 = 0
        var count = 0
        var padding = 0
        for byte in text.utf8 {
            if byte == AuthGrammar.equals {
                padding += 1
                continue
            }
            guard padding == 0, let value = value(of: byte) else { return nil }
            word = word << 6 | UInt32(value)
            count += 1
            if count % 4 == 0 {
                result += [
                    UInt8(truncatingIfNeeded: word >> 16), UInt8(truncatingIfNeeded: word >> 8),
                    UInt8(truncatingIfNeeded: word),
                ]
                word = 0
            }
        }
        switch count % 4 {
        case 0: return padding == 0 ? result : nil
        case 2 where word & 15 == 0 && (padding == 0 || padding == 2):
            return result + [UInt8(truncatingIfNeeded: word >> 4)]
        case 3 where word & 3 == 0 && padding <= 1:
            return result + [UInt8(truncatingIfNeeded: word >> 10), UInt8(truncatingIfNeeded: word >> 2)]
        default: return nil
        }
    }

    private static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// Hexadecimal encoding.
package enum Hexadecimal {
    /// Returns two lowercase digits for each byte.
    package static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10) }
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 15))
        }
        return text
    }
}

/// The field syntax of NTLM and Negotiate: the scheme's name and a token in base 64 (RFC 4559 §4).
enum TokenField {
    /// Returns the value of a field that carries `token`.
    static func value(_ scheme: String, _ token: [UInt8]) -> [UInt8] {
        Array("\(scheme) ".utf8) + Base64.encode(token)
    }

    /// Returns the token of a challenge; nil if it has none.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the token is not base 64.
    static func token(of challenge: Challenge) throws(HTTPAuthError) -> [UInt8]? {
        guard let text = challenge.token else { return nil }
        guard let token = Base64.decode(text) else {
            throw HTTPAuthError(.malformedToken, scheme: challenge.scheme, detail: "not base 64")
        }
        return token
    }
}
