import EventLoops
import Testing

struct SentenceTests {
    @Test(
        arguments: [
            ("plain", [], "plain"),
            ("%1 and %2, %1", ["a", "b"], "a and b, a"),
            ("100% of %1", ["it"], "100% of it"),
            ("%3 %0 %", ["a"], "%3 %0 %"),
            ("%1", ["%2"], "%2"),
            ("no such host[: %1]", ["a"], "no such host: a"),
            ("no such host[: %1]", [""], "no such host"),
            ("no such host[: %1]", [nil], "no such host"),
            ("failed[ for %1][: %2] now", [nil, "b"], "failed: b now"),
            ("failed[ for %1: %2]", ["a", nil], "failed"),
            ("open [ and ] closed", [], "open  and  closed"),
            ("an open [%1", ["a"], "an open [a"),
            ("%1", ["[x]"], "[x]"),
        ] as [(String, [String?], String)])
    func fillsTemplates(_ template: String, _ arguments: [String?], _ text: String) {
        let sentence =
            switch arguments.count {
            case 1: Sentence("test.template", template, arguments[0])
            case 2: Sentence("test.template", template, arguments[0], arguments[1])
            default: Sentence("test.template", template)
            }
        #expect(sentence.description == text)
    }

    @Test("A catalogue translates its keys; other keys stay English") func catalogue() {
        let sentence = Sentence("test.catalogue", "Hello %1", "you")
        Sentence.catalogue(["test.catalogue": "Hallo[ %1]"])
        defer { Sentence.catalogue([:]) }
        #expect(sentence.description == "Hallo you")
        #expect(sentence.template == "Hello %1")
        #expect(Sentence("test.other", "Hello").description == "Hello")
    }

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

    @Test("A combining mark after a bracket or a percent sign does not hide it") func combiningMarks() {
        #expect(Sentence("test", "a[\u{301}%1]", nil).description == "a")
        #expect(Sentence("test", "%1\u{301}", "e").description.unicodeScalars.elementsEqual("e\u{301}".unicodeScalars))
    }

    @Test("A long argument is cut off") func longArguments() {
        let limit = Sentence.maximumArgumentLength
        #expect(Sentence("test", "%1", String(repeating: "a", count: limit)).arguments[0].count == limit)
        #expect(Sentence("test", "%1", String(repeating: "a", count: limit + 1)).arguments[0].hasSuffix("a…"))
        #expect(Sentence("test", "%1", String(repeating: "é", count: limit)).arguments[0].count == limit)
    }
}
