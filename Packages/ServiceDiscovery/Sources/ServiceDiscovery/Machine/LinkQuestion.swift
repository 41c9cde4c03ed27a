internal import HostResolver

/// One question that is asked on one link: by a schedule, less and less often, and out of turn when a record of it is in
/// doubt. However many packets raise doubt, two queries are ``MulticastRules/firstQueryInterval`` apart (RFC 6762 §5.2).
struct LinkQuestion {
    /// When the schedule asks next; nil while a unique answer is known, which is asked for again before its time is over.
    var next: DiscoveryTime?
    /// The pause after that.
    private var interval = MulticastRules.firstQueryInterval
    /// When to ask out of turn, and when once more (§10.4).
    private var early: DiscoveryTime?
    private var again: DiscoveryTime?
    private var lastSent: DiscoveryTime?
    /// The scheduled queries so far, by this host or another one in its place.
    private(set) var sent = 0

    /// When the next query is due.
    var deadline: DiscoveryTime? {
        guard let earliest = [next, early, again].compactMap({ $0 }).min() else { return nil }
        return lastSent.map { max(earliest, $0 + MulticastRules.firstQueryInterval) } ?? earliest
    }

    func isDue(_ now: DiscoveryTime) -> Bool {
        deadline.map { $0 <= now } ?? false
    }

    /// True if the schedule, too, asks at `now`.
    func isScheduled(_ now: DiscoveryTime) -> Bool {
        next.map { $0 <= now } ?? false
    }

    /// Asks as soon as the interval allows.
    mutating func expedite(_ now: DiscoveryTime) {
        early = early.map { min($0, now) } ?? now
    }

    /// Asks as soon as the interval allows, and once more a little later (§10.4).
    mutating func doubt(_ now: DiscoveryTime) {
        expedite(now)
        again = again ?? now + MulticastRules.doubtInterval
    }

    /// Begins the schedule anew at `moment`.
    mutating func restart(at moment: DiscoveryTime) {
        (next, interval) = (moment, MulticastRules.firstQueryInterval)
    }

    /// The question was sent, for all that was due by now.
    mutating func noteSent(_ now: DiscoveryTime) {
        if isScheduled(now) { noteScheduled(now) }
        if let early, early <= now { self.early = nil }
        if let again, again <= now { self.again = nil }
        lastSent = now
    }

    /// The schedule's query was sent, by this host or by another one (§7.3).
    mutating func noteScheduled(_ now: DiscoveryTime) {
        sent += 1
        next = now + interval
        interval = min(interval * 2, MulticastRules.longestQueryInterval)
    }
}
