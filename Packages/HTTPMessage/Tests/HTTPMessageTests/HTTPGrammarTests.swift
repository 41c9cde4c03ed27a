import Testing

@testable import HTTPMessage

@Suite struct HTTPGrammarTests {
    /// Every pair of bytes, at every place of a name shorter than, as long as and longer than eight bytes.
    @Test(arguments: [1, 7, 8, 9, 16, 19])
    func lettersOnly(_ length: Int) {
        for place in 0..<length {
            var left = [UInt8](repeating: UInt8(ascii: "-"), count: length)
            var right = left
            var wrong = 0
            for a in UInt8.min ... .max {
                left[place] = a
                for b in UInt8.min ... .max {
                    right[place] = b
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

    @Test func lengths() {
        let name = Array("Keep-Alive".utf8)
        name.withUnsafeBufferPointer { name in
            #expect(HTTPGrammar.equalsIgnoringCase(name, "keep-alive"))
            #expect(!HTTPGrammar.equalsIgnoringCase(name, "keep-aliv"))
            #expect(!HTTPGrammar.equalsIgnoringCase(name, "keep-alive "))
            #expect(!HTTPGrammar.equalsIgnoringCase(name, "keep-alivf"))
        }
        let none: [UInt8] = []
        none.withUnsafeBufferPointer { none in
            #expect(HTTPGrammar.equalsIgnoringCase(none, ""))
            #expect(!HTTPGrammar.equalsIgnoringCase(none, "x"))
        }
    }

    @Test func text() {
        #expect(HTTPGrammar.text(Array("plain".utf8)) == "plain")
        #expect(HTTPGrammar.text(Array("größer".utf8)[...]) == "größer")
        #expect(HTTPGrammar.text([0x67, 0xf6, 0x72]) == "gör")  // ISO 8859-1
        #expect(HTTPGrammar.text([]) == "")
    }
}
