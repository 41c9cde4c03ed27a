/// Follows the aliases in one answer from the name asked for to the name that has the records (RFC 1034 §3.6.2).
struct DNSAliasChain {
    /// Most aliases that are followed in all; more is an error.
    static let longest = 16

    /// The names passed, the one asked for first.
    private(set) var aliases: [DNSName] = []
    /// Where the chain ends in this answer.
    private(set) var end: DNSName
    /// The records of the type asked for at the end.
    private(set) var records: [DNSRecord] = []
    /// The least time of the records and aliases used.
    private(set) var timeToLive: UInt32 = .max

    /// Follows the chain through `answers`. Records of names outside of it are not looked at.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/malformedAnswer`` for a loop or a chain over ``longest``.
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

    /// RFC 2181 §8: a time with the highest bit set is 0.
    private static func time(_ record: DNSRecord) -> UInt32 {
        record.timeToLive > Int32.max ? 0 : record.timeToLive
    }
}
