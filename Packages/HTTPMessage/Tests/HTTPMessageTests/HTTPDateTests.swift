import HTTPMessage
import Testing

@Suite struct HTTPDateTests {
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func parsesTheThreeFormats(text: String) {
        #expect(HTTPDate(text)?.secondsSinceEpoch == 784_111_777)
    }

    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (-62_135_596_800, "Mon, 01 Jan 0001 00:00:00 GMT"),
    ])
    func formatsAndParses(seconds: Int64, text: String) {
        #expect(HTTPDate(secondsSinceEpoch: seconds).description == text)
        #expect(HTTPDate(text)?.secondsSinceEpoch == seconds)
    }

    @Test func parsesItsOwnDescription() {
        for day in stride(from: -700_000, through: 2_900_000, by: 97) {
            let date = HTTPDate(secondsSinceEpoch: Int64(day) * 86400 + 12345)
            #expect(HTTPDate(date.description) == date)
        }
    }

    @Test(arguments: [
        "", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "Xyz, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 19944 08:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 0000 08:49:37 GMT",
    ])
    func rejectsOtherText(text: String) {
        #expect(HTTPDate(text) == nil)
    }

    @Test func interpretsTwoDigitYears() throws {
        let now = try #require(HTTPDate("Mon, 01 Jan 2030 00:00:00 GMT"))
        #expect(HTTPDate("Monday, 01-Jan-79 00:00:00 GMT", now: now)?.description.contains("2079") == true)
        #expect(HTTPDate("Monday, 01-Jan-81 00:00:00 GMT", now: now)?.description.contains("1981") == true)
        #expect(HTTPDate("Monday, 01-Jan-69 00:00:00 GMT")?.description.contains("2069") == true)
    }

    @Test func clampsToSupportedYears() {
        #expect(HTTPDate(secondsSinceEpoch: .max).description == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate(secondsSinceEpoch: .min).description == "Mon, 01 Jan 0001 00:00:00 GMT")
    }
}
