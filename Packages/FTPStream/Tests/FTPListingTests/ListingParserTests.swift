import FTPListing
import Testing

/// Parsing line by line: the bytes used, the entries returned, the errors.
struct ListingParserTests {
    /// Each option changes the result. An option without a row here fails the test.
    // Parity: FT-071
    @Test func eachOptionChangesTheResult() throws {
        // 21 hours in the future of a server in UTC.
        let line = Array("-rw-r--r-- 1 ann staff 12 Nov 22 09:00 notes.txt\n".utf8)
        func read(_ change: (inout ListingOptions) -> Void) -> String {
            var options = Self.options
            change(&options)
            do throws(ListingError) {
                let entries = try ListingParser.entries(of: line, options)
                return entries.map { "\($0.name) \($0.date?.year ?? 0)" }.joined()
            } catch {
                return "\(error)"
            }
        }
        let rows: [String: (change: (inout ListingOptions) -> Void, outcome: String)] = [
            "now": ({ $0.now -= 86_400 }, "notes.txt 2025"),
            "format": ({ $0.format = .names }, "-rw-r--r-- 1 ann staff 12 Nov 22 09:00 notes.txt 0"),
            "serverOffset": ({ $0.serverOffset = -4 * 3600 }, "notes.txt 2025"),
            "futureTolerance": ({ $0.futureTolerance = 20 * 3600 }, "notes.txt 2025"),
            "maximumLineLength": ({ $0.maximumLineLength = 47 }, "\(ListingError.lineTooLong(limit: 47))"),
        ]
        #expect(read { _ in } == "notes.txt 2026")
        for (name, row) in rows { #expect(read(row.change) == row.outcome, "\(name)") }
        #expect(Set(rows.keys) == Set(Mirror(reflecting: Self.options).children.compactMap(\.label)))
    }

    // 2026-11-21 12:00 UTC
    static let options = ListingOptions(now: 1_795_262_400)

    static let listing = """
        total 3\r
        drwxr-xr-x    2 ann      staff        4096 Nov 20 10:00 sub dir\r
        \r
        garbage in no format at all\r
        -rw-r--r--    1 ann      staff          12 Mar  4  2019 notes.txt\r
        type=file;size=5;modify=20240102030405; mixed in\r
        LONG_NAME_OF_A_FILE.TXT;3\r
                      2/4   1-JUN-2020 08:00:00  [GRP,ANN]  (RWED,RWED,RE,)\r
        lrwxrwxrwx    1 ann      staff           9 Mar  4  2019 link -> notes.txt

        """

    @Test func aListingOfMixedFormats() throws {
        let entries = try ListingParser.entries(of: Array(Self.listing.utf8), Self.options)
        #expect(entries.map(\.name) == ["sub dir", "notes.txt", "mixed in", "LONG_NAME_OF_A_FILE.TXT", "link"])
        #expect(entries.map(\.kind) == [.directory, .file, .file, .file, .link])
        #expect(entries.map(\.format) == [.unix, .unix, .facts, .vms, .unix])
    }

    // Parity: FT-065, FT-066
    @Test func everySplitHasTheSameResult() throws {
        let bytes = Array(Self.listing.utf8)
        let whole = try ListingParser.entries(of: bytes, Self.options)
        for split in 0...bytes.count {
            var parser = ListingParser(Self.options)
            var buffer: [UInt8] = []
            var entries: [ListingEntry] = []
            for part in [bytes[..<split], bytes[split...]] {
                buffer += part
                while true {
                    let step = try parser.parse(buffer.span.bytes)
                    if step.consumed == 0 { break }
                    if let entry = step.entry { entries.append(entry) }
                    buffer.removeFirst(step.consumed)
                }
            }
            entries += try parser.finish(buffer.span.bytes)
            #expect(entries == whole)
        }
    }

    // Parity: FT-066, FT-068
    @Test func eachStepUsesOneLine() throws {
        var parser = ListingParser(Self.options)
        let bytes = Array("total 3\r\n-rw-r--r-- 1 a b 1 Mar  4  2019 x\nrest".utf8)
        let first = try parser.parse(bytes.span.bytes)
        #expect(first.consumed == 9 && first.entry == nil)
        let second = try parser.parse(bytes.span.bytes.extracting(droppingFirst: 9))
        #expect(second.consumed == 34 && second.entry?.name == "x")
        let third = try parser.parse(bytes.span.bytes.extracting(droppingFirst: 43))
        #expect(third.consumed == 0 && third.entry == nil)
    }

    // Parity: FT-067
    @Test func theLastLineNeedsNoEnd() throws {
        let line = Array("-rw-r--r-- 1 a b 1 Mar  4  2019 x".utf8)
        #expect(try ListingParser.entries(of: line, Self.options).map(\.name) == ["x"])
    }

    @Test func aLineHasALimit() throws {
        var options = Self.options
        options.maximumLineLength = 100
        let error = ListingError.lineTooLong(limit: 100)
        #expect(throws: error) { try ListingParser.entries(of: Array(repeating: 0x61, count: 103), options) }
        #expect(throws: error) { try ListingParser.entries(of: Array(repeating: 0x61, count: 101), options) }
        #expect(throws: Never.self) { try ListingParser.entries(of: Array(repeating: 0x61, count: 100), options) }
        #expect(error.description.contains("100"))
        // A line whose end, CR LF, has not come yet is not collected for longer than a line can be.
        var parser = ListingParser(options)
        let (whole, longer) = ([UInt8](repeating: 0x61, count: 102), [UInt8](repeating: 0x61, count: 103))
        #expect(try parser.parse(whole.span.bytes).consumed == 0)
        #expect(throws: error) { try parser.parse(longer.span.bytes) }
    }

    @Test func aListingOfNames() throws {
        let options = ListingOptions(now: 0, format: .names)
        let entries = try ListingParser.entries(of: Array("a b\r\n\r\ntotal 3\r\n".utf8), options)
        #expect(entries.map(\.name) == ["a b", "total 3"])
        #expect(entries.map(\.kind) == [.unknown, .unknown])
    }

    @Test(arguments: ["", ".", "..", "a/b", "/etc/passwd", "a\0b", "../../x", String(repeating: "x", count: 256)])
    func unsafeNamesAreNotPathComponents(_ name: String) {
        #expect(ListingEntry(nameBytes: Array(name.utf8)).pathComponent == nil)
    }

    // Parity: FT-072
    @Test func namesAreBytes() throws {
        let line = Array("-rw-r--r-- 1 a b 1 Mar  4  2019 ".utf8) + [0xE9, 0x74, 0xE9]
        let entry = try #require(try ListingParser.entries(of: line, Self.options).first)
        #expect(entry.nameBytes == [0xE9, 0x74, 0xE9])
        #expect(entry.name == "été")
        #expect(entry.pathComponent == entry.nameBytes)
        #expect(ListingEntry(nameBytes: Array("日本".utf8)).name == "日本")
    }

    /// For any input, the parser returns entries or nil.
    @Test func noiseDoesNotTrap() throws {
        var state: UInt64 = 7
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let seeds =
            Self.listing.split(separator: "\r\n").map { Array($0.utf8) } + FormatTests.lines.map { Array($0.line.utf8) }
        let specials = Array(" \t;,=-+/[]()<>:.*\"0123456789\0\u{7F}".utf8) + [0x80, 0xC0, 0xFF]
        for _ in 0..<20_000 {
            var line = seeds[random(seeds.count)]
            for _ in 0...random(4) where !line.isEmpty {
                let index = random(line.count)
                switch random(4) {
                case 0: line.remove(at: index)
                case 1: line.insert(specials[random(specials.count)], at: index)
                case 2: line[index] = specials[random(specials.count)]
                default: line.replaceSubrange(index..., with: seeds[random(seeds.count)].prefix(40))
                }
            }
            for entry in try ListingParser.entries(of: line, Self.options) {
                #expect(!entry.nameBytes.isEmpty)
                #expect((entry.mode ?? 0) <= 0o7777)
                _ = entry.date?.secondsSince1970()
            }
        }
    }

    @Test func theMemoryOfAnEntryIncludesItsTexts() throws {
        let owner = String(repeating: "o", count: 100)
        let name = [UInt8](repeating: UInt8(ascii: "n"), count: 10_000)
        func size(_ line: String) throws -> Int {
            try #require(try ListingParser.entries(of: Array(line.utf8), Self.options).first).memorySize
        }
        let stride = MemoryLayout<ListingEntry>.stride
        #expect((stride + 1...stride + 100).contains(ListingEntry(nameBytes: [0x61]).memorySize))
        #expect((stride + 10_000...stride + 11_000).contains(ListingEntry(nameBytes: name).memorySize))
        let unix = " 1 ann staff 12 Mar 4 2019 notes.txt"
        let short = try size("-rw-r--r--" + unix)
        #expect(try size("-rw-r--r--" + unix.replacing("ann", with: owner)) >= short + 80)
        #expect(try size("-rw-r--r--" + unix.replacing("staff", with: owner)) >= short + 80)
        #expect(try size("lrwxrwxrwx" + unix + " -> \(owner)") >= short + 80)
        let facts = try size("type=file; x")
        #expect(try size("type=file;x.y=\(owner); x") >= facts + 80)
    }
}
