/// What was found for a name: the records, and how it was found.
///
/// ```swift
/// let answer = try await resolver.records(.srv, of: "_imap._tcp.example.org")
/// for record in answer.records { print(record.data, record.timeToLive) }
/// answer.servers                     // which servers were asked, and what each did
/// ```
public struct DNSAnswer: Hashable, Sendable {
    /// The records of the type asked for, never empty, in the server's order.
    public let records: [DNSRecord]
    /// The name that has them: the end of the chain of aliases.
    public let canonicalName: DNSName
    /// The aliases on the way, the name that was asked for first; empty if it has the records itself.
    public let aliases: [DNSName]
    /// Seconds that this may be kept: the least of all records and aliases used.
    public let timeToLive: UInt32
    /// The server says that it checked the signatures, and the configuration believes it (`trust-ad`).
    public let isAuthenticated: Bool
    /// The servers that were asked, in order; empty if the answer came from the cache.
    public let servers: [ServerOutcome]

    /// Makes an answer.
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

    /// This answer as it is `seconds` later, from a cache.
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
