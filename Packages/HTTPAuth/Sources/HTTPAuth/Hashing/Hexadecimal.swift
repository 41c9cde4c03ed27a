/// Bytes as hexadecimal digits.
enum Hexadecimal {
    /// Two lower-case digits for each byte.
    static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }
}
