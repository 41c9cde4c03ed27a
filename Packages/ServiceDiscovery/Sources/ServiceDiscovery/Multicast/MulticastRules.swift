internal import DNSWire
internal import HostResolver

/// The constants of RFC 6762, each with its section.
enum MulticastRules {
    /// §3: the port and the multicast groups.
    static let port: UInt16 = 5353
    static let groupV4 = IPv4Address(224, 0, 0, 251)
    static let groupV6 = IPv6Address(rawValue: 0xff02 << 112 | 0xfb)
    /// §17: the payload of an Ethernet frame with IPv6 headers, with some room for tunnels.
    static let usualPayload = 1_440
    /// §17: a packet with one large record may have up to 9,000 bytes with headers.
    static let maximumPayload = 8_900
    /// §10: two minutes for records with a host's name or address, 75 minutes for others.
    static let hostTimeToLive: UInt32 = 120
    static let otherTimeToLive: UInt32 = 4_500

    /// The time to live of a record of that type.
    static func timeToLive(of type: DNSRecordType) -> UInt32 {
        [.a, .aaaa, .srv].contains(type) ? hostTimeToLive : otherTimeToLive
    }

    /// §6.7: in replies to legacy resolvers.
    static let legacyTimeToLive: UInt32 = 10
    /// §10.1, §10.2: how long a record is kept after a goodbye or a flush.
    static let removalDelay: Duration = .seconds(1)
    /// §8.1: three probes at this interval, the first after a random delay.
    static let probeCount = 3
    static let firstProbeDelay: ClosedRange<Int64> = 0...250
    static let probeInterval: Duration = .milliseconds(250)
    /// §8.2: how long the host that lost a tie-break waits.
    static let tieBreakDelay: Duration = .seconds(1)
    /// §8.1: after this many conflicts in this window, probing pauses.
    static let maximumConflicts = 15
    static let conflictWindow: Duration = .seconds(10)
    static let conflictPause: Duration = .seconds(5)
    /// §8.3: the number of announcements. At least two are required; the intervals begin at one second and double.
    static let announcementCount = 3
    /// §6: delay of answers that other hosts may give as well (shared records).
    static let sharedDelay: ClosedRange<Int64> = 20...120
    /// §7.2: how long to wait for further known answers after a query that announces them.
    static let truncationDelay: ClosedRange<Int64> = 400...500
    /// §6: minimum intervals between multicasts of a record, usually and to defend a name.
    static let repeatInterval: Duration = .seconds(1)
    static let defenceInterval: Duration = .milliseconds(250)
    /// §5.2: the delay of the first query, and the intervals of the following ones, which double.
    static let firstQueryDelay: ClosedRange<Int64> = 20...120
    static let firstQueryInterval: Duration = .seconds(1)
    static let maximumQueryInterval: Duration = .seconds(3600)
    /// The minimum interval between two examinations of a link's questions or cache. It bounds the work that deadlines
    /// chosen by other hosts cause. It is not part of the standard, which specifies no shorter delays.
    static let searchInterval: Duration = .milliseconds(10)
    /// The most expired records that one such examination removes, because a single packet can expire thousands.
    static let removalsPerSearch = 1_024
    /// §5.2: percentages of the time to live at which a record is refreshed, each plus 0 to 2.
    static let refreshPercents: [Int64] = [80, 85, 90, 95]
    /// §10.4: how long a record is verified, with two queries, before it is removed.
    static let verificationTime: Duration = .seconds(10)
    static let verificationInterval: Duration = .seconds(2)
    /// §10.5: the number of unanswered queries of other hosts, over at least ``verificationTime``, that starts a
    /// verification.
    static let maximumUnanswered = 2
}

/// The type of the current time and of deadlines, which drivers pass to machines.
typealias DiscoveryTime = ContinuousClock.Instant

/// A lower bound of many deadlines. As long as it has not passed, none of them needs to be examined.
struct Alarm {
    /// The minimum time between two examinations. Other hosts choose many deadlines; this bounds how often they can
    /// make this host examine all of them.
    private let pause: Duration
    private var bound: DiscoveryTime?
    private var lastSearch: DiscoveryTime?

    init(pause: Duration = .zero) {
        self.pause = pause
    }

    /// The time at which to examine the deadlines; nil if there are none.
    var earliest: DiscoveryTime? {
        guard let bound else { return nil }
        return lastSearch.map { max(bound, $0 + pause) } ?? bound
    }

    /// Adds a deadline, or the new time of one.
    mutating func note(_ time: DiscoveryTime?) {
        guard let time else { return }
        bound = bound.map { min($0, time) } ?? time
    }

    func isDue(_ now: DiscoveryTime) -> Bool {
        earliest.map { $0 <= now } ?? false
    }

    /// Marks all deadlines as examined at `now`. The caller then notes the remaining ones again.
    mutating func reset(_ now: DiscoveryTime) {
        (bound, lastSearch) = (nil, now)
    }
}

/// A limit on the amount of work in a period, such as packets in a second. A period begins with the first use after the
/// previous one has ended.
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

    /// Whether all units of this period are used.
    func isSpent(_ now: DiscoveryTime) -> Bool {
        used >= limit && start.map { now - $0 < period } ?? false
    }

    /// Uses up to `wanted` units, as many as are left in this period. Returns how many were used.
    mutating func take(_ wanted: Int, now: DiscoveryTime) -> Int {
        if start.map({ now - $0 >= period }) ?? true { (start, used) = (now, 0) }
        let granted = min(wanted, max(0, limit - used))
        used += granted
        return granted
    }
}

/// The recent conflicts of one name, counted as RFC 6762 §8.1 requires.
///
/// Stores at most ``MulticastRules/maximumConflicts`` times, however many conflicts are forged.
struct RecentConflicts {
    private(set) var times: [DiscoveryTime] = []

    /// Records a conflict. Returns whether there were so many that the next probe must wait.
    mutating func note(_ now: DiscoveryTime) -> Bool {
        let recent = times.filter { now - $0 < MulticastRules.conflictWindow } + [now]
        times = recent.suffix(MulticastRules.maximumConflicts)
        return times.count >= MulticastRules.maximumConflicts
    }
}

/// Random numbers for delays, generated from a seed because machines read no random source. Not for secrets.
struct DelayRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    mutating func milliseconds(_ range: ClosedRange<Int64>) -> Duration {
        .milliseconds(Int64.random(in: range, using: &self))
    }
}
