/// Time as Windows counts it: units of 100 ns since 1601-01-01 00:00 UTC.
enum FileTime {
    private static let unixEpoch: Int64 = 116_444_736_000_000_000

    /// The time so many nanoseconds after 1970-01-01; the epoch itself for what no clock shows.
    static func of(unixNanoseconds: Int64) -> UInt64 {
        UInt64(exactly: unixEpoch + unixNanoseconds / 100) ?? 0
    }

    /// Nanoseconds after 1970-01-01; nil for what does not fit.
    static func unixNanoseconds(_ time: UInt64) -> Int64? {
        guard let time = Int64(exactly: time) else { return nil }
        let (units, overflow) = (time - unixEpoch).multipliedReportingOverflow(by: 100)
        return overflow ? nil : units
    }
}
