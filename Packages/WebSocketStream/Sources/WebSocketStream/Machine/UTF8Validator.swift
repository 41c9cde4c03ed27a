/// A check that bytes are UTF-8 (RFC 3629), piece by piece. An invalid byte is found as soon as it has arrived.
///
/// Theory of operation. After the first byte of a sequence, the number of bytes that follow is known, and the range of the second
/// byte; that range excludes overlong forms, surrogates, and code points above U+10FFFF. All further bytes are 80 to BF.
struct UTF8Validator: Sendable {
    /// The number of bytes that the current sequence still needs.
    private var missing = 0
    /// The range of the next byte within a sequence.
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xBF

    /// Whether the bytes so far end at the end of a sequence.
    var isComplete: Bool { missing == 0 }

    /// Checks the bytes of `array` from `start` on. Returns false if they continue no valid text.
    mutating func check(_ array: [UInt8], from start: Int) -> Bool {
        array.withUnsafeBytes { check($0, from: start) }
    }

    private mutating func check(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Bool {
        var index = start
        while index < bytes.count {
            if missing == 0 {
                // Most text is ASCII: eight bytes at a time.
                while index &+ 8 <= bytes.count,
                    bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
                {
                    index &+= 8
                }
                guard index < bytes.count else { return true }
            }
            guard accept(bytes[index]) else { return false }
            index &+= 1
        }
        return true
    }

    private mutating func accept(_ byte: UInt8) -> Bool {
        if missing > 0 {
            guard byte >= lower, byte <= upper else { return false }
            missing &-= 1
            (lower, upper) = (0x80, 0xBF)
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, lower) = (2, 0xA0)
        case 0xED: (missing, upper) = (2, 0x9F)
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, lower) = (3, 0x90)
        case 0xF1...0xF3: missing = 3
        case 0xF4: (missing, upper) = (3, 0x8F)
        default: return false
        }
        return true
    }
}
