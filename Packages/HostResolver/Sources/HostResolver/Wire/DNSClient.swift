internal import EventLoops
internal import Synchronization

/// A client that answers single questions, from the cache or from the servers, and follows aliases.
final class DNSClient: Sendable {
    private let fixedConfiguration: ResolverConfiguration?
    private let cache: Locked<DNSCache>
    private let turn = Atomic<Int>(0)

    init(configuration: ResolverConfiguration?, cacheLimit: Int) {
        fixedConfiguration = configuration
        cache = Locked(DNSCache(limit: cacheLimit))
    }

    var configuration: ResolverConfiguration { fixedConfiguration ?? .system }

    var statistics: DNSCache.Statistics { cache.withLock { $0.statistics } }

    func flushCache() {
        cache.withLock { $0.flush() }
    }

    /// Returns the answer to a question.
    nonisolated(nonsending) func answer(to question: DNSQuestion) async -> Result<DNSAnswer, ResolverError> {
        if let known = cache.withLock({ $0.answer(to: question, now: .now) }) { return known }
        let configuration = configuration
        var machine = DNSAnswerMachine(question, trustsAuthenticatedData: configuration.trustsAuthenticatedData)
        var next = question
        var servers: [ServerOutcome] = []
        while true {
            let first = turn.wrappingAdd(1, ordering: .relaxed).oldValue
            let (result, outcomes) = await DNSQueryDriver.ask(next, configuration: configuration, firstServer: first)
            servers += outcomes
            let message: DNSMessage
            switch result {
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
