import HTTP2Testing
import HTTPMessage
import Testing

@testable import HPACK

@Suite struct HPACKEncoderTests {
    // MARK: Wire format

    /// The examples of RFC 7541 appendix C.4, whose choices are this encoder's.
    @Test func examplesOfTheRFC() {
        var encoder = HPACKEncoder()
        let get = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")]
        #expect(encoder.encode(get) == fromHex("828684418cf1e3c2e5f23a6ba0ab90f4ff"))
        #expect(encoder.encode(get + [("cache-control", "no-cache")]) == fromHex("828684be5886a8eb10649cbf"))
        let last = [
            (":method", "GET"), (":scheme", "https"), (":path", "/index.html"), (":authority", "www.example.com"),
        ]
        #expect(
            encoder.encode(last + [("custom-key", "custom-value")])
                == fromHex("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"))
        #expect(encoder.tableSize == 164)
    }

    /// A pseudo-header field has the same representation as the field with its name, which is found in another way.
    @Test(arguments: [HPACKEncoder.Indexing.automatic, .never])
    func pseudoHeadersAreThoseOfTheirNames(indexing: HPACKEncoder.Indexing) {
        var (a, b) = (HPACKEncoder(), HPACKEncoder())
        for size in [4096, 100, 0, 4096] {
            a.setPeerTableSize(size)
            b.setPeerTableSize(size)
            for name in HPACKEncoder.PseudoHeader.allCases {
                for value in ["GET", "/", "/a", "/index.html", "200", "https", "example.org", "PUT", "201", "", "PUT"] {
                    var block: [UInt8] = []
                    a.beginBlock(into: &block)
                    a.encode(name, value.utf8.span.bytes, indexing: indexing, into: &block)
                    #expect(block == b.encode([(":\(name)", value)], indexing: indexing))
                }
            }
            #expect(a.tableSize == b.tableSize)
        }
    }

    @Test(arguments: [
        ("authorization", "Basic eDp5", true), ("proxy-authorization", "Basic eDp5", true),
        ("set-cookie", "id=0123456789abcdef0123456789", true), ("cookie", "id=0123456789abcdef", true),
        ("cookie", "id=0123456789abcdefg", false), ("Authorization", "Basic eDp5", true), ("COOKIE", "a", true),
        ("user-agent", "x", false), ("authorizatio", "x", false),
    ])
    func secretsAreNeverIndexed(name: String, value: String, isSecret: Bool) throws {
        var encoder = HPACKEncoder()
        for _ in 0..<2 {
            let block = encoder.encode([(name, value)])
            #expect((block[0] & 0xF0 == 0x10) == isSecret)
            var decoder = HPACKDecoder()
            if isSecret {
                let fields = try decoder.decode(block)
                #expect(fields.map(\.isNeverIndexed) == [true] && fields.lines == ["\(name.lowercased()): \(value)"])
                #expect(encoder.tableSize == 0 && decoder.tableSize == 0)
            }
        }
    }

    @Test func theCallerDecidesWhatElseIsNeverIndexed() throws {
        var encoder = HPACKEncoder()
        _ = encoder.encode([("x", "y")])
        let block = encoder.encode([("x", "y"), (":method", "GET"), ("new", "z")], indexing: .never)
        var decoder = HPACKDecoder()
        _ = try decoder.decode(fromHex("40017801 79"))
        let fields = try decoder.decode(block)
        #expect(fields.lines == ["x: y", ":method: GET", "new: z"] && fields.allSatisfy(\.isNeverIndexed))
        #expect(encoder.tableSize == 34)
    }

    @Test(arguments: [":path", "age", "content-length", "etag", "if-modified-since", "if-none-match", "location"])
    func valuesThatRarelyRepeatDoNotEnterTheTable(name: String) {
        var encoder = HPACKEncoder()
        #expect(encoder.encode([(name, "12345")])[0] & 0xF0 == 0)
        #expect(encoder.tableSize == 0)
    }

    @Test func aFieldThatWouldFillTheTableDoesNotEnterIt() {
        var encoder = HPACKEncoder()
        _ = encoder.encode([("x", String(repeating: "v", count: 3072 - 33))])
        #expect(encoder.tableSize == 3072)
        _ = encoder.encode([("y", String(repeating: "v", count: 3072 - 32))])
        #expect(encoder.tableSize == 3072)
    }

    @Test func huffmanCodesOnlyWhereTheyAreShorter() {
        var encoder = HPACKEncoder()
        #expect(encoder.encode([("x", "\u{1}\u{2}")], indexing: .never) == [0x10, 1, 0x78, 2, 1, 2])
        #expect(encoder.encode([("x", "aaaaaaaa")], indexing: .never) == fromHex("10 01 78 85 18c6318c63"))
        // As long as the text: no code.
        #expect(encoder.encode([("x", "&")], indexing: .never) == fromHex("10 01 78 01 26"))
        encoder.usesHuffmanCoding = false
        #expect(encoder.encode([("x", "aaaa")], indexing: .never) == fromHex("10 01 78 04 61616161"))
    }

    @Test(arguments: ["Content-Type", "X-ABC@[`{-Z", "A", "x-already-lower", "ÀÉ", String(repeating: "Ab", count: 300)])
    func namesAreSentInLowerCase(name: String) throws {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        let lowercased = name.utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
        for _ in 0..<2 {
            let fields = try decoder.decode(encoder.encode([(name, "v")]))
            #expect(Array(fields.bytes[fields[0].name]) == lowercased)
        }
    }

    @Test func fieldsOfAMessage() throws {
        let fields: HTTPFields = ["Accept": "*/*", "Cookie": "a=b", "X-One": "1"]
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        var block: [UInt8] = []
        encoder.beginBlock(into: &block)
        encoder.encode(fields, into: &block)
        #expect(try decoder.decode(block).lines == ["accept: */*", "cookie: a=b", "x-one: 1"])
    }

    // MARK: Size updates (RFC 7541 §4.2)

    @Test(arguments: [
        ([4096], ""), ([8192], ""), ([65536, 4096], ""), ([1000], "3fc907"), ([0], "20"), ([0, 4096], "20 3fe11f"),
        ([100, 50, 200], "3f13 3fa901"), ([200, 100], "3f45"), ([8192, 100], "3f45"), ([100, 1 << 31], "3f45 3fe11f"),
    ])
    func sizeUpdates(sizes: [Int], hex: String) throws {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        _ = try decoder.decode(encoder.encode([("x", "y")]))
        for size in sizes {
            encoder.setPeerTableSize(size)
            decoder.setMaximumTableSize(size)
        }
        let block = encoder.encode([("x", "y")])
        #expect(Array(block.prefix(fromHex(hex).count)) == fromHex(hex))
        #expect(try decoder.decode(block).lines == ["x: y"])
        #expect(encoder.tableSize == decoder.tableSize)
        #expect(encoder.encode([]) == [])
    }

    @Test func aTableOfSizeZeroStaysEmpty() throws {
        var encoder = HPACKEncoder()
        encoder.setPeerTableSize(0)
        var decoder = HPACKDecoder()
        decoder.setMaximumTableSize(0)
        for _ in 0..<3 { #expect(try decoder.decode(encoder.encode([("x", "y")])).lines == ["x: y"]) }
        #expect(encoder.tableSize == 0)
    }

    // MARK: Properties

    /// What is encoded is decoded, in pieces, while the size of the table changes at random; both tables stay equal.
    @Test(arguments: 0..<60) func decodesWhatItEncodes(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var encoder = HPACKEncoder()
        encoder.usesHuffmanCoding = seed % 5 != 0
        var decoder = HPACKDecoder()
        let names = [
            ":method", ":path", ":status", "accept", "cookie", "set-cookie", "etag", "x-a", "x-b", "x-c",
            "authorization",
            "a-name-that-is-rather-long-and-not-in-the-static-table", "",
        ]
        let values = ["", "GET", "/", "200", "*/*", "gzip, deflate", "a", String(repeating: "long ", count: 40)]
        var fields = HPACKFields()
        for _ in 0..<60 {
            for _ in 0..<Int.random(in: 0...2, using: &random) where Int.random(in: 0..<6, using: &random) == 0 {
                let size = [0, 40, 100, 1000, 4096, 10_000].randomElement(using: &random)!
                encoder.setPeerTableSize(size)
                decoder.setMaximumTableSize(size)
            }
            let list = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                let number = Int.random(in: 0..<100, using: &random)
                let bytes = (0..<number).map { _ in UInt8.random(in: 0...255, using: &random) }
                let value = number < 10 ? String(decoding: bytes, as: UTF8.self) : values.randomElement(using: &random)!
                return (names.randomElement(using: &random)!, value)
            }
            let block = encoder.encode(list, indexing: Int.random(in: 0..<8, using: &random) == 0 ? .never : .automatic)
            fields.removeAll()
            let cut = Int.random(in: 0...block.count, using: &random)
            try decoder.decode(block.span.bytes.extracting(0..<cut), isLast: false, into: &fields)
            try decoder.decode(block.span.bytes.extracting(cut...), isLast: true, into: &fields)
            #expect(fields.lines == list.map { "\($0.0): \($0.1)" })
            #expect(encoder.tableSize == decoder.tableSize && encoder.tableSize <= HPACKEncoder.maximumTableSize)
        }
    }

    /// The index finds the newest entry of a name, also after the table has been filled many times.
    @Test func entriesAreFoundUntilTheyAreEvicted() throws {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        for step in 0..<1000 {
            let list = [("x-name-\(step % 90)", "1"), ("x-name-\((step + 45) % 90)", "1"), ("x", "\(step % 7)")]
            let block = encoder.encode(list)
            // All 97 entries fit: behind the first round, each field is an index of one or two bytes.
            if step > 90 { #expect(encoder.tableSize == 4008 && block.count <= 6) }
            #expect(try decoder.decode(block).lines == list.map { "\($0.0): \($0.1)" })
        }
    }
}
