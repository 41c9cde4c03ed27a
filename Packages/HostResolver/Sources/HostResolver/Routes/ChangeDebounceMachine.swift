/// Makes one report of many changes in short order: a link that comes up brings dozens.
///
/// A report is due when nothing has happened for the quiet time, or ``longestFactor`` quiet times after the first change, so that
/// a network that never comes to rest is reported too.
struct ChangeDebounceMachine {
    /// How many quiet times a report may be put off.
    static let longestFactor = 10

    private let quietTime: Duration
    private var change: NetworkChange = []
    private var due: ContinuousClock.Instant?
    private var latest: ContinuousClock.Instant?

    init(quietTime: Duration) {
        self.quietTime = quietTime
    }

    /// When to look again; nil if nothing is to be reported.
    var deadline: ContinuousClock.Instant? { due }

    /// Something changed.
    mutating func noted(_ change: NetworkChange, now: ContinuousClock.Instant) {
        guard !change.isEmpty else { return }
        self.change.formUnion(change)
        let latest = latest ?? now + quietTime * Self.longestFactor
        self.latest = latest
        due = min(now + quietTime, latest)
    }

    /// The report, if it is due.
    mutating func report(now: ContinuousClock.Instant) -> NetworkChange? {
        guard let due, now >= due else { return nil }
        defer { (change, self.due, latest) = ([], nil, nil) }
        return change
    }
}
