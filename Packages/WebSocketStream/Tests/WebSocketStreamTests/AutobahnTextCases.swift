@testable import WebSocketStream

private func hex(_ text: String) -> [UInt8] {
    let digits = text.filter { $0 != " " }
    return stride(from: 0, to: digits.count, by: 2).map { offset in
        let start = digits.index(digits.startIndex, offsetBy: offset)
        return UInt8(digits[start...digits.index(after: start)], radix: 16) ?? 0
    }
}

extension AutobahnCase {
    /// 6: text, with sequences of Markus Kuhn's decoder stress test.
    static let text: [AutobahnCase] = texts + failingFast + sequences

    private static let texts: [AutobahnCase] = {
        let greeting = "Hello-µ@ßöäüàá-UTF-8!!"
        let start = Array("Hello-µ@ßöä".utf8)
        let end = Array("üàá-UTF-8!!".utf8)
        let kosme = hex("cebae1bdb9cf83cebcceb5")
        let invalid = hex("cebae1bdb9cf83cebcceb5 eda080 656469746564")
        return [
            AutobahnCase("6.1.1", echoes: [.text("")]),
            AutobahnCase(
                "6.1.2", [.text("", isFinal: false), .more([], isFinal: false), .more([], isFinal: true)],
                .sends([.text("")])),
            AutobahnCase(
                "6.1.3",
                [.text("", isFinal: false), .more("middle frame payload", isFinal: false), .more([], isFinal: true)],
                .sends([.text("middle frame payload")])),
            AutobahnCase("6.2.1", echoes: [.text(greeting)]),
            AutobahnCase(
                "6.2.2", [.text(start, isFinal: false), .more(end, isFinal: true)], .sends([.text(greeting)])),
            AutobahnCase(
                "6.2.3", WireFrame.fragments(1, Array(greeting.utf8), of: 1), .sends([.text(greeting)])),
            AutobahnCase("6.2.4", WireFrame.fragments(1, kosme, of: 1), .sends([.text(kosme)])),
            AutobahnCase("6.3.1", [.text(invalid)], .fails(1007)),
            AutobahnCase("6.3.2", WireFrame.fragments(1, invalid, of: 1), .fails(1007)),
        ]
    }()

    /// 6.4: the message is invalid before its last frame, or its last byte, has arrived; the rest is never sent.
    private static let failingFast: [AutobahnCase] = {
        let valid = hex("cebae1bdb9cf83cebcceb5")
        return [
            AutobahnCase(
                "6.4.1", [.text(valid, isFinal: false), .more(hex("f4908080"), isFinal: false)], .fails(1007)),
            AutobahnCase(
                "6.4.2", [.text(valid + hex("f4"), isFinal: false), .more(hex("90"), isFinal: false)], .fails(1007)),
        ]
    }()

    /// The start of a frame whose rest is never sent (6.4.3 and 6.4.4): valid bytes, an invalid sequence, and `missing` bytes.
    static let unfinished: [(id: String, payload: [UInt8], missing: Int)] = [
        ("6.4.3", hex("cebae1bdb9cf83cebcceb5 f4908080"), 6),
        ("6.4.4", hex("cebae1bdb9cf83cebcceb5 f490"), 8),
    ]

    private static let sequences: [AutobahnCase] = {
        let valid: [(String, [String])] = [
            ("6.5", ["cebae1bdb9cf83cebcceb5", "ce93ceb5ceb9ceac", "d0bfd180d0b8", "e4bda0e5a5bd", "f09f9880"]),
            ("6.7", ["00", "c280", "e0a080", "f0908080"]),
            ("6.9", ["7f", "dfbf", "efbfbf", "f48fbfbf"]),
            ("6.22", noncharacters),
            ("6.23", ["efbfb9", "efbfba", "efbfbb", "efbfbc", "efbfbd", "efbfbe", "efbfbf"]),
        ]
        let invalid: [(String, [String])] = [
            ("6.8", ["f888808080", "fc8480808080"]),
            ("6.10", ["f7bfbfbf", "fbbfbfbfbf", "fdbfbfbfbfbf"]),
            (
                "6.12",
                [
                    "80", "bf", "80bf", "80bf80", "80bf80bf", "80bf80bf80", "80bf80bf80bf",
                    (0x80...0xBF).map { String($0, radix: 16) }.joined(),
                ]
            ),
            ("6.13", [lone(0xC0...0xDF), lone(0xE0...0xEF), lone(0xF0...0xF7), lone(0xF8...0xFB), lone(0xFC...0xFD)]),
            ("6.14", incomplete),
            ("6.15", [incomplete.joined()]),
            ("6.16", ["fe", "ff", "fefeffff"]),
            ("6.17", ["c0af", "e080af", "f08080af", "f8808080af", "fc80808080af"]),
            ("6.18", ["c1bf", "e09fbf", "f08fbfbf", "f887bfbfbf", "fc83bfbfbfbf"]),
            ("6.19", ["c080", "e08080", "f0808080", "f880808080", "fc8080808080"]),
            ("6.20", ["eda080", "edadbf", "edae80", "edafbf", "edb080", "edbe80", "edbfbf"]),
            (
                "6.21",
                [
                    "eda080edb080", "eda080edbfbf", "edadbfedb080", "edadbfedbfbf", "edae80edb080", "edae80edbfbf",
                    "edafbfedb080", "edafbfedbfbf",
                ]
            ),
        ]
        var cases: [AutobahnCase] = []
        for (group, list) in valid {
            for (index, text) in list.enumerated() {
                cases.append(AutobahnCase("\(group).\(index + 1)", echoes: [.text(hex(text))]))
            }
        }
        for (group, list) in invalid {
            for (index, text) in list.enumerated() {
                cases.append(AutobahnCase("\(group).\(index + 1)", [.text(hex(text))], .fails(1007)))
            }
        }
        // 6.6: every prefix of a text. It is valid where a character ends.
        let kosme = hex("cebae1bdb9cf83cebcceb5")
        let ends: Set<Int> = [2, 5, 7, 9, 11]
        for count in 1...kosme.count {
            let frame = WireFrame.text(Array(kosme[..<count]))
            cases.append(
                AutobahnCase("6.6.\(count)", [frame], ends.contains(count) ? .sends([frame]) : .fails(1007)))
        }
        // 6.11: the neighbours of the boundaries.
        for (index, text) in ["ed9fbf", "ee8080", "efbfbd", "f48fbfbf"].enumerated() {
            cases.append(AutobahnCase("6.11.\(index + 1)", echoes: [.text(hex(text))]))
        }
        cases.append(AutobahnCase("6.11.5", [.text(hex("f4908080"))], .fails(1007)))
        return cases
    }()

    /// Start bytes, each followed by a space.
    private static func lone(_ bytes: ClosedRange<Int>) -> String {
        bytes.map { String($0, radix: 16) + "20" }.joined()
    }

    /// Sequences without their last byte.
    private static let incomplete = [
        "c0", "e080", "f08080", "f8808080", "fc80808080", "df", "efbf", "f7bfbf", "fbbfbfbf", "fdbfbfbfbf",
    ]

    /// U+FFFE and U+FFFF of each plane, which are valid.
    private static let noncharacters: [String] = (0...16).flatMap { plane in
        [0xFFFE, 0xFFFF].map { low in
            let scalar = Unicode.Scalar(UInt32(plane << 16 | low)) ?? " "
            return Array(String(scalar).utf8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
    }
}
