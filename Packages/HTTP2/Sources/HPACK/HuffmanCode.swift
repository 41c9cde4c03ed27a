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

    /// The number of bytes of the encoded form of `text`.
    @inline(__always)
    func encodedLength(of text: RawSpan) -> Int {
        let codes = codes.span
        var bits = 0
        for index in 0..<text.byteCount {
            bits &+= Int(truncatingIfNeeded: codes[unchecked: Int(text.byte(at: index))] & 0xFF)
        }
        return (bits + 7) / 8
    }

    /// Writes the encoded form of `text`, and moves `position` behind it. The memory must have room for it.
    @inline(__always)
    func encode(_ text: RawSpan, into memory: inout MutableRawSpan, at position: inout Int) {
        let codes = codes.span
        // The low `count` bits of `pending` are not yet written: at most 31 before and 61 after a code is added.
        var (pending, count): (UInt64, UInt64) = (0, 0)
        for index in 0..<text.byteCount {
            let code = codes[unchecked: Int(text.byte(at: index))]
            pending = pending << (code & 0xFF) | code >> 8
            count &+= code & 0xFF
            if count >= 32 {
                count &-= 32
                let word = UInt32(truncatingIfNeeded: pending >> count)
                memory.storeBytes(of: word.bigEndian, toByteOffset: position, as: UInt32.self)
                position &+= 4
            }
        }
        if count > 0 {
            // The first bits of the symbol for the end are ones.
            let padding = (8 &- count % 8) % 8
            pending = pending << padding | (1 << padding &- 1)
            count &+= padding
        }
        while count > 0 {
            count &-= 8
            memory.setByte(UInt8(truncatingIfNeeded: pending >> count), at: &position)
        }
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
