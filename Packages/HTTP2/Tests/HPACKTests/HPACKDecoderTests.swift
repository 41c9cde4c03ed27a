import Testing

@testable import HPACK

@Suite struct HPACKDecoderTests {
    /// Blocks for one decoder in order, and the size of the table behind each: RFC 7541 appendix C.
    struct Example: Sendable, CustomTestStringConvertible {
        var section: String
        var tableSize = 4096
        var blocks: [(hex: String, lines: [String], size: Int)]

        var testDescription: String { section }
    }

    private static let requests: [(lines: [String], size: Int)] = [
        ([":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"], 57),
        ([":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com", "cache-control: no-cache"], 110),
        (
            [
                ":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com",
                "custom-key: custom-value",
            ], 164
        ),
    ]

    private static let responses: [(lines: [String], size: Int)] = [
        (
            [
                ":status: 302", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:21 GMT",
                "location: https://www.example.com",
            ], 222
        ),
        (
            [
                ":status: 307", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:21 GMT",
                "location: https://www.example.com",
            ], 222
        ),
        (
            [
                ":status: 200", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:22 GMT",
                "location: https://www.example.com", "content-encoding: gzip",
                "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            ], 215
        ),
    ]

    private static func example(
        _ section: String, tableSize: Int = 4096, _ results: [(lines: [String], size: Int)], _ hex: [String]
    ) -> Example {
        Example(section: section, tableSize: tableSize, blocks: zip(hex, results).map { ($0, $1.lines, $1.size) })
    }

    static let examples = [
        example(
            "C.2.1", [(["custom-key: custom-header"], 55)], ["400a637573746f6d2d6b65790d637573746f6d2d686561646572"]),
        example("C.2.2", [([":path: /sample/path"], 0)], ["040c2f73616d706c652f70617468"]),
        example("C.2.3", [(["password: secret"], 0)], ["100870617373776f726406736563726574"]),
        example("C.2.4", [([":method: GET"], 0)], ["82"]),
        example(
            "C.3", requests,
            [
                "828684410f7777772e6578616d706c652e636f6d", "828684be58086e6f2d6361636865",
                "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
            ]),
        example(
            "C.4", requests,
            [
                "828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf",
                "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
            ]),
        example(
            "C.5", tableSize: 256, responses,
            [
                """
                4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f\
                7777772e6578616d706c652e636f6d
                """,
                "4803333037c1c0bf",
                """
                88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b42\
                5a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31
                """,
            ]),
        example(
            "C.6", tableSize: 256, responses,
            [
                "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
                "4883640effc1c0bf",
                """
                88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af2708\
                7f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007
                """,
            ]),
    ]

    @Test(arguments: examples) func examplesOfTheRFC(example: Example) throws {
        var decoder = HPACKDecoder(maximumTableSize: example.tableSize)
        for block in example.blocks {
            let fields = try decoder.decode(fromHex(block.hex))
            #expect(fields.lines == block.lines)
            #expect(decoder.tableSize == block.size)
            #expect(fields.listSize == block.lines.reduce(0) { $0 + $1.utf8.count - 2 + 32 })
        }
    }

    @Test(arguments: examples) func everySplit(example: Example) throws {
        let blocks = example.blocks.map { fromHex($0.hex) }
        for cut in 0...(blocks.map(\.count).max() ?? 0) {
            for isBytewise in [false, true] {
                var decoder = HPACKDecoder(maximumTableSize: example.tableSize)
                var fields = HPACKFields()
                for (block, expected) in zip(blocks, example.blocks) {
                    fields.removeAll()
                    let cuts = isBytewise ? Array(block.indices) : [min(cut, block.count)]
                    for (start, end) in zip([0] + cuts, cuts + [block.count]) {
                        let piece = block.span.bytes.extracting(start..<end)
                        try decoder.decode(piece, isLast: end == block.count && start == cuts.last, into: &fields)
                    }
                    #expect(fields.lines == expected.lines && decoder.tableSize == expected.size)
                }
            }
        }
    }

    @Test func anIncompletePieceYieldsItsCompleteFields() throws {
        var decoder = HPACKDecoder()
        var fields = HPACKFields()
        try decoder.decode(fromHex("828684410f7777").span.bytes, isLast: false, into: &fields)
        #expect(fields.lines == [":method: GET", ":scheme: http", ":path: /"])
        try decoder.decode(fromHex("772e6578616d706c652e636f6d").span.bytes, isLast: true, into: &fields)
        #expect(fields.count == 4)
    }

    @Test(arguments: [
        ("80", HPACKError.Code.invalidIndex),  // index 0
        ("be", .invalidIndex),  // behind the static table
        ("7f0a0f7777772e6578616d706c652e636f6d", .invalidIndex),  // a name at 73
        ("7e0161", .invalidIndex), ("0f300161", .invalidIndex), ("1f300161", .invalidIndex),
        ("ff", .truncated), ("ff80", .truncated), ("00", .truncated), ("000161", .truncated), ("00016101", .truncated),
        ("40", .truncated), ("4001", .truncated), ("1f", .truncated), ("3f", .truncated),
        ("0001617f80ffffff0f", .integerTooLarge), ("ff8080808010", .integerTooLarge),
        ("3fffffffffff7f", .integerTooLarge),
        ("000161821fff", .invalidHuffmanCode), ("00016184ffffffff", .invalidHuffmanCode),
        ("00811800", .invalidHuffmanCode),
        ("823f", .misplacedSizeUpdate), ("8220", .misplacedSizeUpdate), ("202020", .misplacedSizeUpdate),
        ("3fe21f", .tableSizeTooLarge),  // 4,097
    ])
    func rejects(hex: String, code: HPACKError.Code) {
        let block = fromHex(hex)
        for isBytewise in [false, true] {
            var decoder = HPACKDecoder()
            var fields = HPACKFields()
            let error = #expect(throws: HPACKError.self) {
                for (offset, byte) in block.enumerated() where isBytewise {
                    try decoder.decode([byte].span.bytes, isLast: offset == block.count - 1, into: &fields)
                }
                if !isBytewise { try decoder.decode(block.span.bytes, isLast: true, into: &fields) }
            }
            #expect(error?.code == code)
        }
    }

