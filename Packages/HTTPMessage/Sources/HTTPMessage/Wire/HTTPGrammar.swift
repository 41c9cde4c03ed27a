/// The character classes of RFC 9110 §5.6 and RFC 9112, and scanners that use them.
///
/// The scanners test the eight bytes of a 64-bit word at once. For a bound `n` of at most 0x80, `(x &- n…n) & ~x` sets the top
/// bit of the first byte below `n`, and `x &+ 1…1` sets the top bit of a byte of 0x7F. A borrow or carry can set wrong bits only
/// in later bytes, and only the first set bit is used. SIMD types are slower here: the compiler turns their masks into loops
/// over bytes.
enum HTTPGrammar {
    static let cr = UInt8(ascii: "\r")
    static let lf = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let colon = UInt8(ascii: ":")

    /// The classes of each of the 256 byte values.
    ///
    /// ``tokenClass`` marks the characters of tokens (RFC 9110 §5.6.2), ``hostClass`` those of host names (reg-name, RFC 3986
    /// §3.2.2). The table is a string literal because a static array would be initialized lazily, with a check on each access.
    @inline(__always)
    static var classTable: UnsafePointer<UInt8> { classBytes.utf8Start }

    static let tokenClass: UInt8 = 1
    static let hostClass: UInt8 = 2

    @inline(__always)
    private static var classBytes: StaticString {
        """
        \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\u{3}\0\u{1}\u{3}\u{3}\u{3}\u{3}\
        \u{2}\u{2}\u{3}\u{3}\u{2}\u{3}\u{3}\0\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\0\u{2}\0\
        \u{2}\0\0\0\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\
        \u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\0\0\0\u{1}\u{3}\u{1}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\
        \u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\u{3}\
        \u{3}\0\u{1}\0\u{3}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
        \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
        \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0
        """
    }

    @inline(__always)
    static func isToken(_ byte: UInt8) -> Bool { classTable[Int(byte)] & tokenClass != 0 }

    @inline(__always)
    static func isHostName(_ byte: UInt8) -> Bool { classTable[Int(byte)] & hostClass != 0 }

