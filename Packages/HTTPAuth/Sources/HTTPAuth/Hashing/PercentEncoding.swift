/// Percent-encoding.
enum PercentEncoding {
    /// Encodes text as the value part of an ext-value (RFC 8187 §3.2.1): all characters but attr-char as `%XX`.
    static func extendedValue(_ text: String) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        for byte in text.utf8 {
            // attr-char is tchar without `*`, `'` and `%`.
            if AuthGrammar.isToken(byte), !"*'%".utf8.contains(byte) {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return result
    }
}
