/// A debouncer: it combines changes in quick succession into one report. A link that comes up causes dozens.
///
/// A report is due after a quiet time without changes, or ``longestFactor`` quiet times after the first change, so that
/// a network that changes all the time is reported as well.
struct ChangeDebounceMachine {
    /// The maximum delay of a report, in quiet times.
    static let longestFactor = 10

    private let quietTime: Duration
    private var change: NetworkChange = []
    private var due: ContinuousClock.Instant?
    private var latest: ContinuousClock.Instant?

    init(quietTime: Duration) {
        self.quietTime = quietTime
    }

    /// The instant at which a report is due; nil if there is nothing to report.
    var deadline: ContinuousClock.Instant? { due }

    /// Records a change.
    mutating func record(_ change: NetworkChange, now: ContinuousClock.Instant) {
        guard !change.isEmpty else { return }
        self.change.formUnion(change)
        let latest = latest ?? now + quietTime * Self.longestFactor
        self.latest = latest
        due = min(now + quietTime, latest)
    }

    /// Returns the combined changes if a report is due; otherwise nil.
    mutating func report(now: ContinuousClock.Instant) -> NetworkChange? {
        guard let due, now >= due else { return nil }
        defer { (change, self.due, latest) = ([], nil, nil) }
        return change
    }
}
