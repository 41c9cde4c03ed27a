/// The earliest of many deadlines, kept as a lower bound: looking through all of them is due only when it has come.
struct Alarm {
    /// The least time between two searches: where strangers choose the deadlines, they do not choose how often all are
    /// looked through.
    private let pause: Duration
    private var bound: DiscoveryTime?
    private var lastSearch: DiscoveryTime?

    init(pause: Duration = .zero) {
        self.pause = pause
    }

    /// When to look through the deadlines; nil if there are none.
    var earliest: DiscoveryTime? {
        guard let bound else { return nil }
        return lastSearch.map { max(bound, $0 + pause) } ?? bound
    }

    /// One of the deadlines is at `moment` now.
    mutating func note(_ moment: DiscoveryTime?) {
        guard let moment else { return }
        bound = bound.map { min($0, moment) } ?? moment
    }

    func isDue(_ now: DiscoveryTime) -> Bool {
        earliest.map { $0 <= now } ?? false
    }

    /// All deadlines are looked through at `now`, and those that remain noted again.
    mutating func reset(_ now: DiscoveryTime) {
        (bound, lastSearch) = (nil, now)
    }
}
