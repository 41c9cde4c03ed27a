import HTTP2Testing
import Testing

@testable import HPACK

@Suite struct HuffmanCodeTests {
    private let code = HuffmanCode.shared

    /// The encoded form, or nil if it would not be shorter.
    private func encode(_ text: [UInt8]) -> [UInt8]? {
        var encoder = HuffmanEncoder()
        return encoder.encode(text.span.bytes, .shared).map { Array(encoder.memory[..<$0]) }
    }

    private func decode(_ bytes: [UInt8]) -> [UInt8]? {
        // The memory is exactly as long as the decoder may need.
        var text = [UInt8](repeating: 0, count: HuffmanDecoding.maximumLength(ofDecoded: bytes.count))
        var end = 0
        var span = text.mutableSpan
        var memory = span.mutableBytes
        guard code.decode(bytes.span.bytes, into: &memory, at: &end) else { return nil }
        return Array(text[..<end])
    }

    /// A bit is an element: the code as its definition says it, to compare with.
    private func bits(of text: [UInt8]) -> [Bool] {
        text.flatMap { byte in
            let entry = code.codes[Int(byte)]
            return (0..<Int(entry & 0xFF)).reversed().map { entry >> (8 + $0) & 1 == 1 }
        }
    }

    private func bytes(of bits: [Bool]) -> [UInt8] {
        stride(from: 0, to: bits.count, by: 8).map { start in
            (0..<8).reduce(0) { $0 << 1 | (start + $1 < bits.count && !bits[start + $1] ? 0 : 1) }
        }
    }

    /// The strings of RFC 7541 appendices C.4 and C.6.
    @Test(arguments: [
        ("www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"), ("no-cache", "a8eb10649cbf"),
        ("custom-key", "25a849e95ba97d7f"),
        ("custom-value", "25a849e95bb8e8b4bf"), ("302", "6402"), ("private", "aec3771a4b"),
        ("Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"),
        ("https://www.example.com", "9d29ad171863c78f0b97c8e9ae82ae43d3"), ("307", "640eff"), ("gzip", "9bd9ab"),
        (
            "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            "94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007"
        ),
    ])
    func examples(text: String, hex: String) {
        #expect(encode(Array(text.utf8)) == (hex.utf8.count < 2 * text.utf8.count ? fromHex(hex) : nil))
        #expect(decode(fromHex(hex)).map { String(decoding: $0, as: UTF8.self) } == text)
    }

    @Test func codesArePrefixFreeAndComplete() {
        let lengths = HuffmanCode.codeLengths.map(Int.init)
        #expect(lengths.count == 257)
        #expect(lengths.reduce(0) { $0 + 1 << (30 - $1) } == 1 << 30)
        #expect(code.codes[HuffmanCode.endOfString] == 0x3FFF_FFFF << 8 | 30)
    }

    @Test func pairsOfSymbols() {
        for first in 0...255 as ClosedRange<UInt8> {
            for second in stride(from: first % 5, to: 255, by: 5) {
                let text = [first, second, UInt8(ascii: "a"), first]
                let encoded = bytes(of: bits(of: text))
                guard encode(text) == (encoded.count < text.count ? encoded : nil), decode(encoded) == text else {
                    Issue.record("\(text)")
                    return
                }
            }
        }
    }

    @Test(arguments: 0..<40) func randomStrings(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<100 {
            let isText = Bool.random(using: &random)
            let text = (0..<Int.random(in: 0...100, using: &random)).map { _ in
                isText ? UInt8.random(in: 0x20...0x7E, using: &random) : UInt8.random(in: 0...255, using: &random)
            }
            let encoded = bytes(of: bits(of: text))
            #expect(encode(text) == (encoded.count < text.count ? encoded : nil))
            #expect(decode(encoded) == text)
        }
    }

    /// Each sequence of bits is either a text with a padding or an error, and both decoders agree which.
    @Test(arguments: 0..<40) func randomBytesDecodeAsDefined(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<200 {
            var input = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { input += [0xFF, 0xFF].prefix(Int.random(in: 0...2, using: &random)) }
            #expect(decode(input) == decodeBitByBit(input), "\(input)")
        }
    }

    private func decodeBitByBit(_ input: [UInt8]) -> [UInt8]? {
        var symbols: [UInt64: Int] = [:]
        for (symbol, entry) in code.codes.enumerated() { symbols[entry] = symbol }
        var (pending, count): (UInt64, UInt64) = (0, 0)
        var text: [UInt8] = []
        for byte in input {
            for shift in (0..<8).reversed() {
                pending = pending << 1 | UInt64(byte >> shift & 1)
                count += 1
                guard let symbol = symbols[pending << 8 | count] else { continue }
                if symbol == HuffmanCode.endOfString { return nil }
                text.append(UInt8(symbol))
                (pending, count) = (0, 0)
            }
        }
        return count < 8 && pending == 1 << count - 1 ? text : nil
    }

    @Test(arguments: [
        "ff", "1fff", "ffff",  // padding of 8 bits and more
        "18", "00", "1e",  // padding that is not all ones
        "fffffffc", "ffffffff", "3fffffff",  // the symbol for the end, within and at the end
    ])
    func rejects(hex: String) {
        #expect(decode(fromHex(hex)) == decodeBitByBit(fromHex(hex)))
        #expect(decode(fromHex(hex)) == nil)
    }

    @Test func emptyString() {
        #expect(encode([]) == nil && decode([]) == [])
    }
}
