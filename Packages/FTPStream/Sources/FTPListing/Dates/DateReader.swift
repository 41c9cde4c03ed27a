/// Reads numbers that are dates and times.
enum DateReader {
    /// The hour and the minute, and the second if it was told.
    typealias Clock = (hour: Int, minute: Int, second: Int?)

    /// `9:05`, `09:05`, `09:05:07`, `09:05:07.123`, `02:42PM`.
    static func time(_ field: ArraySlice<UInt8>) -> Clock? {
        var scan = FieldScanner(field)
        guard var hour = scan.number(digits: 1...2), hour < 24, scan.take(":"),
            let minute = scan.number(digits: 2...2), minute < 60
        else { return nil }
        var second: Int?
        if scan.take(":") {
            guard let number = scan.number(digits: 2...2), number <= 60 else { return nil }
            second = number
            if scan.take(".") { scan.skipDigits() }
        }
        if !scan.isAtEnd {
            let isAfternoon = scan.take("P") || scan.take("p")
            guard isAfternoon || scan.take("A") || scan.take("a"), scan.take("M") || scan.take("m"), scan.isAtEnd,
                (1...12).contains(hour)
            else { return nil }
            hour = hour % 12 + (isAfternoon ? 12 : 0)
        }
        return (hour, minute, second)
    }

    /// Three numbers with a separator: `2004-06-23`, `05-26-95`, `04/03/24`, `26.05.1995`.
    struct Triple {
        var numbers: (Int, Int, Int)
        var separator: UInt8
        /// The first number has four digits.
        var beginsWithYear: Bool
    }

    static func triple(_ field: ArraySlice<UInt8>) -> Triple? {
        guard (6...10).contains(field.count) else { return nil }
        var scan = FieldScanner(field)
        let width = scan.digitCount
        guard let first = scan.number(digits: 1...4), width != 3,
            let separator = (["-", "/", "."] as [Unicode.Scalar]).first(where: { scan.take($0) }),
            let second = scan.number(digits: 1...2), scan.take(separator)
        else { return nil }
        let lastWidth = scan.digitCount
        guard let third = scan.number(digits: 1...4), scan.isAtEnd, width == 4 ? lastWidth <= 2 : lastWidth != 3
        else { return nil }
        return Triple(
            numbers: (first, second, third), separator: UInt8(ascii: separator), beginsWithYear: width == 4)
    }

    /// A year of two digits is of 1970 to 2069.
    static func fullYear(_ year: Int) -> Int {
        year >= 100 ? year : year < 70 ? 2000 + year : 1900 + year
    }

    /// Year first, or month before day as Americans write; day before month with dots, or where nothing else can be.
    static func date(_ triple: Triple, time: Clock?) -> ListingDate? {
        let (a, b, c) = triple.numbers
        if triple.beginsWithYear { return date(a, b, c, time) }
        let dayFirst = triple.separator == UInt8(ascii: ".") || a > 12
        return dayFirst ? date(fullYear(c), b, a, time) : date(fullYear(c), a, b, time)
    }

    static func date(_ year: Int, _ month: Int, _ day: Int, _ time: Clock?) -> ListingDate? {
        ListingDate(
            year: year, month: month, day: day, hour: time?.hour ?? 0, minute: time?.minute ?? 0,
            second: time?.second ?? 0, precision: time == nil ? .day : time?.second == nil ? .minute : .second)
    }

    /// `+0200`, `-0730`: seconds ahead of UTC.
    static func offset(_ field: ArraySlice<UInt8>) -> Int? {
        var scan = FieldScanner(field)
        let isBehind = scan.take("-")
        guard isBehind || scan.take("+"), let number = scan.number(digits: 4...4), scan.isAtEnd, number % 100 < 60,
            number < 2400
        else { return nil }
        let seconds = (number / 100 * 60 + number % 100) * 60
        return isBehind ? -seconds : seconds
    }

    /// `20150813175250`, with a fraction or not: RFC 3659 §2.3, in UTC.
    static func stamp(_ field: ArraySlice<UInt8>) -> ListingDate? {
        var scan = FieldScanner(field)
        guard let year = scan.take(digits: 4), let month = scan.take(digits: 2), let day = scan.take(digits: 2),
            let hour = scan.take(digits: 2), let minute = scan.take(digits: 2), let second = scan.take(digits: 2)
        else { return nil }
        if scan.take(".") { scan.skipDigits() }
        guard scan.isAtEnd else { return nil }
        return ListingDate(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second, precision: .second,
            zone: .utc)
    }
}
