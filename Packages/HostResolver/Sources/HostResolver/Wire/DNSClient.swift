internal import DNSWire
internal import EventLoops
internal import Synchronization

/// A client that answers single questions, from the cache or from the servers, and follows aliases.
final class DNSClient: Sendable {
    private let fixedConfiguration: ResolverConfiguration?
    private let cache: Locked<DNSCache>
    /// The number of queries so far. It selects the first server if the configuration rotates the servers.
    private let turn = Atomic<Int>(0)
    private let serversWithoutEDNS = Locked(ServersWithoutEDNS())
    private let foldingServers = Locked(FoldingServers())

    init(configuration: ResolverConfiguration?, maximumCachedAnswers: Int) {
        fixedConfiguration = configuration
        cache = Locked(DNSCache(limit: maximumCachedAnswers))
    }

    var configuration: ResolverConfiguration { fixedConfiguration ?? .system }

    var statistics: DNSCache.Statistics { cache.withLock { $0.statistics } }

    func flushCache() {
        cache.withLock { $0.flush() }
        serversWithoutEDNS.withLock { $0 = ServersWithoutEDNS() }
        foldingServers.withLock { $0 = FoldingServers() }
    }

    /// Returns the answer to a question, from the cache or the servers. Follows aliases with further queries.
    nonisolated(nonsending) func answer(to question: DNSQuestion) async -> Result<DNSAnswer, ResolverError> {
        if let known = cache.withLock({ $0.answer(to: question, now: .now) }) { return known }
        let configuration = configuration
        var machine = DNSAnswerMachine(question, trustsAuthenticatedData: configuration.trustsAuthenticatedData)
        var next = question
        var servers: [ServerOutcome] = []
        while true {
            let first = turn.wrappingAdd(1, ordering: .relaxed).oldValue
            let known = serversWithoutEDNS.withLock { $0.servers(now: .now) }
            let folding = foldingServers.withLock { $0.servers(now: .now) }
            let outcome = await DNSQueryDriver.ask(
                next, configuration: configuration, firstServer: first, withoutEDNS: known, folding: folding)
            servers += outcome.servers
            if let sign = outcome.ednsSign {
                serversWithoutEDNS.withLock { $0.note(sign, of: next.name, now: .now) }
            }
            if let server = outcome.foldingServer { foldingServers.withLock { $0.note(server, now: .now) } }
            let message: DNSMessage
            switch outcome.result {
            case .success(let received): message = received
            case .failure(let error): return .failure(error.about(question.name.description))
            }
            switch machine.received(message, servers: servers) {
            case .ask(let further): next = further
            case .failed(let error): return .failure(error)
            case .found(let answer):
                cache.withLock { $0.store(.success(answer), negativeTime: nil, to: question, now: .now) }
                return .success(answer)
            case .nothing(let error, let negativeTime):
                cache.withLock { $0.store(.failure(error), negativeTime: negativeTime, to: question, now: .now) }
                return .failure(error)
            }
        }
    }
}

/// The servers that break EDNS, so that few queries in a while wait for an answer that does not come.
///
/// Silence counts only after queries for two names, because the name may be the reason. Each server is forgotten at its first answer
/// with EDNS, and after some time, since the box that breaks EDNS may be gone by then. Reads no clock.
struct ServersWithoutEDNS: Sendable {
    /// The time for which a server is remembered.
    static let time: Duration = .seconds(900)
    /// The maximum number of servers; the one that expires first gives way. Servers change only with the configuration.
    static let maximumCount = 64

    private struct Entry {
        /// The only name for which the server was silent; nil if it breaks EDNS.
        let silentName: DNSName?
        let expires: ContinuousClock.Instant
    }

    private var entries: [SocketAddress: Entry] = [:]

    /// The servers that break EDNS.
    func servers(now: ContinuousClock.Instant) -> Set<SocketAddress> {
        entries.isEmpty
            ? [] : Set(entries.lazy.filter { $0.value.silentName == nil && $0.value.expires > now }.map(\.key))
    }

    /// Notes what the answer to a query for a name has shown. A server that is known to break EDNS keeps its time, so that it is tried
    /// with EDNS again in the end.
    mutating func note(_ sign: EDNSSign, of name: DNSName, now: ContinuousClock.Instant) {
        entries = entries.filter { $0.value.expires > now }
        let known = entries[sign.server]
        let silentName: DNSName?
        switch sign.kind {
        case .support:
            entries[sign.server] = nil
            return
        case .rejection: silentName = nil
        case .silence: silentName = known == nil || known?.silentName == name ? name : nil
        }
        if let known, known.silentName == silentName { return }
        if known == nil, entries.count >= Self.maximumCount,
            let first = entries.min(by: { $0.value.expires < $1.value.expires })
        {
            entries[first.key] = nil
        }
        entries[sign.server] = Entry(silentName: silentName, expires: now + Self.time)
    }
}

