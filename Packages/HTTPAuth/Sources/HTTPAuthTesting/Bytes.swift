package import HTTPAuth

/// Damages bytes in ways that break parsers, from a seed, so that each run is the same.
package struct Damage {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
    }

    /// Returns a pseudorandom number below `limit` (xorshift64).
    private mutating func number(below limit: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(max(1, limit)))
    }

    /// Returns `bytes` after one to four changes: a byte, a bit, a boundary value, a cut, a repetition or an insertion.
    package mutating func applied(to bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...number(below: 4) {
            let index = number(below: bytes.count)
            if bytes.isEmpty { return [UInt8(number(below: 256))] }
            switch number(below: 8) {
            case 0: bytes[index] = UInt8(number(below: 256))
            case 1: bytes[index] ^= 1 << UInt8(number(below: 8))
            case 2: bytes[index] = [0, 1, 0x7f, 0x80, 0x84, 0xfe, 0xff][number(below: 7)]
            case 3: bytes.removeSubrange(index...)
            case 4: bytes.remove(at: index)
            case 5: bytes.insert(contentsOf: bytes[..<index].suffix(number(below: 40)), at: index)
            case 6: bytes.insert(UInt8(number(below: 256)), at: index)
            default:
                for offset in 0..<min(4, bytes.count - index) { bytes[index + offset] = 0xff }
            }
        }
        return bytes
    }
}

/// Decodes hexadecimal digits; other characters are ignored.
package func bytes(_ digits: String) -> [UInt8] {
    let values = digits.compactMap(\.hexDigitValue)
    return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
}

/// Encodes bytes in two digits each.
package func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}

/// Returns the error of this package that `body` throws; otherwise nil.
package func failure(of body: () throws -> Void) -> HTTPAuthError? {
    do {
        try body()
        return nil
    } catch {
        return error as? HTTPAuthError
    }
}
