import Testing

@testable import FTPListing

/// Numbers after times, which are years or belong to names: the whole listing decides.
struct HeldEntriesTests {
    private static func line(_ date: String) -> String { "-rw-r--r-- 1 a b 5 \(date)\n" }

    /// Returns names with years, and the parser at the end.
    private func parse(_ listing: String) throws -> (entries: [String], parser: ListingParser) {
        var parser = ListingParser(ListingParserTests.options)
        let bytes = Array(listing.utf8)
        var entries: [ListingEntry] = []
        var offset = 0
        while true {
            let step = try parser.parse(bytes.span.bytes.extracting(droppingFirst: offset))
            if step.consumed == 0 { break }
            if let entry = step.entry { entries.append(entry) }
            offset += step.consumed
        }
        entries += try parser.finish(bytes.span.bytes.extracting(droppingFirst: offset))
        #expect(entries == (try ListingParser.entries(of: bytes, ListingParserTests.options)))
        return (entries.map { "\($0.name) \($0.date?.year ?? 0)" }, parser)
    }

    /// - Parameter guesses: the number of lines that are read by a guess.
    @Test(arguments: [
        // A line that is alone is read by a guess.
        ("May 28 19:50 2023 a", ["a 2023"], 1), ("Nov 20 19:50 2026 a", ["2026 a 2026"], 1),
        ("Apr 20 19:50 2026 a", ["a 2026"], 1),
        // All times have numbers. One is so old that ls would not have printed it.
        ("May 28 19:50 2023 a|Nov 20 19:50 2026 b", ["a 2023", "b 2026"], 2),
        ("Nov 20 19:50 2026 b|Apr 20 19:50 2023 a", ["b 2026", "a 2023"], 0),
        ("Nov 20 19:50 2026 a|Nov 19 19:50 2026 b|Nov 18 19:50 2025 c", ["a 2026", "b 2026", "c 2025"], 3),
        // A time without a year, before and after.
        ("Nov 20 19:50 notes|May 28 19:50 2023 a", ["notes 2026", "2023 a 2026"], 0),
        ("May 28 19:50 2023 a|Nov 20 19:50 notes", ["2023 a 2026", "notes 2026"], 0),
        (
            "Nov 20 19:50 2023 a|Nov 20 19:50 2024 b|Apr 20 19:50 2020 c|Nov 20 19:50 .",
            ["2023 a 2026", "2024 b 2026", "2020 c 2026", ". 2026"], 0
        ),
        // A year in the place of the time.
        ("May 28 19:50 2023 a|Nov 20 2020 old", ["2023 a 2026", "old 2020"], 0),
        ("Nov 20  2020 2021 old|May 28 19:50 2023 a", ["2021 old 2020", "2023 a 2026"], 0),
        // Not years.
        ("May 20 19:50 2031 a|May 28 19:50 2023 b", ["2031 a 2026", "2023 b 2026"], 0),
        ("May 28 19:50 2023 b|May 20 19:50 2023", ["2023 b 2026", "2023 2026"], 0),
        ("Feb 29 19:50 2023 b|May 28 19:50 2023 a", ["2023 b 2024", "2023 a 2026"], 0),
        // Files of one name cannot be in one folder.
        (
            "Apr 20 19:50 2023 a|Apr 20 19:50 2024 a|Apr 20 19:50 2024 b",
            ["2023 a 2026", "2024 a 2026", "2024 b 2026"], 0
        ),
        // With seconds, the year follows.
        ("May 20 19:50:10 2023 a", ["a 2023"], 0),
    ])
    func aYearAfterTheTime(_ dates: String, _ expected: [String], _ guesses: Int) throws {
        let (entries, parser) = try parse(dates.split(separator: "|").map { Self.line(String($0)) }.joined())
        #expect(entries == expected)
        #expect(parser.unread.count == 0 && parser.unread.guessCount == guesses)
        #expect(parser.unread.isEmpty == (guesses == 0) && parser.unread.guesses.count == guesses)
    }

    @Test func aGuessIsReportedWithItsLine() throws {
        let (_, parser) = try parse(Self.line("May 28 19:50 2023 a\u{1B}[2J"))
        #expect(parser.unread.guesses == ["-rw-r--r-- 1 a b 5 May 28 19:50 2023 a[2J"])
    }

    /// Entries of other formats wait for those before them.
    @Test func theOrderRemains() throws {
        let other = "type=file;size=5; facts\n05-26-95  10:57AM 5 windows\ntotal 3\n"
        let dates = Self.line("May 28 19:50 2023 a") + other + Self.line("Nov 20 19:50 b") + other
        let (entries, _) = try parse(dates + Self.line("May 28 19:50 2023 c"))
        let others = ["facts 0", "windows 1995"]
        #expect(entries == ["2023 a 2026"] + others + ["b 2026"] + others + ["2023 c 2026"])
    }

    /// A listing in which every line can be read in two ways is not kept in memory, and a line that shows the contrary afterwards is
    /// reported.
    @Test func theMemoryIsBounded() throws {
        var parser = ListingParser(ListingParserTests.options)
        var (count, waiting) = (0, 0)
        func read(_ text: String) throws {
            let bytes = Array(text.utf8)
            if try parser.parse(bytes.span.bytes).entry == nil { waiting += 1 } else { count += 1 }
        }
        for number in 0..<20_000 { try read(Self.line("Apr 20 19:50 2023 file \(number)")) }
        #expect(parser.unread.isEmpty && waiting < 1000 && count == 20_000 - waiting)
        try read(Self.line("Nov 20 19:50 notes"))
        #expect(parser.unread.guessCount == 1)
        try read(Self.line("Apr 20 19:50 2023 a"))
        let none: [UInt8] = []
        let rest = try parser.finish(none.span.bytes)
        #expect(rest.count + count == 20_002 && rest.suffix(2).map(\.name) == ["notes", "2023 a"])
    }
}
