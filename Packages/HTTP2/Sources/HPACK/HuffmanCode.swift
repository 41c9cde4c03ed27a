/// The Huffman code of RFC 7541 appendix B.
///
/// The code is canonical: codes of the same length are consecutive numbers, in the order of their symbols, and the first code of a
/// length continues behind the last code of the previous length. The lengths therefore determine the code. The tables for encoding
/// and decoding are derived from them once in a process.
struct HuffmanCode: Sendable {
    static let shared = HuffmanCode()

    /// The symbol that no string contains. Its first bits pad strings to whole bytes.
    static let endOfString = 256

    /// The number of bits of the longest codes.
    static let maximumLength = 30

    /// The code of each byte in its low bits: `code << 8 | length`.
    let codes: [UInt64]

    /// The symbols by the next ``HuffmanDecoding/stepLength`` bits of the input.
    let steps: [HuffmanDecoding.Step]

    /// The codes by length, for those that are longer than a step.
    let lengths: [HuffmanDecoding.CodesOfLength]

    private init() {
        var codes = [UInt64](repeating: 0, count: Self.codeLengths.count)
        var lengths: [HuffmanDecoding.CodesOfLength] = []
        var code: UInt64 = 0
        for length in 1...Self.maximumLength {
            code <<= 1
            let symbols = Self.codeLengths.indices.filter { Self.codeLengths[$0] == length }
            lengths.append(.init(length: length, firstCode: code, symbols: symbols))
            for symbol in symbols {
                codes[symbol] = code << 8 | UInt64(length)
                code += 1
            }
        }
        self.codes = codes
        self.lengths = lengths
        steps = HuffmanDecoding.steps(codes: codes)
    }

    /// The number of bits of the code of each byte, and of ``endOfString``.
    static let codeLengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,  // control characters
        28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,  // space and punctuation
        5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,  // 0…9
        13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,  // @, A…O
        7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,  // P…Z
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,  // `, a…o
        6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,  // p…z
        20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,  // 0x80
        24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
        22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
        21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,  // 0xC0
        19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
        20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
        30,  // the end of a string
    ]
}

/// Encodes strings.
struct HuffmanEncoder: Sendable {
    /// The encoded form of the last string, at the front.
    private(set) var memory = [UInt8](repeating: 0, count: 256)

    /// Encodes a string, and returns the number of bytes in ``memory``. Nil if they would not be fewer than those of the string.
    @inline(__always)
    mutating func encode(_ text: RawSpan, _ huffman: HuffmanCode) -> Int? {
        let limit = text.byteCount
        if memory.count < limit { memory = [UInt8](repeating: 0, count: 2 * limit) }
        let codes = huffman.codes.span
        var span = memory.mutableSpan
        var output = span.mutableBytes
        var position = 0
        // The low `count` bits of `pending` are not yet written: at most 31 before a code is added, and 61 behind it.
        var (pending, count): (UInt64, UInt64) = (0, 0)
        for offset in 0..<limit {
            let code = codes[unchecked: Int(text.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self))]
            pending = pending &<< (code & 0xFF) | code &>> 8
            count &+= code & 0xFF
            if count >= 32 {
                if position &+ 4 >= limit { return nil }
                count &-= 32
                let word = UInt32(truncatingIfNeeded: pending &>> count)
                output.storeBytes(of: word.bigEndian, toByteOffset: position, as: UInt32.self)
                position &+= 4
            }
        }
        // The first bits of the symbol for the end, which are ones, make the last byte complete.
        let padding = (8 &- count % 8) % 8
        pending = pending &<< padding | (1 &<< padding &- 1)
        count &+= padding
        if position &+ Int(count / 8) >= limit { return nil }
        while count > 0 {
            count &-= 8
            output.setByte(UInt8(truncatingIfNeeded: pending &>> count), at: &position)
        }
        return position
    }
}
