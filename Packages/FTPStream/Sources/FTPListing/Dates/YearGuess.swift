/// Finds the year of a date that was told without one: it is of the last twelve months, as `ls` has it.
struct YearGuess: Sendable {
    private let latest: Int64
    private let thisYear: Int?

    init(_ options: ListingOptions) {
        // Bounded, so that no sum below can overflow.
        let bound: Int64 = 1 << 40
        let now = min(max(options.now, -bound), bound) + min(max(options.serverOffset, -bound), bound)
        latest = now + min(max(options.futureTolerance, 0), bound)
        thisYear = ListingDate(secondsSince1970: now)?.year
    }

    func date(month: Int, day: Int, hour: Int, minute: Int) -> ListingDate? {
        guard let thisYear else { return nil }
        // 29 February is up to eight years back (1896 to 1904).
        for yearsBack in -1...8 {
            guard
                var date = ListingDate(
                    year: thisYear - yearsBack, month: month, day: day, hour: hour, minute: minute, precision: .minute),
                date.secondsSince1970() <= latest
            else { continue }
            date.isYearGuessed = true
            return date
        }
        return nil
    }
}
