/// The character classes of RFC 9110 §5.6 and RFC 9112, and scanners that use them.
///
/// The scanners test 16 bytes at once. They compute a vector in which the top bit of each byte says whether the byte ends the
/// scan, with arithmetic alone: the compiler turns comparisons of vectors, and their masks, into loops over bytes.
enum HTTPGrammar {
    static let cr = UInt8(ascii: "\r")
    static let lf = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let colon = UInt8(ascii: ":")
    private static let hyphen = UInt8(ascii: "-")
    static let hash = UInt8(ascii: "#")

    /// The classes of each of the 256 byte values.
    ///
    /// ``tokenClass`` marks the characters of tokens (RFC 9110 §5.6.2), ``hostClass`` those of host names (reg-name, RFC 3986
    /// §3.2.2). The table is a string literal because a static array would be initialized lazily, with a check on each access.
    static var classTable: UnsafePointer<UInt8> { classBytes.utf8Start }

    static let tokenClass: UInt8 = 1
    static let hostClass: UInt8 = 2

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

    static func isToken(_ byte: UInt8) -> Bool { classTable[Int(byte)] & tokenClass != 0 }

    static func isHostName(_ byte: UInt8) -> Bool { classTable[Int(byte)] & hostClass != 0 }

    /// Whether the bytes are a token: `1*tchar` (RFC 9110 §5.6.2).
    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { isToken($0) }
    }

    /// Whether a byte is allowed in a field value (RFC 9110 §5.5): visible characters, obs-text, spaces and tabs.
    static func isFieldByte(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == tab
    }

    /// Whether a byte is allowed in a request target: the visible ASCII characters except `#`, which begins a fragment (RFC 9112 §3.2.1).
    static func isTargetByte(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != hash
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }

    static func isSpaceOrTab(_ byte: UInt8) -> Bool {
        byte == space || byte == tab
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

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

    /// Compares a name, or a value of as many bytes, with a literal of at least eight letters and hyphens in lower case.
    ///
    /// Ignores the case by setting the bit 0x20 of each byte. That yields a letter only from a letter, and a hyphen only from a hyphen or
    /// CR: no name contains CR, and no letter follows it in a value.
    @inline(__always)
    static func isEqual(_ bytes: UnsafeRawPointer, _ literal: StaticString) -> Bool {
        let count = literal.utf8CodeUnitCount
        let literal = UnsafeRawPointer(literal.utf8Start)
        @inline(__always) func isEqual(at i: Int) -> Bool {
            bytes.loadUnaligned(fromByteOffset: i, as: UInt64.self) | 0x2020_2020_2020_2020
                == literal.loadUnaligned(fromByteOffset: i, as: UInt64.self)
        }
        var i = 0
        while i &+ 8 < count {
            if !isEqual(at: i) { return false }
            i &+= 8
        }
        return isEqual(at: count &- 8)
    }

    /// Compares `count` bytes, eight at a time if there are at least eight.
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
    private static func areEqual(eightBytesAt a: UnsafeRawPointer, _ b: UnsafeRawPointer) -> Bool {
        let (left, right) = (a.loadUnaligned(as: UInt64.self), b.loadUnaligned(as: UInt64.self))
        return left == right || lowercased(left) == lowercased(right)
    }

    /// Converts eight bytes to lower case by setting bit 0x20 in the bytes from `A` to `Z`.
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
    static func endOfValue(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        var i = start
        while i &+ 16 <= end {
            let distance = distanceToControl(base, from: i)
            i &+= distance
            if distance == 16 { continue }
            if base.load(fromByteOffset: i, as: UInt8.self) != tab { return i }
            i &+= 1
        }
        while i < end, isFieldByte(base.load(fromByteOffset: i, as: UInt8.self)) { i &+= 1 }
        return i
    }

    /// Returns the number of bytes before the first control character of the 16 bytes from `start`, or 16.
    @inline(__always)
    static func distanceToControl(_ base: UnsafeRawPointer, from start: Int) -> Int {
        let x = base.loadUnaligned(fromByteOffset: start, as: SIMD16<UInt8>.self)
        // The bytes below 0x20, and 0x7F.
        return distanceToTopBit(((x &- SIMD16(repeating: 0x20)) | (x &+ SIMD16(repeating: 0x01))) & ~x)
    }

    /// Returns the index of the first byte whose top bit is set, or 16.
    @inline(__always)
    private static func distanceToTopBit(_ bytes: SIMD16<UInt8>) -> Int {
        let words = unsafeBitCast(bytes & SIMD16(repeating: 0x80), to: SIMD2<UInt64>.self)
        if words[0] != 0 { return UInt64(littleEndian: words[0]).trailingZeroBitCount &>> 3 }
        if words[1] != 0 { return 8 &+ UInt64(littleEndian: words[1]).trailingZeroBitCount &>> 3 }
        return 16
    }

    /// Returns the offset of the first byte from `start` that is not allowed in a request target, or `end`.
    @inline(__always)
    static func endOfTarget(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        var i = start
        while i &+ 8 <= end {
            let x = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: i, as: UInt64.self))
            // Finds bytes up to 0x20 and from 0x7F, and `#`.
            let notHash = x ^ 0x2323_2323_2323_2323
            let found =
                ((x &- 0x2121_2121_2121_2121) & ~x | (x &+ 0x0101_0101_0101_0101) | x
                    | (notHash &- 0x0101_0101_0101_0101) & ~notHash) & 0x8080_8080_8080_8080
            if found != 0 { return i &+ (found.trailingZeroBitCount &>> 3) }
            i &+= 8
        }
        while i < end, isTargetByte(base.load(fromByteOffset: i, as: UInt8.self)) { i &+= 1 }
        return i
    }

    /// Returns the number of letters and hyphens at the beginning of the 16 bytes from `start`.
    ///
    /// Most names of fields consist of these bytes alone.
    @inline(__always)
    static func distanceToNonLetter(_ base: UnsafeRawPointer, from start: Int) -> Int {
        let x = base.loadUnaligned(fromByteOffset: start, as: SIMD16<UInt8>.self)
        // Right for bytes below 0x80; all others end the scan.
        let lowercased = x | SIMD16(repeating: 0x20)
        let isNotLetter = ~(lowercased &+ SIMD16(repeating: 0x1F)) | (lowercased &+ SIMD16(repeating: 0x05))
        let isNotHyphen = (x ^ SIMD16(repeating: hyphen)) &+ SIMD16(repeating: 0x7F)
        return distanceToTopBit(isNotLetter & isNotHyphen | x)
    }

    /// Returns the offset of the first byte from `start` that is not allowed in a token, or `end`.
    static func endOfToken(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        let table = classTable
        func isToken(_ i: Int) -> Bool {
            table[Int(base.load(fromByteOffset: i, as: UInt8.self))] & tokenClass != 0
        }
        var i = start
        while i &+ 16 <= end {
            let distance = distanceToNonLetter(base, from: i)
            i &+= distance
            if distance < 16 { break }
        }
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
