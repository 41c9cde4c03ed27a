/// How much the embedded engine keeps, takes and sends at most. Everything that strangers can make grow has a number here.
///
/// What goes beyond a limit is dropped and counted (``EngineStatistics``); it is never an error of somebody else's
/// operation. Services known already stay known during a flood: new records are refused, old ones are not displaced.
public struct EngineLimits: Hashable, Sendable {
    /// Largest packet that is read (RFC 6762 §17: 9,000 bytes with all headers).
    public var packetSize = 9_000
    /// Records kept on each interface.
    public var cachedRecords = 8_192
    /// Records kept on each interface that answer nobody's question, so that a later question is answered at once.
    public var unaskedRecords = 2_048
    /// Share of ``cachedRecords`` that one sender may fill, in percent.
    public var percentOfOneSender = 50
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
    /// Answers on each interface that wait to be sent.
    public var pendingAnswers = 4_096
    /// Unicast packets sent on each interface in one second: replies that a forged sender could aim at somebody else.
    public var unicastRepliesPerSecond = 100
    /// Changes that wait for a reader who does not read; then the oldest are dropped and the reader is told.
    public var waitingChanges = 65_536

    /// The limits above.
    public init() {}
}
