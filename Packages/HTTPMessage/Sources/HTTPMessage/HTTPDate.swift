/// A moment in the forms that HTTP writes (RFC 9110 §5.6.7), to the second.
///
/// ```swift
/// let date = HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT")
/// date?.secondsSinceEpoch                     // 784111777
/// HTTPDate(secondsSinceEpoch: 0).description  // "Thu, 01 Jan 1970 00:00:00 GMT"
/// ```
public struct HTTPDate: Hashable, Sendable {
    /// Seconds since 1970-01-01 00:00 UTC, without leap seconds. From year 1 to year 9999.
    public let secondsSinceEpoch: Int64

    /// Makes a date; seconds outside the years 1 to 9999 are moved to the nearest second inside.
    public init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = Swift.min(Swift.max(secondsSinceEpoch, -62_135_596_800), 253_402_300_799)
    }

    /// Reads the current form and the two old ones (of RFC 850, and of C's `asctime`); nil for anything else.
    ///
    /// A year of two digits is the one within 50 years after `now` or before it (RFC 9110 §5.6.7); without `now`, 70 to
    /// 99 are of the 20th century.
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
    /// Orders by time.
    public static func < (a: HTTPDate, b: HTTPDate) -> Bool {
        a.secondsSinceEpoch < b.secondsSinceEpoch
    }

    /// The current form: `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var description: String {
        let (days, second) = Self.floorDivide(Int(secondsSinceEpoch), 86400)
        let (year, month, day) = Self.civil(days)
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

    /// hour ":" minute ":" second; a leap second reads as the second after it.
    private static func time(_ bytes: [UInt8]) -> (Int, Int, Int)? {
        let parts = bytes.split(separator: HTTPGrammar.colon, omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ $0.count == 2 }), let hour = number(parts[0]),
            let minute = number(parts[1]), let second = number(parts[2]), hour < 24, minute < 60, second <= 60
        else { return nil }
        return (hour, minute, second)
    }

    private static func fullYear(_ year: Int, _ now: HTTPDate?) -> Int {
        guard let now else { return year < 70 ? 2000 + year : 1900 + year }
        let current = civil(floorDivide(Int(now.secondsSinceEpoch), 86400).quotient).0
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

    /// Days in the Gregorian calendar, counted in eras of 400 years that begin on 1 March, so that leap days come last.
    private static func daysSinceEpoch(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let (era, yearOfEra) = floorDivide(shifted, 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ days: Int) -> (Int, Int, Int) {
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
