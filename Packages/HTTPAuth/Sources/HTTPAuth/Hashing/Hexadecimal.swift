/// Hexadecimal encoding.
enum Hexadecimal {
    /// Returns two lowercase digits for each byte.
    static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
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
