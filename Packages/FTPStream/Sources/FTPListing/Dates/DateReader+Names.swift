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
        if let month = MonthNames.month(first), let day = day(second) {
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
        let parts = first.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 2, parts[1].count == 2, let month = parts[0].smallNumber,
            let day = parts[1].smallNumber,
            let date = years.date(month: month, day: day, hour: clock.hour, minute: clock.minute)
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
    static func dashed(
        _ field: ArraySlice<UInt8>, time clock: (hour: Int, minute: Int, second: Int?)?
    ) -> ListingDate? {
        let parts = field.split(separator: UInt8(ascii: "-"), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, (1...2).contains(parts[0].count), let day = parts[0].smallNumber,
            let month = MonthNames.month(parts[1]), parts[2].count == 2 || parts[2].count == 4,
            let year = parts[2].smallNumber
        else { return nil }
        return date(fullYear(year), month, day, clock)
    }

    /// `5`, `05`, `15.`, `15日`.
    private static func day(_ field: ArraySlice<UInt8>) -> Int? {
        let digits = field.prefix { $0 >= 0x30 && $0 <= 0x39 }
        guard (1...2).contains(digits.count), let day = digits.smallNumber, (1...31).contains(day) else { return nil }
        let rest = field.dropFirst(digits.count)
        let isMarked = rest.isText(".") || rest.isText(",") || rest.isText("日") || rest.isText("일")
        return rest.isEmpty || isMarked ? day : nil
    }

    /// `2009`, `2009年`.
    private static func year(_ field: ArraySlice<UInt8>) -> Int? {
        let digits = field.prefix { $0 >= 0x30 && $0 <= 0x39 }
        let rest = field.dropFirst(digits.count)
        guard digits.count == 4, let year = digits.smallNumber, year >= 1900,
            rest.isEmpty || rest.isText("年") || rest.isText("년")
        else { return nil }
        return year
    }
}
