import Testing

@testable import StreamKit

/// Messages that quote peers contain no control characters.
struct SentenceTests {
    @Test("Arguments contain no terminal control, line break or change of text direction")
    func escapesArguments() {
        let ranges: [ClosedRange<UInt32>] = [
            0...0x1F, 0x7F...0x9F, 0x61C...0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069,
        ]
        for scalar in ranges.joined().compactMap(Unicode.Scalar.init) {
            let sentence = Sentence("test", "It says %1.", "a\(Character(scalar))b")
            #expect(sentence.description == "It says a\\u{\(String(scalar.value, radix: 16))}b.")
            #expect(!sentence.arguments[0].unicodeScalars.contains(scalar))
        }
        #expect(Sentence("test", "%1\n", "grün, 日本").description == "grün, 日本\n")
    }
}
