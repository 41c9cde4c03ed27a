/// The records of a name, with the aliases and servers that led to them.
///
/// ```swift
/// let answer = try await resolver.records(.srv, of: "_imap._tcp.example.org")
/// for record in answer.records { print(record.data, record.timeToLive) }
/// answer.servers                     // the outcome of each server that was queried
/// ```
public struct DNSAnswer: Hashable, Sendable {
    /// The records of the requested type, in the server's order; never empty.
    public let records: [DNSRecord]
    /// The name that owns the records: the end of the chain of aliases.
    public let canonicalName: DNSName
    /// The aliases that led to ``canonicalName``, the queried name first; empty if the queried name owns the records.
    public let aliases: [DNSName]
    /// The time for which the answer may be cached, in seconds: the smallest of all records and aliases.
    public let timeToLive: UInt32
    /// Whether the server claims to have validated the signatures, and the configuration trusts it (`trust-ad`).
    public let isAuthenticated: Bool
    /// The servers that were queried, in order; empty if the answer is from the cache.
    public let servers: [ServerOutcome]

    /// Creates an answer.
    public init(
        records: [DNSRecord], canonicalName: DNSName, aliases: [DNSName] = [], timeToLive: UInt32,
        isAuthenticated: Bool = false, servers: [ServerOutcome] = []
    ) {
        self.records = records
        self.canonicalName = canonicalName
        self.aliases = aliases
        self.timeToLive = timeToLive
        self.isAuthenticated = isAuthenticated
        self.servers = servers
    }

    /// Returns this answer as a cache gives it `seconds` later, with its times reduced.
    func aged(by seconds: UInt32) -> DNSAnswer {
        func less(_ time: UInt32) -> UInt32 { time > seconds ? time - seconds : 0 }
        let records = records.map { record in
            var record = record
            record.timeToLive = less(record.timeToLive)
            return record
        }
        return DNSAnswer(
            records: records, canonicalName: canonicalName, aliases: aliases, timeToLive: less(timeToLive),
            isAuthenticated: isAuthenticated, servers: [])
    }
}
