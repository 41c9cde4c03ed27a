import Testing

@testable import HTTPMessage

@Suite struct HTTPGrammarTests {
    /// Compares every pair of bytes at every index of names that are shorter than, as long as and longer than eight bytes.
    @Test(arguments: [1, 7, 8, 9, 16, 19])
    func ignoresCaseOfLettersOnly(_ length: Int) {
        for index in 0..<length {
            var left = [UInt8](repeating: UInt8(ascii: "-"), count: length)
            var right = left
            var wrong = 0
            for a in UInt8.min ... .max {
                left[index] = a
                for b in UInt8.min ... .max {
                    right[index] = b
                    let same = left.withUnsafeBytes { left in
                        right.withUnsafeBytes { right in
                            guard let left = left.baseAddress, let right = right.baseAddress else { return false }
                            return HTTPGrammar.equalsIgnoringCase(left, right, count: length)
                        }
                    }
                    if same != (HTTPGrammar.lowercased(a) == HTTPGrammar.lowercased(b)) { wrong += 1 }
                }
            }
            #expect(wrong == 0)
        }
    }

    @Test func comparesLengths() {
        let name = Array("Keep-Alive".utf8)
        name.withUnsafeBufferPointer { name in
            #expect(HTTPGrammar.equalsIgnoringCase(name, "keep-alive"))
            #expect(!HTTPGrammar.equalsIgnoringCase(name, "keep-aliv"))
            #expect(!HTTPGrammar.equalsIgnoringCase(name, "keep-alive "))
            #expect(!HTTPGrammar.equalsIgnoringCase(name, "keep-alivf"))
        }
        let empty: [UInt8] = []
        empty.withUnsafeBufferPointer { empty in
            #expect(HTTPGrammar.equalsIgnoringCase(empty, ""))
            #expect(!HTTPGrammar.equalsIgnoringCase(empty, "x"))
        }
    }

    @Test func decodesText() {
        #expect(HTTPGrammar.text(Array("plain".utf8)) == "plain")
        #expect(HTTPGrammar.text(Array("größer".utf8)[...]) == "größer")
        #expect(HTTPGrammar.text([0x67, 0xf6, 0x72]) == "gör")  // ISO 8859-1
        #expect(HTTPGrammar.text([]) == "")
    }
}
