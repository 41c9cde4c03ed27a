/// Decodes strings in the Huffman code, by table: each step takes the next 12 bits and yields one symbol, or two if both fit.
///
/// All characters of usual text have codes of 5 to 8 bits. Codes that are longer than a step, which only unusual characters have, are
/// found by their length.
enum HuffmanDecoding {
    /// The number of bits that a step looks at. The table then has 16 KiB, which fits into the first-level cache of a processor.
    static let stepLength = 12

    /// The result of looking at the next bits.
    struct Step: BitwiseCopyable, Sendable {
        /// The first symbol in the low byte, and the second in the high one.
        var symbols: UInt16
        /// The number of bits of all symbols.
        var length: UInt8
        /// The number of symbols: 0 if the code is longer than a step.
        var count: UInt8
    }

    /// The codes of one length: consecutive numbers.
    struct CodesOfLength: Sendable {
        var length: Int
        var firstCode: UInt64
        var symbols: [Int]
    }

    /// Returns the largest number of bytes that `count` bytes can become: the shortest codes have 5 bits. Includes a byte of memory
    /// that a step may overwrite.
    static func maximumLength(ofDecoded count: Int) -> Int { count * 8 / 5 + 2 }

    /// Builds the table of steps.
    static func steps(codes: [UInt64]) -> [Step] {
        var singles = [Step](repeating: Step(symbols: 0, length: 0, count: 0), count: 1 << stepLength)
        for symbol in 0..<256 {
            let (code, length) = (Int(codes[symbol] >> 8), Int(codes[symbol] & 0xFF))
            guard length <= stepLength else { continue }
            let first = code << (stepLength - length)
            for index in first..<first + 1 << (stepLength - length) {
                singles[index] = Step(symbols: UInt16(symbol), length: UInt8(length), count: 1)
            }
        }
        var steps = singles
        for index in steps.indices where singles[index].count == 1 {
            let first = singles[index]
            // The bits behind the first symbol, followed by zeros, which must not be part of the second.
            let second = singles[index << Int(first.length) & (1 << stepLength - 1)]
            if second.count == 1, Int(first.length + second.length) <= stepLength {
                steps[index].symbols |= second.symbols << 8
                steps[index].length += second.length
                steps[index].count = 2
            }
        }
        return steps
    }
}

extension HuffmanCode {
    /// Decodes a string, and moves `position` behind the decoded bytes.
    ///
    /// The memory must have room for ``HuffmanDecoding/maximumLength(ofDecoded:)`` bytes. Returns false if the string contains the
    /// symbol for the end, or is not padded with less than 8 of its first bits (RFC 7541 §5.2).
    @inline(__always)
    func decode(_ string: RawSpan, into memory: inout MutableRawSpan, at position: inout Int) -> Bool {
        let steps = steps.span
        // The next `count` bits are the high bits of `bits`. What follows them there is the rest of the input or zeros.
        var (bits, count): (UInt64, Int) = (0, 0)
        var offset = 0
        while true {
            bits |= string.bigEndianWord(at: offset) &>> UInt64(truncatingIfNeeded: count)
            let added = min((63 &- count) &>> 3, string.byteCount &- offset)
            offset &+= added
            count &+= added &* 8
            let isAtEnd = offset == string.byteCount
            while count >= HuffmanDecoding.stepLength {
                let step = steps[unchecked: Int(truncatingIfNeeded: bits &>> UInt64(64 &- HuffmanDecoding.stepLength))]
                if step.count == 0 {
                    if count < Self.maximumLength, !isAtEnd { break }
                    guard decodeLongCode(&bits, &count, into: &memory, at: &position) else { return false }
                    continue
                }
                memory.storeBytes(of: step.symbols.littleEndian, toByteOffset: position, as: UInt16.self)
                position &+= Int(step.count)
                bits &<<= UInt64(truncatingIfNeeded: step.length)
                count &-= Int(step.length)
            }
            if isAtEnd { return decodeEnd(bits, count, into: &memory, at: &position) }
        }
    }

    /// Decodes a symbol whose code is longer than a step. Returns false if it is the symbol for the end, or if the string ends
    /// within it.
    private func decodeLongCode(
        _ bits: inout UInt64, _ count: inout Int, into memory: inout MutableRawSpan, at position: inout Int
    ) -> Bool {
        for codes in lengths[HuffmanDecoding.stepLength...] {
            let index = bits >> UInt64(64 - codes.length) &- codes.firstCode
            guard index < codes.symbols.count else { continue }
            let symbol = codes.symbols[Int(index)]
            guard codes.length <= count, symbol != Self.endOfString else { return false }
            memory.setByte(UInt8(symbol), at: &position)
            bits <<= UInt64(codes.length)
            count -= codes.length
            return true
        }
        return false
    }

    /// Decodes the symbols of the last bits, which are fewer than a step takes, and checks the padding.
    private func decodeEnd(
        _ rest: UInt64, _ restCount: Int, into memory: inout MutableRawSpan, at position: inout Int
    ) -> Bool {
        var (bits, count) = (rest | UInt64.max >> UInt64(restCount), restCount)
        while count > 0 {
            let step = steps[Int(bits >> UInt64(64 - HuffmanDecoding.stepLength))]
            let symbol = UInt8(truncatingIfNeeded: step.symbols)
            let length = Int(codes[Int(symbol)] & 0xFF)
            if step.count == 0 || length > count { break }
            memory.setByte(symbol, at: &position)
            bits = bits << UInt64(length) | (1 << UInt64(length) - 1)
            count -= length
        }
        return count < 8 && bits == .max
    }
}

extension RawSpan {
    /// The eight bytes from an offset, the first in the high bits. Zeros take the place of those behind the end.
    @inline(__always)
    fileprivate func bigEndianWord(at offset: Int) -> UInt64 {
        if offset &+ 8 <= byteCount {
            return UInt64(bigEndian: word(at: offset))
        }
        if byteCount >= 8 {
            let last = UInt64(bigEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: byteCount &- 8, as: UInt64.self))
            return last << UInt64(8 &* (offset &+ 8 &- byteCount))
        }
        var word: UInt64 = 0
        withUnsafeBytes { bytes in
            withUnsafeMutableBytes(of: &word) {
                $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            }
        }
        return UInt64(bigEndian: word)
    }
}
