import FTPListing
import Testing

/// Dates, their seconds since 1970, and timestamps.
struct ListingDateTests {
    @Test(
        arguments: [
            (1970, 1, 1, 0, 0), (2000, 2, 29, 12, 951_825_600), (2026, 11, 21, 12, 1_795_262_400),
            (1969, 12, 31, 0, -86_400), (9999, 12, 31, 23, 253_402_297_200), (1, 1, 1, 0, -62_135_596_800),
        ] as [(Int, Int, Int, Int, Int64)])
    func secondsSince1970(_ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ seconds: Int64) throws {
        let date = try #require(ListingDate(year: year, month: month, day: day, hour: hour, precision: .minute))
        #expect(date.secondsSince1970() == seconds)
        #expect(date.secondsSince1970(assuming: 3600) == seconds - 3600)
    }

    @Test(arguments: [
        (2023, 2, 29), (1900, 2, 29), (2024, 4, 31), (2024, 13, 1), (2024, 0, 1), (2024, 1, 0), (0, 1, 1),
    ])
    func invalidDaysAreRefused(_ year: Int, _ month: Int, _ day: Int) {
        #expect(ListingDate(year: year, month: month, day: day, precision: .day) == nil)
    }

    @Test func theZoneOfTheLineTakesPrecedence() throws {
        var date = try #require(ListingDate(year: 2020, month: 1, day: 1, precision: .second))
        date.zone = .offset(-3600)
        #expect(date.secondsSince1970(assuming: 7200) == 1_577_840_400)
        date.zone = .utc
        #expect(date.secondsSince1970(assuming: 7200) == 1_577_836_800)
    }

    /// The fact `modify` is a timestamp of RFC 3659 §2.3; the date of an entry with an invalid one is unknown.
    // Parity: FT-071
    @Test(
        arguments: [
            ("20240229120000", 1_709_208_000), ("20240229120000.123", 1_709_208_000), ("19700101000000", 0),
            ("20230229120000", nil), ("2024022912000", nil), ("202402291200000", nil), ("20240229120000Z", nil),
        ] as [(String, Int64?)])
    func timestampsOfFacts(_ text: String, _ seconds: Int64?) throws {
        let entries = try ListingParser.entries(of: Array("modify=\(text); x".utf8), ListingOptions(now: 0))
        #expect(entries.first?.date?.secondsSince1970() == seconds)
        #expect(entries.count == 1)
    }

    /// Any clock results in a year or nil, without overflow.
    @Test(arguments: [Int64.min, -1, 0, Int64.max])
    func anyClockIsAccepted(_ now: Int64) throws {
        var options = ListingOptions(now: now)
        options.serverOffset = now
        options.futureTolerance = now
        _ = try ListingParser.entries(of: Array("-rw-r--r-- 1 a b 1 May 21 12:00 x".utf8), options)
    }
}
