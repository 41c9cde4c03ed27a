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

    /// Replaces each byte of literals by each value, in both cases of the others.
    @Test(arguments: ["connection", "keep-alive", "content-length", "proxy-connection", "transfer-encoding"])
    func comparesWithLiterals(_ literal: String) {
        for text in [literal, literal.uppercased()] {
            for index in 0..<text.utf8.count {
                var wrong: [UInt8] = []
                for byte in UInt8.min ... .max {
                    var bytes = Array(text.utf8)
                    let expected = HTTPGrammar.lowercased(byte) == HTTPGrammar.lowercased(bytes[index])
                    bytes[index] = byte
                    let isEqual = bytes.withUnsafeBytes { bytes -> Bool in
                        guard let bytes = bytes.baseAddress else { return false }
                        switch literal {
                        case "connection": return HTTPGrammar.isEqual(bytes, "connection")
                        case "keep-alive": return HTTPGrammar.isEqual(bytes, "keep-alive")
                        case "content-length": return HTTPGrammar.isEqual(bytes, "content-length")
                        case "proxy-connection": return HTTPGrammar.isEqual(bytes, "proxy-connection")
                        default: return HTTPGrammar.isEqual(bytes, "transfer-encoding")
                        }
                    }
                    // CR is as good as a hyphen, because it cannot occur there.
                    if isEqual != expected, byte != HTTPGrammar.cr { wrong.append(byte) }
                }
                #expect(wrong.isEmpty)
            }
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
