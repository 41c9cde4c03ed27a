/// Finds the year of a date that was told without one: it is of the last twelve months, as `ls` has it.
struct YearGuess: Sendable {
    private let now: Int64
    private let tolerance: Int64

    init(_ options: ListingOptions) {
        // Bounded, so that no sum below can overflow.
        let bound: Int64 = 1 << 40
        now = min(max(options.now, -bound), bound) + min(max(options.serverOffset, -bound), bound)
        tolerance = min(max(options.futureTolerance, 0), bound)
    }

    func date(month: Int, day: Int, hour: Int, minute: Int) -> ListingDate? {
        guard let today = ListingDate(secondsSince1970: now) else { return nil }
        // 29 February is up to eight years back (1896 to 1904).
        for year in [today.year + 1, today.year, today.year - 1] + (2...8).map({ today.year - $0 }) {
            guard
                var date = ListingDate(
                    year: year, month: month, day: day, hour: hour, minute: minute, precision: .minute),
                date.secondsSince1970() <= now + tolerance
            else { continue }
            date.isYearGuessed = true
            return date
        }
        return nil
    }
}
