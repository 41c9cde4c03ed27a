/// How much the embedded engine keeps, takes and sends at most. Everything that strangers can make grow has a number here.
///
/// What goes beyond a limit is dropped and counted (``EngineStatistics``); it is never an error of somebody else's
/// operation. Services known already stay known during a flood: a record gives way to another one only if no question
/// asks for it, or if its sender fills more than its share of a full cache.
public struct EngineLimits: Hashable, Sendable {
    /// Largest packet that is read (RFC 6762 §17: 9,000 bytes with all headers).
    public var packetSize = 9_000
    /// Records kept on each interface.
    public var cachedRecords = 8_192
    /// Records kept on each interface that answer nobody's question, so that a later question is answered at once.
    public var unaskedRecords = 2_048
    /// Share of ``cachedRecords`` that one sender may fill, in percent.
    public var percentOfOneSender = 50
    /// Share of ``cachedRecords`` that a sender keeps when the cache is full, in percent. What it has beyond that gives way, the
    /// newest first, to answers of senders that have less.
    public var percentWhenFull = 5
    /// The longest time that a record is kept without being heard again, in seconds, whatever its time to live: 75 minutes, which
    /// RFC 6762 §10 recommends for the records that live longest.
    public var longestLife: UInt32 = 4_500
    /// Questions asked at the same time.
    public var questions = 16_384
    /// Services published at the same time.
    public var registrations = 1_024
    /// Interfaces in use.
    public var interfaces = 64
    /// Queries on each interface whose list of known answers is still to come (RFC 6762 §7.2).
    public var heldQueries = 16
    /// Known answers kept for one such query.
    public var heldKnownAnswers = 2_048
    /// Known answers that one of our questions lists (RFC 6762 §7.1): strangers decide how many there are.
    public var listedAnswers = 1_024
    /// Known answers that all our questions on one interface list in one minute. Beyond it, queries list fewer: those known for
    /// the longest time come first.
    public var listedAnswersPerMinute = 8_192
    /// Answers on each interface that wait to be sent.
    public var pendingAnswers = 4_096
    /// Unicast packets sent on each interface in one second: replies that a forged sender could aim at somebody else.
    public var unicastRepliesPerSecond = 100
    /// Changes that wait for a reader who does not read; beyond it, what came and went again meanwhile is left out.
    public var waitingChanges = 65_536

    /// The limits above.
    public init() {}
}
