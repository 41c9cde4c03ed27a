/// Parses the dates and times in listings.
enum DateReader {
    /// A time of day. The second is nil if the line does not contain it.
    typealias Clock = (hour: Int, minute: Int, second: Int?)

    /// `9:05`, `09:05`, `09:05:07`, `09:05:07.123`, `02:42PM`, `02:42p`.
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
            guard isAfternoon || scan.take("A") || scan.take("a"), (1...12).contains(hour) else { return nil }
            _ = scan.take("M") || scan.take("m")
            guard scan.isAtEnd else { return nil }
            hour = hour % 12 + (isAfternoon ? 12 : 0)
        }
        return (hour, minute, second)
    }

    /// A date of three numbers with a separator: `2004-06-23`, `05-26-95`, `05-26-103`, `04/03/24`, `26.05.1995`.
    struct Triple {
        var numbers: (Int, Int, Int)
        var separator: UInt8
        /// Whether the first number has four digits.
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
        guard let third = scan.number(digits: 1...4), scan.isAtEnd, width != 4 || lastWidth <= 2,
            lastWidth != 3 || third >= 100
        else { return nil }
        return Triple(
            numbers: (first, second, third), separator: UInt8(ascii: separator), beginsWithYear: width == 4)
    }

    /// The full year: a year of two digits is in 1970 to 2069, and one of three digits counts from 1900.
    static func fullYear(_ year: Int) -> Int {
        year >= 1000 ? year : year >= 100 || year >= 70 ? 1900 + year : 2000 + year
    }

    /// The date of three numbers: the year first if it has four digits; the day first with dots, or if the first number cannot
    /// be a month; otherwise the month first, as in the United States.
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

    /// The offset from UTC in seconds: `+0200`, `-0730`.
    static func offset(_ field: ArraySlice<UInt8>) -> Int? {
        var scan = FieldScanner(field)
        let isBehind = scan.take("-")
        guard isBehind || scan.take("+"), let number = scan.number(digits: 4...4), scan.isAtEnd, number % 100 < 60,
            number < 2400
        else { return nil }
        let seconds = (number / 100 * 60 + number % 100) * 60
        return isBehind ? -seconds : seconds
    }
}

// MARK: - Dates of several fields

extension DateReader {
    /// A date in the fields of a line.
    struct Found {
        /// Nil if the fields have the form of a date that does not exist, such as the 30th of February.
        var date: ListingDate?
        /// The index of its last field.
        var lastField: Int
        /// Whether the fields include a time of day.
        var hasTime: Bool
        /// What the date shows about the other dates of the listing.
        var sign = YearInference.Sign.none
    }

