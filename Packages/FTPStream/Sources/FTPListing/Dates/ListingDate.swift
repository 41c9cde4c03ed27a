/// A date in a listing, with its precision and time zone.
public struct ListingDate: Sendable, Hashable {
    /// The smallest unit of the date that the listing contains.
    public enum Precision: Sendable, Hashable, Comparable {
        /// The day. The time is midnight.
        case day
        /// The minute.
        case minute
        /// The second.
        case second
    }

    /// The time zone of a date.
    public enum Zone: Sendable, Hashable {
        /// UTC, as the format defines (MLSD, EPLF).
        case utc
        /// An offset from UTC in seconds, positive to the east, which the line contains.
        case offset(Int)
        /// The server's time zone, which the listing does not contain.
        case unknown
    }

    /// 1 to 9999.
    public var year: Int
    /// 1 to 12.
    public var month: Int
    /// 1 to 31.
    public var day: Int
    /// 0 to 23.
    public var hour = 0
    /// 0 to 59.
    public var minute = 0
    /// 0 to 60.
    public var second = 0
    /// The smallest unit of the date that the listing contains.
    public var precision: Precision
    /// The time zone.
    public var zone = Zone.unknown

    /// Whether the line had no year, and the year was chosen so that the date is in the last twelve months.
    public var isYearGuessed = false

    /// Creates a date; nil if it does not exist, such as the 30th of February.
    public init?(
        year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, precision: Precision,
        zone: Zone = .unknown
    ) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year),
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
        self.precision = precision
        self.zone = zone
    }

    /// Returns the time in seconds since 1970 UTC.
    ///
    /// - Parameter offset: the offset of the server's clock from UTC in seconds, used if the listing does not contain the zone.
    public func secondsSince1970(assuming offset: Int = 0) -> Int64 {
        let ahead =
            switch zone {
            case .utc: 0
            case .offset(let seconds): seconds
            case .unknown: offset
            }
        return Self.dayNumber(year, month, day) * 86_400 + Int64(hour * 3600 + minute * 60 + second - ahead)
    }

    /// Creates the date of a time in seconds since 1970; nil outside the years 1 to 9999.
    package init?(secondsSince1970 time: Int64) {
        guard (-62_135_596_800...253_402_300_799).contains(time) else { return nil }
        let days = time >= 0 ? time / 86_400 : (time - 86_399) / 86_400
        let rest = Int(time - days * 86_400)
        // Howard Hinnant's civil_from_days.
        let z = days + 719_468
        let era = (z >= 0 ? z : z - 146_096) / 146_097
        let dayOfEra = z - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = Int(shifted < 10 ? shifted + 3 : shifted - 9)
        self.init(
            year: Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0), month: month,
            day: Int(dayOfYear - (153 * shifted + 2) / 5) + 1, hour: rest / 3600, minute: rest / 60 % 60,
            second: rest % 60, precision: .second, zone: .utc)
    }

    /// Creates the date of a timestamp such as `20150813175250`, with or without a fraction (RFC 3659 §2.3), in UTC.
    package init?(timestamp: ArraySlice<UInt8>) {
        var scan = FieldScanner(timestamp)
        guard let year = scan.take(digits: 4), let month = scan.take(digits: 2), let day = scan.take(digits: 2),
            let hour = scan.take(digits: 2), let minute = scan.take(digits: 2), let second = scan.take(digits: 2)
        else { return nil }
        if scan.take(".") { scan.skipDigits() }
        guard scan.isAtEnd else { return nil }
        self.init(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second, precision: .second,
            zone: .utc)
    }

    /// The timestamp of a date in UTC: `20150813175250` (RFC 3659 §2.3).
    package var timestamp: String {
        [(year, 4), (month, 2), (day, 2), (hour, 2), (minute, 2), (second, 2)].map { number, width in
            let digits = String(number)
            return String(repeating: "0", count: width - digits.count) + digits
        }
        .joined()
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The number of days since 1970-01-01.
    private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        let y = Int64(month <= 2 ? year - 1 : year)
        let era = (y >= 0 ? y : y - 399) / 400
        let yearOfEra = y - era * 400
        let shifted = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * shifted + 2) / 5 + Int64(day) - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

/// Infers the year of a date without one, which `ls` prints for dates in the last twelve months, and tells what a line shows about the
/// numbers after the times of its listing; see ``HeldEntries``.
struct YearInference: Sendable {
    /// What a line shows about the numbers after the times of its listing.
    enum Sign: Sendable, Equatable {
        /// Nothing.
        case none
        /// They belong to names: the line has a time that no year follows, or the year in place of the time.
        case names
        /// A number after its time may be the year or belong to the name.
        ///
        /// - Parameters:
        ///   - isLikely: whether it is probably the year. Files of this half-year are seldom called after an earlier year.
        ///   - isOld: whether the date without it is so old that `ls` would not have printed the time.
        case number(isLikely: Bool, isOld: Bool)
    }

    /// Whether a number that may be either is read as the year.
    var followTimes = false
    /// The sign of the line that was read last.
    var sign = Sign.none

    private let latest: Int64
    private let now: Int64
    private let thisYear: Int?

    /// The greatest age of a date whose time `ls` and the servers that imitate it print, in seconds: half a year, and a day for the
    /// server's clock.
    private static let maximumAge: Int64 = 184 * 86_400

    init(_ options: ListingOptions) {
        // Clamped so that the sums below cannot overflow.
        let bound: Int64 = 1 << 40
        let now = min(max(options.now, -bound), bound) + min(max(options.serverOffset, -bound), bound)
        latest = now + min(max(options.futureTolerance, 0), bound)
        self.now = now
        thisYear = ListingDate(secondsSince1970: now)?.year
    }

    func date(month: Int, day: Int, hour: Int, minute: Int) -> ListingDate? {
        guard let thisYear else { return nil }
        // The last 29 February may be eight years ago (1896 to 1904).
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

    /// What a number after a time shows; nil if it is not the year, since the date would be in the future.
    ///
    /// - Parameters:
    ///   - date: the date with the number as its year.
    ///   - inferred: the date without it.
    func sign(of date: ListingDate, or inferred: ListingDate?) -> Sign? {
        guard let inferred, date.secondsSince1970() <= latest else { return nil }
        let isOld = inferred.secondsSince1970() < now - Self.maximumAge
        return .number(isLikely: isOld || date.year < inferred.year, isOld: isOld)
    }
}
