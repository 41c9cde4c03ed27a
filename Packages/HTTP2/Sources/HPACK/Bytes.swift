// Operations on bytes that both modules share.
//
// `@inline(__always)` in this module stands where `Scripts/bench 12f 12g 12h` shows it: without any in HPACK, HTTP2 and HTTPMessage,
// the heads of an exchange cost 17,600 instructions instead of 13,600.

extension RawSpan {
    /// The byte at an offset.
    @inlinable
    package func byte(at offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    /// Whether both spans have the same bytes.
    @inlinable @inline(__always)
    package func isEqual(_ other: RawSpan) -> Bool { changed({ $0 }, equals: other, changed: { $0 }) }

    /// Whether both spans have the same bytes, ignoring the case of ASCII letters.
    @inlinable @inline(__always)
    package func isEqualIgnoringCase(_ other: RawSpan) -> Bool {
        changed(ASCII.lowercased, equals: other, changed: ASCII.lowercased)
    }

    /// Whether both spans have the same bytes, ignoring the case of ASCII letters. Those of `other` are in lower case.
    @inlinable @inline(__always)
    package func isEqualIgnoringCase(lowercase other: RawSpan) -> Bool {
        changed(ASCII.lowercased, equals: other, changed: { $0 })
    }

    /// Whether both spans have the same bytes after a change of each. Compares words; the last one may overlap those before.
    @inlinable @inline(__always)
    func changed(
        _ first: (UInt64) -> UInt64, equals other: RawSpan, changed second: (UInt64) -> UInt64
    ) -> Bool {
        let count = byteCount
        guard count == other.byteCount else { return false }
        if count >= 8 {
            var offset = 0
            while offset < count &- 8 {
                if first(word(at: offset)) != second(other.word(at: offset)) { return false }
                offset &+= 8
            }
            return first(word(at: count &- 8)) == second(other.word(at: count &- 8))
        }
        if count >= 4 {
            return first(halfWord(at: 0)) == second(other.halfWord(at: 0))
                && first(halfWord(at: count &- 4)) == second(other.halfWord(at: count &- 4))
        }
        for offset in 0..<count where first(UInt64(byte(at: offset))) != second(UInt64(other.byte(at: offset))) {
            return false
        }
        return true
    }

    /// The eight bytes from an offset. The caller has compared it with the length.
    @inlinable
    func word(at offset: Int) -> UInt64 { unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self) }

    /// The four bytes from an offset. The caller has compared it with the length.
    @inlinable
    func halfWord(at offset: Int) -> UInt64 {
        UInt64(unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt32.self))
    }
}

/// Letters in lower case.
@usableFromInline package enum ASCII {
    @inlinable
    package static func lowercased(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }

    /// Up to eight bytes, whose letters from `A` to `Z` become lower case.
    @inlinable
    package static func lowercased(_ bytes: UInt64) -> UInt64 {
        // The sums have the top bit of a byte set if its low 7 bits are at least `A`, or beyond `Z`.
        let low = bytes & 0x7F7F_7F7F_7F7F_7F7F
        let isAtLeastA = low &+ 0x3F3F_3F3F_3F3F_3F3F
        let isBeyondZ = low &+ 0x2525_2525_2525_2525
        return bytes | (isAtLeastA & ~isBeyondZ & ~bytes & 0x8080_8080_8080_8080) >> 2
    }
}

extension RawSpan {
    /// A hash of the length, the beginning, the middle and the end. Bytes with the same hash must be compared.
    @inline(__always)
    var hash: UInt32 {
        let count = byteCount
        var (first, middle, last): (UInt64, UInt64, UInt64) = (0, 0, 0)
        if count >= 8 {
            first = word(at: 0)
            middle = word(at: (count &- 8) / 2)
            last = word(at: count &- 8)
        } else if count >= 4 {
            first = halfWord(at: 0)
            last = halfWord(at: count &- 4)
        } else if count > 0 {
            first = UInt64(byte(at: 0)) | UInt64(byte(at: count / 2)) << 8
            last = UInt64(byte(at: count &- 1))
        }
        let mixed = (first &+ UInt64(count)) &* 0xD6E8_FEB8_6659_FD93 ^ middle &* 0xA076_1D64_78BD_642F ^ last
        return UInt32(truncatingIfNeeded: (mixed &* 0x9E37_79B9_7F4A_7C15) >> 32)
    }
}

extension MutableRawSpan {
    /// Stores a byte at `position`, and moves `position` behind it.
    mutating func setByte(_ byte: UInt8, at position: inout Int) {
        storeBytes(of: byte, toByteOffset: position, as: UInt8.self)
        position += 1
    }

    /// Copies bytes to an offset.
    @inline(__always)
    mutating func copy(_ source: RawSpan, to offset: Int) {
        if source.byteCount == 0 { return }
        source.withUnsafeBytes { source in
            withUnsafeMutableBytes { memory in
                UnsafeMutableRawBufferPointer(rebasing: memory[offset..<offset &+ source.count]).copyMemory(
                    from: source)
            }
        }
    }

    /// Copies a name to the front. Its letters from `A` to `Z` become lower case. Copies words; the last one may overlap those before.
    @inline(__always)
    mutating func copyLowercased(_ name: RawSpan) {
        let count = name.byteCount
        if count >= 8 {
            var offset = 0
            while offset < count &- 8 {
                storeBytes(of: ASCII.lowercased(name.word(at: offset)), toByteOffset: offset, as: UInt64.self)
                offset &+= 8
            }
            storeBytes(of: ASCII.lowercased(name.word(at: count &- 8)), toByteOffset: count &- 8, as: UInt64.self)
        } else if count >= 4 {
            copyLowercasedHalfWord(name, at: 0)
            copyLowercasedHalfWord(name, at: count &- 4)
        } else {
            var offset = 0
            while offset < count {
                setByte(ASCII.lowercased(name.byte(at: offset)), at: &offset)
            }
        }
    }

    @inline(__always)
    private mutating func copyLowercasedHalfWord(_ name: RawSpan, at offset: Int) {
        let bytes = ASCII.lowercased(name.halfWord(at: offset))
        storeBytes(of: UInt32(truncatingIfNeeded: bytes), toByteOffset: offset, as: UInt32.self)
    }
}

extension [UInt8] {
    /// Appends the bytes of a span.
    @inlinable
    package mutating func append(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { append(contentsOf: $0.bindMemory(to: UInt8.self)) }
    }
}
