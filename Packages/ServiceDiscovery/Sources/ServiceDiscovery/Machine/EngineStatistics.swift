/// What an ``EmbeddedEngine`` has sent, taken and refused so far.
public struct EngineStatistics: Hashable, Sendable {
    /// Packets taken from the network.
    public var packetsReceived = 0
    /// Packets sent.
    public var packetsSent = 0
    /// Packets dropped: too large, no DNS messages, from another link, from a port that answers do not come from.
    public var packetsRefused = 0
    /// Records not kept, or given up for others, because a limit of ``EngineLimits`` was reached.
    public var recordsRefused = 0
    /// Replies not sent because a limit of ``EngineLimits`` was reached.
    public var repliesRefused = 0
    /// Records kept now, on all interfaces.
    public var cachedRecords = 0

    static func += (one: inout EngineStatistics, other: EngineStatistics) {
        one.packetsReceived += other.packetsReceived
        one.packetsSent += other.packetsSent
        one.packetsRefused += other.packetsRefused
        one.recordsRefused += other.recordsRefused
        one.repliesRefused += other.repliesRefused
        one.cachedRecords += other.cachedRecords
    }
}
