/// Dates with the name of a month.
extension DateReader {
    /// A date among the fields of a line, and where it ends.
    struct Found {
        var date: ListingDate
        /// The last field of it.
        var lastField: Int
    }

    /// The date that begins at a field, in any of the ways of `ls`.
    static func listDate(_ line: ListingLine, at field: Int, _ years: YearGuess) -> Found? {
        let (first, second) = (line[field], line[field + 1])
        if second.isEmpty { return nil }
        // Numbers are looked at first: that a word is no month takes longest to find out.
        if let day = day(second), let month = MonthNames.month(first) {
            return timeOrYear(line, at: field + 2, month: month, day: day, years)
        }
        if let day = day(first), let month = MonthNames.month(second) {
            return timeOrYear(line, at: field + 2, month: month, day: day, years)
        }
        guard let clock = time(second) else { return nil }
        if let triple = triple(first) {
            guard var date = date(triple, time: clock) else { return nil }
            guard clock.second != nil, let offset = offset(line[field + 2]) else {
                return Found(date: date, lastField: field + 1)
            }
            date.zone = .offset(offset)
            return Found(date: date, lastField: field + 2)
        }
        // The ISO style of `ls` leaves the year out: 05-21 12:00.
        var scan = FieldScanner(first)
        guard let month = scan.number(digits: 2...2), scan.take("-"), let day = scan.number(digits: 2...2),
            scan.isAtEnd, let date = years.date(month: month, day: day, hour: clock.hour, minute: clock.minute)
        else { return nil }
        return Found(date: date, lastField: field + 1)
    }

    private static func timeOrYear(
        _ line: ListingLine, at field: Int, month: Int, day: Int, _ years: YearGuess
    ) -> Found? {
        let value = line[field]
        if let clock = time(value) {
            if clock.second != nil, let year = year(line[field + 1]) {
                return date(year, month, day, clock).map { Found(date: $0, lastField: field + 1) }
            }
            return years.date(month: month, day: day, hour: clock.hour, minute: clock.minute)
                .map { Found(date: $0, lastField: field) }
        }
        guard let year = year(value) else { return nil }
        return date(year, month, day, nil).map { Found(date: $0, lastField: field) }
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
