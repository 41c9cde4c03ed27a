/// Windows file time: units of 100 ns since 1601-01-01 00:00 UTC.
enum FileTime {
    private static let unixEpoch: Int64 = 116_444_736_000_000_000

    /// Returns the file time of a Unix time in nanoseconds; 0 if it is before 1601.
    static func of(unixNanoseconds: Int64) -> UInt64 {
        UInt64(exactly: unixEpoch + unixNanoseconds / 100) ?? 0
    }

    /// Returns the nanoseconds since 1970-01-01; nil if they do not fit.
    static func unixNanoseconds(_ time: UInt64) -> Int64? {
        guard let time = Int64(exactly: time) else { return nil }
        let (units, overflow) = (time - unixEpoch).multipliedReportingOverflow(by: 100)
        return overflow ? nil : units
    }
}