/// The servers that change the case of questions and have no TCP, so that not every query is made three times.
///
/// Each is forgotten after some time, and is then queried with a random case again. Reads no clock.
struct FoldingServers: Sendable {
    private var expirations: [SocketAddress: ContinuousClock.Instant] = [:]

    func servers(now: ContinuousClock.Instant) -> Set<SocketAddress> {
        expirations.isEmpty ? [] : Set(expirations.lazy.filter { $0.value > now }.map(\.key))
    }

    /// Notes a server. There is room for as many as of those without EDNS, and they are remembered for the same time.
    mutating func note(_ server: SocketAddress, now: ContinuousClock.Instant) {
        expirations = expirations.filter { $0.value > now }
        if expirations.count >= ServersWithoutEDNS.maximumCount,
            let first = expirations.min(by: { $0.value < $1.value })
        {
            expirations[first.key] = nil
        }
        expirations[server] = now + ServersWithoutEDNS.time
    }
}

/// A cache of answers, which respects their times to live (RFC 1035 §7.4; RFC 2308 §5 for negative answers).
///
/// The cache reads no clock: the current time is an argument. It stores each answer under its question only, so
/// additional records that a server volunteers never become answers.
struct DNSCache: Sendable {
    /// The longest time for which an answer is cached, even if its time to live is longer: 24 hours.
    static let maximumTime: Duration = .seconds(86_400)
    /// The longest time for which a negative answer is cached: one hour (RFC 2308 §5 recommends one to three hours).
    static let maximumNegativeTime: Duration = .seconds(3600)

    /// The counters of a cache.
    typealias Statistics = WireResolver.CacheStatistics

    private struct Entry {
        let answer: Result<DNSAnswer, ResolverError>
        let stored: ContinuousClock.Instant
        let expires: ContinuousClock.Instant
    }

    private let limit: Int
    private var entries: [DNSQuestion: Entry] = [:]
    private var hits = 0
    private var misses = 0

    /// Creates a cache of at most `limit` answers.
    init(limit: Int) {
        self.limit = limit
    }

    var statistics: Statistics { Statistics(hits: hits, misses: misses, count: entries.count) }

    /// Returns the cached answer, with its times to live reduced by its age; nil if there is none.
    mutating func answer(to question: DNSQuestion, now: ContinuousClock.Instant) -> Result<DNSAnswer, ResolverError>? {
        guard let entry = entries[question], now < entry.expires else {
            entries[question] = nil
            misses += 1
            return nil
        }
        hits += 1
        let age = UInt32(clamping: entry.stored.duration(to: now).components.seconds)
        return entry.answer.map { $0.aged(by: age) }
    }

    /// Stores a positive answer for its time to live, or a negative one for `negativeTime`. A truncated answer (RFC 1035 §7.4),
    /// or one with a time of 0, is not stored.
    mutating func store(
        _ answer: Result<DNSAnswer, ResolverError>, negativeTime: UInt32?, to question: DNSQuestion,
        now: ContinuousClock.Instant
    ) {
        let time: Duration
        switch answer {
        case .success(let answer):
            guard !answer.isTruncated else { return }
            time = min(.seconds(answer.timeToLive), Self.maximumTime)
        case .failure(let error):
            guard error.code == .hostNotFound || error.code == .noData, let negativeTime else { return }
            time = min(.seconds(negativeTime), Self.maximumNegativeTime)
        }
        guard limit > 0, time > .zero else { return }
        if entries.count >= limit, entries[question] == nil { makeRoom(now: now) }
        entries[question] = Entry(answer: answer, stored: now, expires: now + time)
    }

    /// Removes all answers.
    mutating func flush() {
        entries = [:]
    }

    /// Removes expired answers, and if that is not enough, those that expire first.
    private mutating func makeRoom(now: ContinuousClock.Instant) {
        entries = entries.filter { $0.value.expires > now }
        while entries.count >= limit, let first = entries.min(by: { $0.value.expires < $1.value.expires }) {
            entries[first.key] = nil
        }
    }
}
