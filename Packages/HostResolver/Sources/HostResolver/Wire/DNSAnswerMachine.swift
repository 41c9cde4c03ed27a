public import DNSWire

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
    /// Whether ``records`` may be only some of the name's: the answers over UDP were truncated, and no server gave a whole one over TCP.
    /// Such an answer is not cached.
    public let isTruncated: Bool
    /// The servers that were queried, in order; empty if the answer is from the cache.
    public let servers: [ServerOutcome]

    /// Creates an answer.
    @_spi(Packages) public init(
        records: [DNSRecord], canonicalName: DNSName, aliases: [DNSName] = [], timeToLive: UInt32,
        isAuthenticated: Bool = false, isTruncated: Bool = false, servers: [ServerOutcome] = []
    ) {
        self.records = records
        self.canonicalName = canonicalName
        self.aliases = aliases
        self.timeToLive = timeToLive
        self.isAuthenticated = isAuthenticated
        self.isTruncated = isTruncated
        self.servers = servers
    }

    /// Returns this answer as it is `seconds` later, from a cache: with its times reduced and without servers.
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

/// A machine that makes one answer from one or more messages: a chain of aliases may need further queries.
struct DNSAnswerMachine {
    /// The step that follows a message.
    enum Step: Hashable {
        /// Query the end of the chain.
        case ask(DNSQuestion)
        case found(DNSAnswer)
        /// The name or the record does not exist. The server allows caching that for `negativeTime` seconds; nil: not
        /// at all.
        case nothing(ResolverError, negativeTime: UInt32?)
        case failed(ResolverError)
    }

    private let question: DNSQuestion
    private let trustsAuthenticatedData: Bool
    private var current: DNSQuestion
    private var aliases: [DNSName] = []
    private var timeToLive: UInt32 = .max
    private var isAuthenticated = true
    private var isTruncated = false

    init(_ question: DNSQuestion, trustsAuthenticatedData: Bool) {
        self.question = question
        self.trustsAuthenticatedData = trustsAuthenticatedData
        current = question
    }

    /// Accepts the answer to the question, or to the last ``Step/ask(_:)``.
    mutating func received(_ message: DNSMessage, servers: [ServerOutcome]) -> Step {
        let name = question.name.description
        do throws(ResolverError) {
            let chain = try DNSAliasChain(from: current, in: message.answers)
            aliases += chain.aliases
            guard !aliases.contains(chain.end) else {
                throw ResolverError(.malformedAnswer, detail: "the aliases form a loop")
            }
            guard aliases.count <= DNSAliasChain.longest else {
                throw ResolverError(.malformedAnswer, detail: "more than \(DNSAliasChain.longest) aliases")
            }
            timeToLive = min(timeToLive, chain.timeToLive)
            isAuthenticated = isAuthenticated && message.header.isAuthenticated
            isTruncated = isTruncated || message.header.isTruncated
            if !chain.records.isEmpty {
                return .found(
                    DNSAnswer(
                        records: chain.records, canonicalName: chain.end, aliases: aliases, timeToLive: timeToLive,
                        isAuthenticated: isAuthenticated && trustsAuthenticatedData, isTruncated: isTruncated,
                        servers: servers))
            }
            let negativeTime = Self.negativeTime(in: message, for: chain.end).map { min($0, timeToLive) }
            if message.responseCode == .nameError {
                return .nothing(ResolverError(.hostNotFound, name: name, servers: servers), negativeTime: negativeTime)
            }
            if chain.aliases.isEmpty || negativeTime != nil {
                return .nothing(ResolverError(.noData, name: name, servers: servers), negativeTime: negativeTime)
            }
            current.name = chain.end
            return .ask(current)
        } catch {
            return .failed(ResolverError(error.code, name: name, detail: error.detail, servers: servers))
        }
    }

    /// The time for which a negative answer may be cached, in seconds: the smaller of the SOA record's time to live and
    /// its minimum (RFC 2308 §5). Nil without the SOA record of a zone that contains the name.
    private static func negativeTime(in message: DNSMessage, for name: DNSName) -> UInt32? {
        for record in message.authorities {
            if case .soa(let soa) = record.data, name.isIn(record.name) { return min(record.timeToLive, soa.minimum) }
        }
        return nil
    }
}

extension DNSName {
    /// Whether this is the zone's name or a name below it.
    fileprivate func isIn(_ zone: DNSName) -> Bool {
        labels.count >= zone.labels.count && DNSName(labels: labels.suffix(zone.labels.count)) == zone
    }
}

/// The chain of aliases in one answer, from the queried name to the name with the records (RFC 1034 §3.6.2).
struct DNSAliasChain {
    /// The maximum number of aliases of a query, over all its answers.
    static let longest = 16

    /// The aliases, the queried name first.
    private(set) var aliases: [DNSName] = []
    /// The last name of the chain in this answer.
    private(set) var end: DNSName
    /// The records of the queried type at the end of the chain.
    private(set) var records: [DNSRecord] = []
    /// The smallest time to live of the records and aliases in the chain.
    private(set) var timeToLive: UInt32 = .max

    /// Follows the chain through `answers`. Records of names outside the chain are ignored.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/malformedAnswer`` for a loop, or for a chain longer than
    ///   ``longest``.
    init(from question: DNSQuestion, in answers: [DNSRecord]) throws(ResolverError) {
        end = question.name
        while true {
            records = answers.filter {
                $0.name == end && $0.type == question.type && $0.recordClass == question.recordClass
            }
            if !records.isEmpty { break }
            guard
                let alias = answers.first(where: {
                    $0.name == end && $0.type == .cname && $0.recordClass == question.recordClass
                }), case .cname(let target) = alias.data
            else { break }
            aliases.append(end)
            guard !aliases.contains(target) else {
                throw ResolverError(.malformedAnswer, detail: "the aliases form a loop")
            }
            guard aliases.count <= Self.longest else {
                throw ResolverError(.malformedAnswer, detail: "more than \(Self.longest) aliases")
            }
            timeToLive = min(timeToLive, Self.time(alias))
            end = target
        }
        timeToLive = records.reduce(timeToLive) { min($0, Self.time($1)) }
    }

    /// The time to live of a record. One with the highest bit set counts as 0 (RFC 2181 §8).
    private static func time(_ record: DNSRecord) -> UInt32 {
        record.timeToLive > Int32.max ? 0 : record.timeToLive
    }
}