    @Test func errorsSayWhichRule() {
        for code in HPACKError.Code.allCases {
            let error = HPACKError(code)
            #expect(error.rule.hasPrefix("RFC 7541 §") && "\(error)".hasSuffix(" (\(error.rule))"))
        }
    }

    /// Sizes that no table can have are those that come nearest.
    @Test(arguments: [Int.max, .min]) func extremeTableSizes(_ size: Int) throws {
        var decoder = HPACKDecoder(maximumTableSize: size)
        var fields = HPACKFields()
        // A string that is not complete.
        try decoder.decode(fromHex("40 05 61").span.bytes, isLast: false, into: &fields)
        #expect(fields.isEmpty)
        decoder.setMaximumTableSize(size)
        var encoder = HPACKEncoder()
        encoder.setPeerTableSize(size)
        var block: [UInt8] = []
        encoder.beginBlock(into: &block)
        #expect(block == (size < 0 ? [0x20] : []))
    }

    @Test func aListFarBeyondTheLimits() throws {
        var limits = HPACKLimits()
        (limits.listSize, limits.droppedSize) = (40, 100)
        // Each field counts 34 bytes.
        for (count, isAccepted) in [(1, true), (4, true), (5, false)] {
            for prefix in [0x00, 0x40] as [UInt8] {
                var decoder = HPACKDecoder(limits: limits)
                var fields = HPACKFields()
                let block = [[UInt8]](repeating: [prefix, 1, 0x61, 1, 0x62], count: count).flatMap { $0 }
                var code: HPACKError.Code?
                do throws(HPACKError) {
                    try decoder.decode(block.span.bytes, isLast: true, into: &fields)
                } catch {
                    code = error.code
                }
                #expect(code == (isAccepted ? nil : .listTooLarge))
            }
        }
    }

