/// Reads numbers that are dates and times.
enum DateReader {
    /// `9:05`, `09:05`, `09:05:07`, `09:05:07.123`, `02:42PM`.
    static func time(_ field: ArraySlice<UInt8>) -> (hour: Int, minute: Int, second: Int?)? {
        var digits = field
        var afternoon: Bool?
        if let last = digits.last, last == UInt8(ascii: "M") || last == UInt8(ascii: "m") {
            switch digits.dropLast().last {
            case UInt8(ascii: "P"), UInt8(ascii: "p"): afternoon = true
            case UInt8(ascii: "A"), UInt8(ascii: "a"): afternoon = false
            default: return nil
            }
            digits = digits.dropLast(2)
        }
        let parts = digits.split(separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), (1...2).contains(parts[0].count), parts[1].count == 2,
            var hour = parts[0].smallNumber, let minute = parts[1].smallNumber, hour < 24, minute < 60
        else { return nil }
        var second: Int?
        if parts.count == 3 {
            let whole = parts[2].prefix { $0 != UInt8(ascii: ".") }
            let fraction = parts[2].dropFirst(whole.count + 1)
            guard whole.count == 2, let number = whole.smallNumber, number <= 60,
                fraction.isEmpty || fraction.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
            else { return nil }
            second = number
        }
        if let afternoon {
            guard (1...12).contains(hour) else { return nil }
            hour = hour % 12 + (afternoon ? 12 : 0)
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
        guard (6...10).contains(field.count),
            let separator = field.first(where: { $0 < 0x30 || $0 > 0x39 }), "-/.".utf8.contains(separator)
        else { return nil }
        let parts = field.split(separator: separator, maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty }), let first = parts[0].smallNumber,
            let second = parts[1].smallNumber, let third = parts[2].smallNumber, parts[1].count <= 2,
            (parts[0].count == 4 && parts[2].count <= 2) || (parts[0].count <= 2 && parts[2].count != 3)
        else { return nil }
        return Triple(numbers: (first, second, third), separator: separator, beginsWithYear: parts[0].count == 4)
    }

    /// A year of two digits is of 1970 to 2069.
    static func fullYear(_ year: Int) -> Int {
        year >= 100 ? year : year < 70 ? 2000 + year : 1900 + year
    }

    /// Year first, or month before day as Americans write; day before month with dots, or where nothing else can be.
    static func date(_ triple: Triple, time: (hour: Int, minute: Int, second: Int?)?) -> ListingDate? {
        let (a, b, c) = triple.numbers
        if triple.beginsWithYear { return date(a, b, c, time) }
        let dayFirst = triple.separator == UInt8(ascii: ".") || a > 12
        return dayFirst ? date(fullYear(c), b, a, time) : date(fullYear(c), a, b, time)
    }

    static func date(
        _ year: Int, _ month: Int, _ day: Int, _ time: (hour: Int, minute: Int, second: Int?)?
    ) -> ListingDate? {
        ListingDate(
            year: year, month: month, day: day, hour: time?.hour ?? 0, minute: time?.minute ?? 0,
            second: time?.second ?? 0, precision: time == nil ? .day : time?.second == nil ? .minute : .second)
    }

    /// `+0200`, `-0730`: seconds ahead of UTC.
    static func offset(_ field: ArraySlice<UInt8>) -> Int? {
        guard field.count == 5, let sign = field.first, "+-".utf8.contains(sign),
            let number = field.dropFirst().smallNumber, number % 100 < 60, number < 2400
        else { return nil }
        let seconds = (number / 100 * 60 + number % 100) * 60
        return sign == UInt8(ascii: "-") ? -seconds : seconds
    }

    /// `20150813175250`, with a fraction or not: RFC 3659 §2.3, in UTC.
    static func stamp(_ field: ArraySlice<UInt8>) -> ListingDate? {
        let whole = field.prefix { $0 != UInt8(ascii: ".") }
        let fraction = field.dropFirst(whole.count + 1)
        guard whole.count == 14, whole.number != nil, fraction.isEmpty || fraction.number != nil else { return nil }
        let digits = Array(whole)
        func part(_ range: Range<Int>) -> Int { digits[range].smallNumber ?? -1 }
        return ListingDate(
            year: part(0..<4), month: part(4..<6), day: part(6..<8), hour: part(8..<10), minute: part(10..<12),
            second: part(12..<14), precision: .second, zone: .utc)
    }
}
