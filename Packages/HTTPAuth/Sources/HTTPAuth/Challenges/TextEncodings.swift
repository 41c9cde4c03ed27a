internal import CLibcrypto

/// Base 64 encoding (RFC 4648 §4).
enum Base64 {
    /// Encodes bytes, with padding.
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        // The function also writes a NUL.
        [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { buffer, count in
            count = Int(EVP_EncodeBlock(buffer.baseAddress, bytes, CInt(bytes.count)))
        }
    }

    /// Decodes text; nil if it is not valid base 64. Padding may be missing, because some servers omit it. Padding of
    /// the wrong length and unused bits that are not zero are rejected.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let given = Array(text.utf8)
        let digits = Array(given.prefix { $0 != AuthGrammar.equals })
        let padding = (4 - digits.count % 4) % 4
        let padded = digits + [UInt8](repeating: AuthGrammar.equals, count: padding)
        guard given == digits || given == padded, let size = CInt(exactly: padded.count) else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: padded.count / 4 * 3) { buffer, count in
            count = max(0, Int(EVP_DecodeBlock(buffer.baseAddress, padded, size)) - padding)
        }
        // The function also takes blanks around the text, and any unused bits.
        return encode(bytes) == padded ? bytes : nil
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
