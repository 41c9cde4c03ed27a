import HTTPMessage
import Testing

@testable import HTTP2

struct FieldBytesTests {
    /// Each length, and at each position each byte: words are compared, so that a length has its own path.
    @Test func literalsAreComparedByteByByte() {
        func check(_ literal: StaticString) {
            let letters = Array("\(literal)".utf8)
            for position in letters.indices {
                for byte in UInt8.min...UInt8.max {
                    var bytes = letters
                    bytes[position] = byte
                    let isEqual = bytes.span.bytes.isEqual(literal)
                    #expect(isEqual == (bytes == letters))
                    let isSame = ASCII.lowercased(byte) == letters[position]
                    let isEqualIgnoringCase = bytes.span.bytes.isEqualIgnoringCase(literal)
                    #expect(isEqualIgnoringCase == isSame, "\(bytes)")
                }
            }
            for other in [Array(letters.dropLast()), letters + [0]] {
                let isEqual = other.span.bytes.isEqual(literal) || other.span.bytes.isEqualIgnoringCase(literal)
                #expect(!isEqual)
            }
        }
        check("a")
        check("te")
        check("a-z")
        check("host")
        check("a`z{|")
        check("upgrade")
        check("content_")
        check("connection")
        check("proxy-connection")
        check("transfer-encoding")
    }
}