    /// Whether the bytes are a token: `1*tchar` (RFC 9110 §5.6.2).
    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { isToken($0) }
    }

    /// Whether a byte is allowed in a field value (RFC 9110 §5.5): visible characters, obs-text, spaces and tabs.
    @inline(__always)
    static func isFieldByte(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == tab
    }

    /// Whether a byte is allowed in a request target: the visible ASCII characters.
    @inline(__always)
    static func isTargetByte(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F
    }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }

    @inline(__always)
    static func isSpaceOrTab(_ byte: UInt8) -> Bool {
        byte == space || byte == tab
    }

    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    @inline(__always)
    static func uppercased(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "a") < 26 ? byte & ~0x20 : byte
    }

    static func equalsIgnoringCase(_ a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { lowercased($0) == lowercased($1) }
    }

    static func equalsIgnoringCase(_ a: UnsafeBufferPointer<UInt8>, _ b: StaticString) -> Bool {
        guard a.count == b.utf8CodeUnitCount, let base = a.baseAddress else {
            return a.isEmpty && b.utf8CodeUnitCount == 0
        }
        return equalsIgnoringCase(base, b.utf8Start, count: a.count)
    }

    /// Compares `count` bytes, eight at a time if there are at least eight.
    @inline(__always)
    static func equalsIgnoringCase(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, count: Int) -> Bool {
        var i = 0
        if count >= 8 {
            while i &+ 8 <= count {
                guard areEqual(eightBytesAt: a + i, b + i) else { return false }
                i &+= 8
            }
            return areEqual(eightBytesAt: a + (count &- 8), b + (count &- 8))
        }
        while i < count,
            lowercased(a.load(fromByteOffset: i, as: UInt8.self))
                == lowercased(b.load(fromByteOffset: i, as: UInt8.self))
        {
            i &+= 1
        }
        return i == count
    }

    /// Compares eight bytes. Most have the same case.
    @inline(__always)
    private static func areEqual(eightBytesAt a: UnsafeRawPointer, _ b: UnsafeRawPointer) -> Bool {
        let (left, right) = (a.loadUnaligned(as: UInt64.self), b.loadUnaligned(as: UInt64.self))
        return left == right || lowercased(left) == lowercased(right)
    }

    /// Converts eight bytes to lower case by setting bit 0x20 in the bytes from `A` to `Z`.
    @inline(__always)
    private static func lowercased(_ bytes: UInt64) -> UInt64 {
        let low = bytes & 0x7f7f_7f7f_7f7f_7f7f
        let isAtLeastA = low &+ 0x3f3f_3f3f_3f3f_3f3f
        let isBeyondZ = low &+ 0x2525_2525_2525_2525
        return bytes | (isAtLeastA & ~isBeyondZ & ~bytes & 0x8080_8080_8080_8080) >> 2
    }

    static func equalsIgnoringCase(_ a: some Collection<UInt8>, _ b: StaticString) -> Bool {
        equalsIgnoringCase(a, UnsafeBufferPointer(start: b.utf8Start, count: b.utf8CodeUnitCount))
    }

    /// Returns `bytes` without leading and trailing spaces and tabs.
    static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
        guard let first = bytes.firstIndex(where: { !isSpaceOrTab($0) }),
            let last = bytes.lastIndex(where: { !isSpaceOrTab($0) })
        else { return bytes[bytes.startIndex..<bytes.startIndex] }
        return bytes[first...last]
    }

    /// Returns `bytes` with each control character replaced by a space (RFC 9110 §5.5).
    static func replacingControls(_ bytes: [UInt8]) -> [UInt8] {
        bytes.allSatisfy(isFieldByte) ? bytes : bytes.map { isFieldByte($0) ? $0 : space }
    }

    /// Decodes bytes as UTF-8 or, if they are not valid UTF-8, as ISO 8859-1, the historical encoding (RFC 9110 §5.5).
    static func text(_ bytes: some Collection<UInt8>) -> String {
        // Nearly all text is ASCII, which needs no general validation.
        let ascii = bytes.withContiguousStorageIfAvailable { bytes in
            bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
        }
        if let text = (ascii ?? nil) ?? String(validating: bytes, as: UTF8.self) { return text }
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// Returns the offset of the first byte from `start` that is not allowed in a field value: a control character other than
    /// tab. Returns `end` if there is none.
    ///
    /// Not inlined, so that there are enough registers for the constants of the loop.
    @inline(never)
    static func endOfValue(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        var i = start
        while i &+ 16 <= end {
            let a = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: i, as: UInt64.self))
            let b = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: i &+ 8, as: UInt64.self))
            let lowA = (a &- 0x2020_2020_2020_2020) | (a &+ 0x0101_0101_0101_0101)
            let lowB = (b &- 0x2020_2020_2020_2020) | (b &+ 0x0101_0101_0101_0101)
            if (lowA | lowB) & 0x8080_8080_8080_8080 == 0 {
                i &+= 16
                continue
            }
            // Finds bytes below 0x20 and 0x7F; bytes above 0x7F are allowed. A carry from 0xFF makes a following 0x7E
            // look like 0x7F, so the byte found is checked again.
            let foundInA = lowA & ~a & 0x8080_8080_8080_8080
            let foundInB = lowB & ~b & 0x8080_8080_8080_8080
            if foundInA != 0 {
                i &+= foundInA.trailingZeroBitCount &>> 3
            } else if foundInB != 0 {
                i &+= 8 &+ (foundInB.trailingZeroBitCount &>> 3)
            } else {
                i &+= 16
                continue
            }
            if !isFieldByte(base.load(fromByteOffset: i, as: UInt8.self)) { return i }
            i &+= 1
        }
        while i < end, isFieldByte(base.load(fromByteOffset: i, as: UInt8.self)) { i &+= 1 }
        return i
    }

    /// Returns the offset of the first byte from `start` that is not allowed in a request target, or `end`.
    @inline(__always)
    static func endOfTarget(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        var i = start
        while i &+ 8 <= end {
            let x = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: i, as: UInt64.self))
            // Finds bytes up to 0x20 and from 0x7F.
            let found =
                ((x &- 0x2121_2121_2121_2121) & ~x | (x &+ 0x0101_0101_0101_0101) | x) & 0x8080_8080_8080_8080
            if found != 0 { return i &+ (found.trailingZeroBitCount &>> 3) }
            i &+= 8
        }
        while i < end, isTargetByte(base.load(fromByteOffset: i, as: UInt8.self)) { i &+= 1 }
        return i
    }

    /// Returns the offset of the first byte from `start` that is not allowed in a token, or `end`.
    @inline(__always)
    static func endOfToken(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        let table = classTable
        @inline(__always) func isToken(_ i: Int) -> Bool {
            table[Int(base.load(fromByteOffset: i, as: UInt8.self))] & tokenClass != 0
        }
        var i = start
        while i &+ 4 <= end {
            if !isToken(i) { return i }
            if !isToken(i &+ 1) { return i &+ 1 }
            if !isToken(i &+ 2) { return i &+ 2 }
            if !isToken(i &+ 3) { return i &+ 3 }
            i &+= 4
        }
        while i < end, isToken(i) { i &+= 1 }
        return i
    }
}