    /// The date that begins at a field, in any form that `ls` prints.
    static func listDate(_ line: ListingLine, at field: Int, _ years: YearInference) -> Found? {
        let (first, second) = (line[field], line[field + 1])
        if second.isEmpty { return nil }
        // Numbers are checked first, because the search for a month's name is slow.
        if let day = day(second), let month = MonthNames.month(first) {
            return timeOrYear(line, at: field + 2, month: month, day: day, years)
        }
        if let day = day(first), let month = MonthNames.month(second) {
            return timeOrYear(line, at: field + 2, month: month, day: day, years)
        }
        guard let clock = time(second) else { return dateWithoutTime(line, at: field) }
        if let triple = triple(first) {
            var date = date(triple, time: clock)
            guard clock.second != nil, let offset = offset(line[field + 2]) else {
                return Found(date: date, lastField: field + 1, hasTime: true)
            }
            date?.zone = .offset(offset)
            return Found(date: date, lastField: field + 2, hasTime: true)
        }
        // The ISO style of `ls` omits the year: 05-21 12:00.
        var scan = FieldScanner(first)
        guard let month = scan.number(digits: 2...2), scan.take("-"), let day = scan.number(digits: 2...2),
            scan.isAtEnd, (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        let date = years.date(month: month, day: day, hour: clock.hour, minute: clock.minute)
        return Found(date: date, lastField: field + 1, hasTime: true)
    }

    /// Older files in the ISO style of `ls`: `2024-05-21`. Some servers write `05-21 2024`. With its unit, the year may be first:
    /// `2024年 8月 15日`.
    private static func dateWithoutTime(_ line: ListingLine, at field: Int) -> Found? {
        if let triple = triple(line[field]) {
            guard triple.beginsWithYear else { return nil }
            return Found(date: date(triple, time: nil), lastField: field, hasTime: false)
        }
        if let last = line[field].last, last >= 0x80, let year = year(line[field]),
            let month = MonthNames.month(line[field + 1]), let day = day(line[field + 2])
        {
            return Found(date: date(year, month, day, nil), lastField: field + 2, hasTime: false)
        }
        var scan = FieldScanner(line[field])
        guard let month = scan.number(digits: 2...2), scan.take("-"), let day = scan.number(digits: 2...2),
            scan.isAtEnd, (1...12).contains(month), (1...31).contains(day), let year = year(line[field + 1])
        else { return nil }
        return Found(date: date(year, month, day, nil), lastField: field + 1, hasTime: false)
    }

    private static func timeOrYear(
        _ line: ListingLine, at field: Int, month: Int, day: Int, _ years: YearInference
    ) -> Found? {
        let value = line[field]
        if let clock = time(value) {
            let inferred = years.date(month: month, day: day, hour: clock.hour, minute: clock.minute)
            let withoutYear = Found(date: inferred, lastField: field, hasTime: true, sign: .names)
            // A name follows the year.
            guard line.fields.count > field + 2, let year = year(line[field + 1]) else { return withoutYear }
            let date = date(year, month, day, clock)
            if clock.second != nil { return Found(date: date, lastField: field + 1, hasTime: true) }
            // The number that is not the year of a date in the past belongs to the name.
            guard let date, let sign = years.sign(of: date, or: inferred) else { return withoutYear }
            return years.followTimes
                ? Found(date: date, lastField: field + 1, hasTime: true, sign: sign)
                : Found(date: inferred, lastField: field, hasTime: true, sign: sign)
        }
        guard let year = year(value) else { return nil }
        // VShell: Oct 08, 2002 09:47
        if line[field - 1].last == UInt8(ascii: ","), let clock = time(line[field + 1]) {
            return Found(date: date(year, month, day, clock), lastField: field + 1, hasTime: true)
        }
        // A server that has the year in place of the time does not have it after the time.
        return Found(date: date(year, month, day, nil), lastField: field, hasTime: false, sign: .names)
    }

    /// `8-JUN-2009`, `18-Mar-02`.
    static func dashed(_ field: ArraySlice<UInt8>, time clock: Clock?) -> ListingDate? {
        var scan = FieldScanner(field)
        guard let day = scan.number(digits: 1...2), scan.take("-"), let word = scan.take(upTo: "-") else { return nil }
        let width = scan.digitCount
        guard width != 3, let year = scan.number(digits: 2...4), scan.isAtEnd, let month = MonthNames.month(word)
        else { return nil }
        return date(fullYear(year), month, day, clock)
    }

    /// `5`, `05`, `15.`, `15日`.
    private static func day(_ field: ArraySlice<UInt8>) -> Int? {
        var scan = FieldScanner(field)
        guard let day = scan.number(digits: 1...2), (1...31).contains(day) else { return nil }
        if scan.isAtEnd { return day }
        let rest = scan.rest
        return rest.isText(".") || rest.isText(",") || rest.isText("日") || rest.isText("일") ? day : nil
    }

    /// `2009`, `2009年`.
    private static func year(_ field: ArraySlice<UInt8>) -> Int? {
        var scan = FieldScanner(field)
        guard let year = scan.number(digits: 4...4), year >= 1900 else { return nil }
        return scan.isAtEnd || scan.rest.isText("年") || scan.rest.isText("년") ? year : nil
    }
}