    @Test func emptyBlock() throws {
        var decoder = HPACKDecoder()
        #expect(try decoder.decode([]).isEmpty)
    }

    @Test func neverIndexedFieldsAreMarked() throws {
        var decoder = HPACKDecoder()
        let fields = try decoder.decode(fromHex("1001610162 000161 0162 4001610162 be"))
        #expect(fields.lines == ["a: b", "a: b", "a: b", "a: b"])
        #expect(fields.map(\.isNeverIndexed) == [true, false, false, false])
    }

    // MARK: Size updates (RFC 7541 §4.2)

    @Test func sizeUpdatesEvict() throws {
        var decoder = HPACKDecoder()
        _ = try decoder.decode(fromHex("4001610162 4001630164"))
        #expect(decoder.tableSize == 68 && decoder.tableCount == 2)
        #expect(try decoder.decode(fromHex("3f17 be")).lines == ["c: d"])  // 54
        #expect(decoder.tableSize == 34)
        #expect(try decoder.decode(fromHex("20 3fe11f")).isEmpty)  // 0, then 4,096
        #expect(decoder.tableSize == 0)
        #expect(throws: HPACKError(.invalidIndex)) { try decoder.decode(fromHex("be")) }
    }

    @Test(
        arguments: [
            ([1000], "3fc907", nil), ([1000], "82", HPACKError.Code.missingSizeUpdate),
            ([1000], "3fca07", .tableSizeTooLarge),  // 1,001
            ([0], "20", nil), ([0], "4001610162", .missingSizeUpdate),
            ([100, 4096], "82", .missingSizeUpdate), ([100, 4096], "3fe11f", .missingSizeUpdate),
            ([100, 4096], "3f45 3fe11f 82", nil), ([100, 4096], "20 82", nil),
            ([100, 50, 4096], "3f45 82", .missingSizeUpdate),
            ([8192], "82", nil), ([8192], "3fe13f 82", nil), ([8192, 4096], "82", nil),
        ] as [([Int], String, HPACKError.Code?)])
    func aSmallerTableMustBeConfirmed(sizes: [Int], hex: String, code: HPACKError.Code?) throws {
        var decoder = HPACKDecoder()
        for size in sizes { decoder.setMaximumTableSize(size) }
        if let code {
            #expect(throws: HPACKError(code)) { try decoder.decode(fromHex(hex)) }
        } else {
            _ = try decoder.decode(fromHex(hex))
            _ = try decoder.decode(fromHex("82"))
        }
    }

    // MARK: Limits

    private func literal(_ name: Int, _ value: Int, first: UInt8 = 0x40) -> [UInt8] {
        func string(_ count: Int) -> [UInt8] {
            var bytes: [UInt8] = []
            PrefixedInteger.append(count, prefix: 7, pattern: 0, to: &bytes)
            return bytes + [UInt8](repeating: UInt8(ascii: "x"), count: count)
        }
        return [first] + string(name) + string(value)
    }

    @Test(arguments: [1, 7, 100, 16384]) func fieldsBeyondALimitAreDroppedAndTheTableStaysRight(pieceLength: Int) throws
    {
        var limits = HPACKLimits()
        limits.listSize = 200
        var decoder = HPACKDecoder(limits: limits)
        var reference = HPACKDecoder()
        // The third field does not fit. The fourth would, but a list with a hole is not kept.
        let block = literal(3, 60) + literal(3, 60) + literal(50, 40) + literal(1, 1) + [0xBE, 0xBF, 0x82]
        let whole = try reference.decode(block)
        var fields = HPACKFields()
        for start in stride(from: 0, to: block.count, by: pieceLength) {
            let end = min(start + pieceLength, block.count)
            try decoder.decode(block.span.bytes.extracting(start..<end), isLast: end == block.count, into: &fields)
        }
        #expect(fields.lines == Array(whole.lines[..<2]))
        #expect(fields.droppedCount == 5 && fields.listSize == whole.listSize)
        #expect(decoder.tableSize == reference.tableSize)
        let next = fromHex("be bf c0 c1")
        #expect(try decoder.decode(next.dropLast(3) + []).lines == reference.decode(next.dropLast(3) + []).lines)
    }

