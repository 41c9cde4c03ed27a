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
