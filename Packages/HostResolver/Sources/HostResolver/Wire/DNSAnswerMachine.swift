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
            if !chain.records.isEmpty {
                return .found(
                    DNSAnswer(
                        records: chain.records, canonicalName: chain.end, aliases: aliases, timeToLive: timeToLive,
                        isAuthenticated: isAuthenticated && trustsAuthenticatedData, servers: servers))
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
