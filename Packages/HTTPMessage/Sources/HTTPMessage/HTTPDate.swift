/// A date and time in the formats of HTTP (RFC 9110 §5.6.7), with a resolution of one second.
///
/// ```swift
/// let date = HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT")
/// date?.secondsSinceEpoch                     // 784111777
/// HTTPDate(secondsSinceEpoch: 0).description  // "Thu, 01 Jan 1970 00:00:00 GMT"
/// ```
public struct HTTPDate: Hashable, Sendable {
    /// The seconds since 1970-01-01 00:00 UTC, without leap seconds. Always within the years 1 to 9999.
    public let secondsSinceEpoch: Int64

    /// Creates a date. Values outside the years 1 to 9999 are clamped.
    public init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = Swift.min(Swift.max(secondsSinceEpoch, -62_135_596_800), 253_402_300_799)
    }

    /// Parses a date in the current format or in one of the two obsolete formats, those of RFC 850 and of C's
    /// `asctime`. Returns nil for any other text.
    ///
    /// A two-digit year is the year with these digits that is within 50 years of `now` (RFC 9110 §5.6.7). Without
    /// `now`, 70 to 99 mean 1970 to 1999, and 00 to 69 mean 2000 to 2069.
    public init?(_ text: String, now: HTTPDate? = nil) {
        let parts = text.utf8.split(whereSeparator: { $0 == HTTPGrammar.space || $0 == UInt8(ascii: "-") })
            .map { Array($0) }
        let isCurrent = parts.count == 6 && parts[0].last == UInt8(ascii: ",")
        let day: Int?
        let month: Int?
        var year: Int?
        let time: (Int, Int, Int)?
        if isCurrent {
            guard Self.isWeekday(parts[0].dropLast()), parts[5].elementsEqual("GMT".utf8) else { return nil }
            day = parts[1].count == 2 ? Self.number(parts[1]) : nil
            month = Self.month(parts[2])
            year = Self.number(parts[3])
            if parts[3].count == 2 {
                year = year.map { Self.fullYear($0, now) }
            } else if parts[3].count != 4 {
                return nil
            }
            time = Self.time(parts[4])
        } else {
            guard parts.count == 5, Self.isWeekday(parts[0][...]), parts[4].count == 4 else { return nil }
            day = Self.number(parts[2])
            month = Self.month(parts[1])
            year = Self.number(parts[4])
            time = Self.time(parts[3])
        }
        guard let day, let month, let year, let time, year >= 1, day >= 1, day <= Self.days(in: month, of: year) else {
            return nil
        }
        let days = Self.daysSinceEpoch(year, month, day)
        secondsSinceEpoch = Int64(days) * 86400 + Int64(time.0 * 3600 + time.1 * 60 + time.2)
    }
}

extension HTTPDate: Comparable, CustomStringConvertible {
    /// Whether the first date is earlier.
    public static func < (a: HTTPDate, b: HTTPDate) -> Bool {
        a.secondsSinceEpoch < b.secondsSinceEpoch
    }

    /// The date in the current format, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var description: String {
        let (days, second) = Self.floorDivide(Int(secondsSinceEpoch), 86400)
        let (year, month, day) = Self.civilDate(days)
        let weekday = Self.weekdays[Self.floorDivide(days + 4, 7).remainder].prefix(3)
        func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        let padding = String(repeating: "0", count: 4 - String(year).count)
        return "\(weekday), \(two(day)) \(Self.months[month - 1]) \(padding)\(year) "
            + "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60)) GMT"
    }
}

extension HTTPDate {
    private static let weekdays = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func isWeekday(_ bytes: ArraySlice<UInt8>) -> Bool {
        weekdays.contains { bytes.elementsEqual($0.utf8) || bytes.elementsEqual($0.utf8.prefix(3)) }
    }

    private static func month(_ bytes: [UInt8]) -> Int? {
        months.firstIndex { bytes.elementsEqual($0.utf8) }.map { $0 + 1 }
    }

    private static func number(_ bytes: some Collection<UInt8>) -> Int? {
        guard !bytes.isEmpty, bytes.count <= 4, bytes.allSatisfy(HTTPGrammar.isDigit) else { return nil }
        return bytes.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Parses `hour ":" minute ":" second`. A leap second (60) is accepted; the date then equals the first second of
    /// the next minute.
    private static func time(_ bytes: [UInt8]) -> (Int, Int, Int)? {
        let parts = bytes.split(separator: HTTPGrammar.colon, omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ $0.count == 2 }), let hour = number(parts[0]),
            let minute = number(parts[1]), let second = number(parts[2]), hour < 24, minute < 60, second <= 60
        else { return nil }
        return (hour, minute, second)
    }

    private static func fullYear(_ year: Int, _ now: HTTPDate?) -> Int {
        guard let now else { return year < 70 ? 2000 + year : 1900 + year }
        let current = civilDate(floorDivide(Int(now.secondsSinceEpoch), 86400).quotient).0
        let candidate = current / 100 * 100 + year
        if candidate > current + 50 { return candidate - 100 }
        return candidate < current - 50 ? candidate + 100 : candidate
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The days from 1970-01-01 to a date of the Gregorian calendar.
    ///
    /// Counts eras of 400 years, the period of the calendar, and years that begin on 1 March, so that a leap day is the
    /// last day of its year.
    private static func daysSinceEpoch(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let (era, yearOfEra) = floorDivide(shifted, 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The year, month and day that are `days` after 1970-01-01; the inverse of ``daysSinceEpoch(_:_:_:)``.
    private static func civilDate(_ days: Int) -> (Int, Int, Int) {
        let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
    }

    private static func floorDivide(_ a: Int, _ b: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = a.quotientAndRemainder(dividingBy: b)
        return remainder < 0 ? (quotient - 1, remainder + b) : (quotient, remainder)
    }
}
