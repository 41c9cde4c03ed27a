@_spi(Packages) import HostResolver
import Testing

@Suite struct PercentEscapesTests {
    @Test(
        arguments: [
            ("", ""), ("a+b", "a+b"), ("%41%6a%6A", "Ajj"), ("%2541", "%41"), ("%", nil), ("a%4", nil), ("%4g", nil),
            ("%+1", nil),
            ("%%41", nil), ("%\u{661}\u{661}", nil),
        ] as [(String, String?)])
    func decodes(_ text: String, _ expected: String?) {
        #expect(PercentEscapes.decode(text.utf8) == expected.map { Array($0.utf8) })
    }

    @Test func onlyTheAllowedBytesMayBeEscaped() {
        #expect(PercentEscapes.decode("a%C3%A9".utf8) { $0 >= 0x80 } == Array("a\u{E9}".utf8))
        #expect(PercentEscapes.decode("%61%C3%A9".utf8) { $0 >= 0x80 } == nil)
    }
}
