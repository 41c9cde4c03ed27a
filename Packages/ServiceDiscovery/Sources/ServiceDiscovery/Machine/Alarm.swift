/// The earliest of many deadlines, kept as a lower bound: looking through all of them is due only when it has come.
struct Alarm {
    private(set) var earliest: Moment?

    /// One of the deadlines is at `moment` now.
    mutating func note(_ moment: Moment?) {
        guard let moment else { return }
        earliest = earliest.map { min($0, moment) } ?? moment
    }

    func isDue(_ now: Moment) -> Bool {
        earliest.map { $0 <= now } ?? false
    }

    /// All deadlines are looked through from here on, and those that remain noted again.
    mutating func reset() {
        earliest = nil
    }
}
