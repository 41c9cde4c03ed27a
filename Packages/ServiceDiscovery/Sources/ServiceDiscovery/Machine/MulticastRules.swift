internal import HostResolver

/// The numbers of RFC 6762, each with its section.
enum MulticastRules {
    /// §3.
    static let port: UInt16 = 5353
    static let groupV4 = IPv4Address(224, 0, 0, 251)
    static let groupV6 = IPv6Address(rawValue: 0xff02 << 112 | 0xfb)
    /// §17: what goes into an Ethernet frame with the headers of IPv6, and a little for tunnels.
    static let usualPayload = 1_440
    /// §17: one record that does not fit may have up to 9,000 bytes with headers.
    static let largestPayload = 8_900
    /// §10: two minutes for what hangs on a host's name or address, 75 minutes for everything else.
    static let hostTime: UInt32 = 120
    static let otherTime: UInt32 = 4_500
    /// §6.7: what legacy resolvers get.
    static let legacyTime: UInt32 = 10
    /// §10.1, §10.2: how long a record lives on after its end was told.
    static let lastSecond: Duration = .seconds(1)
    /// §8.1.
    static let probeCount = 3
    static let probeInterval: Duration = .milliseconds(250)
    /// §8.2: how long who lost a tie-break waits.
    static let deference: Duration = .seconds(1)
    /// §8.1: after this many conflicts in this time, wait this long.
    static let conflictLimit = 15
    static let conflictWindow: Duration = .seconds(10)
    static let conflictPause: Duration = .seconds(5)
    /// §8.3: at least two, at least a second apart, intervals at least doubling.
    static let announcementCount = 3
    /// §6: answers of which others may have some too wait 20–120 ms.
    static let sharedDelay: ClosedRange<Int64> = 20...120
    /// §7.2: and after a packet that says that more known answers follow, 400–500 ms.
    static let truncationDelay: ClosedRange<Int64> = 400...500
    /// §6: how often one record may be multicast, and how often to defend a name.
    static let repeatInterval: Duration = .seconds(1)
    static let defenceInterval: Duration = .milliseconds(250)
    /// §5.2.
    static let firstQueryDelay: ClosedRange<Int64> = 20...120
    static let firstQueryInterval: Duration = .seconds(1)
    static let longestQueryInterval: Duration = .seconds(3600)
    /// The least time between two searches of a link's questions or cache for what is due. Not a rule of the standard, which has
    /// no finer delays than this one: it bounds the work that deadlines chosen by strangers make.
    static let searchInterval: Duration = .milliseconds(10)
    /// §5.2: percents of a record's life at which it is asked for again, each plus 0–2.
    static let refreshPercents: [Int64] = [80, 85, 90, 95]
    /// §10.4: when doubted, asked for twice and gone after this if nobody answers.
    static let doubtTime: Duration = .seconds(10)
    static let doubtInterval: Duration = .seconds(2)
    /// §10.5: this many queries of others unanswered for ``doubtTime`` raise doubt.
    static let unansweredLimit = 2
}
