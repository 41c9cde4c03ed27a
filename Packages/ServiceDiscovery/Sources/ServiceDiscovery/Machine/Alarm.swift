/// The earliest of many deadlines, kept as a lower bound: looking through all of them is due only when it has come.
struct Alarm {
    private(set) var earliest: DiscoveryTime?

    /// One of the deadlines is at `moment` now.
    mutating func note(_ moment: DiscoveryTime?) {
        guard let moment else { return }
        earliest = earliest.map { min($0, moment) } ?? moment
    }

    func isDue(_ now: DiscoveryTime) -> Bool {
        earliest.map { $0 <= now } ?? false
    }

    /// All deadlines are looked through from here on, and those that remain noted again.
    mutating func reset() {
        earliest = nil
    }
}
