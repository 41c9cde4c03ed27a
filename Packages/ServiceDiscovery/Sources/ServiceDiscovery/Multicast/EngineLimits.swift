/// The limits of the embedded engine's memory and traffic. Everything that other hosts can make grow has a limit here.
///
/// Whatever exceeds a limit is dropped and counted in ``EngineStatistics``; it never causes an error in another
/// operation. Known services stay known during a flood: a record is displaced only if no question needs it, or if its
/// sender exceeds its share of a full cache.
///
/// A negative limit counts as 0, a limit of 2³¹ or more as 2³¹ - 1, and a percentage of more than 100 as 100.
public struct EngineLimits: Hashable, Sendable {
    /// The largest packet that is read (RFC 6762 §17: 9,000 bytes with all headers); at most 65,535.
    public var packetSize = 9_000
    /// The most records kept on each interface.
    public var cachedRecords = 8_192
    /// The most memory that the names and data of these records use on each interface, in bytes. A record that alone uses
    /// more than 65,536 bytes is not kept.
    public var cachedBytes = 4 << 20
    /// The most records kept on each interface that no question needs; a later question can be answered from them at
    /// once.
    public var unaskedRecords = 2_048
    /// The share of ``cachedRecords`` and of ``cachedBytes`` that one sender may fill, in percent.
    public var percentOfOneSender = 50
    /// The share of ``cachedRecords`` and of ``cachedBytes`` that one sender keeps when the cache is full, in percent.
    /// Beyond that, its newest records are displaced by answers from senders that have fewer.
    public var percentWhenFull = 5
    /// The longest time that a record is kept without a refresh, in seconds, whatever its time to live. The default, 75
    /// minutes, is what RFC 6762 §10 recommends for most records.
    public var maximumTimeToLive: UInt32 = 4_500
    /// The most questions at the same time.
    public var questions = 16_384
    /// The most published services at the same time.
    public var registrations = 1_024
    /// The most interfaces in use.
    public var interfaces = 64
    /// The most queries on each interface that wait for the rest of their known answers (RFC 6762 §7.2).
    public var heldQueries = 16
    /// The most known answers kept for one such query. Only those that this host would send are kept.
    public var heldKnownAnswers = 2_048
    /// The most known answers listed for one question (RFC 6762 §7.1); other hosts determine how many there are.
    public var listedAnswers = 1_024
    /// The most known answers listed on one interface in one minute, in all queries. Beyond that, queries list fewer,
    /// the earliest known first.
    public var listedAnswersPerMinute = 8_192
    /// The most answers on each interface that wait to be sent.
    public var pendingAnswers = 4_096
    /// The most unicast packets sent on each interface in one second: a forged source address could direct them at
    /// another host.
    public var unicastRepliesPerSecond = 100
    /// The most changes that wait for a reader that does not read. Beyond that, changes that cancel each other are
    /// dropped.
    public var waitingChanges = 65_536
    /// The most memory that these changes use, in bytes. Beyond that, changes that cancel each other are dropped. What remains
    /// are the records that the reader knows and that are gone, and new ones that exist, which have limits of their own.
    public var waitingBytes = 16 << 20

    /// The default limits.
    public init() {}

    /// The limits within the ranges that the engine can calculate with.
    var inRange: EngineLimits {
        var limits = self
        for path in Self.sizes { limits[keyPath: path] = min(max(0, self[keyPath: path]), Int(Int32.max)) }
        limits.packetSize = min(limits.packetSize, Int(UInt16.max))
        for path in Self.percentages { limits[keyPath: path] = min(max(0, self[keyPath: path]), 100) }
        return limits
    }

    static var sizes: [WritableKeyPath<EngineLimits, Int>] {
        [
            \.packetSize, \.cachedRecords, \.cachedBytes, \.unaskedRecords, \.questions, \.registrations, \.interfaces,
            \.heldQueries, \.heldKnownAnswers, \.listedAnswers, \.listedAnswersPerMinute, \.pendingAnswers,
            \.unicastRepliesPerSecond, \.waitingChanges, \.waitingBytes,
        ]
    }

    static var percentages: [WritableKeyPath<EngineLimits, Int>] { [\.percentOfOneSender, \.percentWhenFull] }
}

/// What an ``EmbeddedEngine`` has sent, received and refused so far.
public struct EngineStatistics: Hashable, Sendable {
    /// The packets received.
    public var packetsReceived = 0
    /// The packets sent.
    public var packetsSent = 0
    /// The packets dropped: too large, malformed, from another link, or responses from a port other than 5353.
    public var packetsRefused = 0
    /// The records not kept, or displaced by others, because of a limit in ``EngineLimits``.
    public var recordsRefused = 0
    /// The replies not sent because of a limit in ``EngineLimits``.
    public var repliesRefused = 0
    /// The records currently cached, on all interfaces.
    public var cachedRecords = 0
    /// The records and publications that were compared with those of packets: what packets cost. For tests.
    var recordsCompared = 0

    static func += (one: inout EngineStatistics, other: EngineStatistics) {
        one.packetsReceived += other.packetsReceived
        one.packetsSent += other.packetsSent
        one.packetsRefused += other.packetsRefused
        one.recordsRefused += other.recordsRefused
        one.repliesRefused += other.repliesRefused
        one.cachedRecords += other.cachedRecords
        one.recordsCompared += other.recordsCompared
    }
}