    @Test func aDroppedFieldDoesNotCopyTheNameOfAnEntry() throws {
        var limits = HPACKLimits()
        limits.listSize = 5000
        var decoder = HPACKDecoder(limits: limits)
        _ = try decoder.decode(literal(4000, 0))
        limits.listSize = 100
        decoder.limits = limits
        // Two literals without indexing, whose name is that of the entry 62.
        let fields = try decoder.decode([0x0F, 0x2F, 1, 0x61, 0x0F, 0x2F, 1, 0x62])
        #expect(fields.isEmpty && fields.droppedCount == 2 && fields.listSize == 2 * (4000 + 1 + 32))
        #expect(fields.bytes.count < 4000)
    }

    @Test func tooManyFieldsAreDropped() throws {
        var decoder = HPACKDecoder()
        let fields = try decoder.decode([UInt8](repeating: 0x82, count: 300))
        #expect(fields.count == 256 && fields.droppedCount == 44 && fields.listSize == 300 * 42)
    }

    @Test func aBombCostsNoMemory() throws {
        var limits = HPACKLimits()
        limits.droppedSize = 1 << 30
        var decoder = HPACKDecoder(limits: limits)
        let block = literal(1, 4000) + [UInt8](repeating: 0xBE, count: 16_000)
        let fields = try decoder.decode(block)
        #expect(fields.listSize == 16_001 * 4033 && fields.bytes.count <= 512 * 1024)
        #expect(fields.count == 64)
    }

    /// A string above the limit is passed over: name or value, indexed or not, in pieces of any length.
    @Test(arguments: [1, 13, 999, 1 << 20], [0x40, 0x00, 0x10] as [UInt8])
    func longStringsAreNotKept(pieceLength: Int, first: UInt8) throws {
        var limits = HPACKLimits()
        limits.listSize = 1000
        for (name, value) in [(17_000, 10), (10, 17_000), (17_000, 0), (17_000, 17_000)] {
            var decoder = HPACKDecoder(limits: limits)
            let before = try decoder.decode(literal(1, 1))
            #expect(before.count == 1 && decoder.tableCount == 1)
            let block = [0x82] + literal(name, value, first: first) + [0x84]
            var fields = HPACKFields()
            for start in stride(from: 0, to: block.count, by: pieceLength) {
                let end = min(start + pieceLength, block.count)
                try decoder.decode(block.span.bytes.extracting(start..<end), isLast: end == block.count, into: &fields)
                if pieceLength < 1000 { #expect(fields.bytes.count < 20_000) }
            }
            #expect(fields.lines == [":method: GET"] && fields.droppedCount == 2)
            #expect(fields.listSize == 42 + name + value + 32 + 38)
            #expect(decoder.tableCount == (first == 0x40 ? 0 : 1))
            #expect(try decoder.decode(literal(2, 2) + [0xBE]).lines == ["xx: xx", "xx: xx"])
        }
    }

    @Test func aBlockThatEndsWithinALongStringIsTruncated() throws {
        for (name, value) in [(300_000, 10), (10, 300_000)] {
            let block = literal(name, value)
            var decoder = HPACKDecoder()
            var fields = HPACKFields()
            try decoder.decode(block.span.bytes.extracting(0..<20_000), isLast: false, into: &fields)
            #expect(throws: HPACKError(.truncated)) {
                try decoder.decode(block.span.bytes.extracting(20_000..<30_000), isLast: true, into: &fields)
            }
        }
    }

    @Test func theListIsUsedAgain() throws {
        var decoder = HPACKDecoder()
        var fields = HPACKFields()
        for _ in 0..<3 {
            fields.removeAll()
            try decoder.decode(fromHex("828684").span.bytes, isLast: true, into: &fields)
            #expect(fields.lines == [":method: GET", ":scheme: http", ":path: /"])
            #expect(fields.listSize == 42 + 43 + 38 && fields.droppedCount == 0)
        }
    }
}
