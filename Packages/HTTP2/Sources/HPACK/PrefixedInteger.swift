/// The representation of integers (RFC 7541 §5.1).
///
/// The low bits of the first byte contain the integer, or are all ones, and the next bytes add to it, 7 bits each, low bits first.
enum PrefixedInteger {
    /// The maximum value of an integer: 2^28. No index, length or table size of a legitimate peer comes near it.
    static let maximum = 1 << 28

    /// The maximum number of bytes of an integer, including that with the prefix.
    static let maximumLength = 6

    /// Reads an integer whose first byte has a prefix of this many bits, and moves `position` behind it.
    ///
    /// Returns nil, and leaves `position` unchanged, if the bytes end within the integer. Throws
    /// ``HPACKError/Code/integerTooLarge`` for an integer above ``maximum`` or of more than ``maximumLength`` bytes, so that zeros
    /// that add nothing cannot go on for ever.
    @inline(__always)
    static func read(_ bytes: RawSpan, at position: inout Int, prefix bits: Int) throws(HPACKError) -> Int? {
        guard position < bytes.byteCount else { return nil }
        let mask = 1 << bits - 1
        let value = Int(bytes.byte(at: position)) & mask
        if value < mask {
            position += 1
            return value
        }
        return try readContinuation(bytes, at: &position, addingTo: value)
    }

    private static func readContinuation(
        _ bytes: RawSpan, at position: inout Int, addingTo prefix: Int
    ) throws(HPACKError) -> Int? {
        var value = prefix
        for index in 1..<maximumLength {
            guard position + index < bytes.byteCount else { return nil }
            let byte = Int(bytes.byte(at: position + index))
            value += (byte & 0x7F) << (7 * (index - 1))
            if value > maximum { break }
            if byte & 0x80 == 0 {
                position += index + 1
                return value
            }
        }
        throw HPACKError(.integerTooLarge)
    }

    /// Appends an integer behind a pattern of high bits.
    static func append(_ value: Int, prefix bits: Int, pattern: UInt8, to output: inout [UInt8]) {
        let mask = 1 << bits - 1
        if value < mask {
            output.append(pattern | UInt8(truncatingIfNeeded: value))
        } else {
            output.append(pattern | UInt8(truncatingIfNeeded: mask))
            appendContinuation(value - mask, to: &output)
        }
    }

    private static func appendContinuation(_ value: Int, to output: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(truncatingIfNeeded: rest))
    }
}
