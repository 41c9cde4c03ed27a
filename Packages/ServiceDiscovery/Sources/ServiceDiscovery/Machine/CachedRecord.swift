internal import HostResolver

/// One record that somebody on the link has told of, and how long it is good for.
struct CachedRecord {
    var record: DNSRecord
    var received: DiscoveryTime
    var expires: DiscoveryTime
    /// Its place in the order of coming.
    var number = 0
    /// How many of the queries of ``MulticastRules/refreshPercents`` were sent.
    var refreshes = 0
    /// When the next of them is due; nil if nobody is interested.
    var refresh: DiscoveryTime?
    /// Who told; nil for this machine's own records, which neither grow old nor count.
    var sender: IPAddress?
    /// Others' queries since the last answer (RFC 6762 §10.5).
    var unanswered = 0
    var firstUnanswered: DiscoveryTime?

    var isOwn: Bool { sender == nil }

    /// Seconds left.
    func remaining(_ now: DiscoveryTime) -> UInt32 {
        isOwn ? record.timeToLive : UInt32(clamping: now.duration(to: expires).components.seconds)
    }

    /// When this record is looked at next.
    var deadline: DiscoveryTime? {
        isOwn ? nil : refresh.map { min($0, expires) } ?? expires
    }

    /// Has it end at `moment`; true if it would have lived longer, false also for this machine's own.
    mutating func end(at moment: DiscoveryTime) -> Bool {
        guard !isOwn, expires > moment else { return false }
        (expires, refresh) = (moment, nil)
        return true
    }

    /// Sets when to ask for it again, if anybody is interested.
    mutating func schedule(isWanted: Bool, random: inout DelayRandom) {
        guard isWanted, !isOwn, refreshes < MulticastRules.refreshPercents.count else {
            refresh = nil
            return
        }
        // In thousandths: the percentage and 0 to 2 % more.
        let share = MulticastRules.refreshPercents[refreshes] * 10 + Int64.random(in: 0...20, using: &random)
        let milliseconds = Int64(record.timeToLive) * share
        refresh = received + .milliseconds(milliseconds)
    }
}
