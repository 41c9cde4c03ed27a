/// A bound on how much is done in one period, such as packets in a second. A period begins with the first use after the
/// one before it has ended.
struct Budget {
    private let limit: Int
    private let period: Duration
    private var start: DiscoveryTime?
    private var used = 0

    /// - Parameters:
    ///   - limit: the most units in one period.
    ///   - period: the length of a period.
    init(_ limit: Int, in period: Duration) {
        self.limit = limit
        self.period = period
    }

    /// True if nothing is left of this period's units.
    func isSpent(_ now: DiscoveryTime) -> Bool {
        used >= limit && start.map { now - $0 < period } ?? false
    }

    /// Spends up to `wanted` units; the number that this period still had.
    mutating func take(_ wanted: Int, now: DiscoveryTime) -> Int {
        if start.map({ now - $0 >= period }) ?? true { (start, used) = (now, 0) }
        let granted = min(wanted, max(0, limit - used))
        used += granted
        return granted
    }
}
