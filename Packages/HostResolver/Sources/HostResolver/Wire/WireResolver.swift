public import DNSWire
internal import EventLoops

/// A resolver that queries name servers itself, for all record types, with times to live and each server's outcome.
///
/// ```swift
/// let resolver = WireResolver()
/// let mail = try await resolver.records(.mx, of: "example.org", until: .now + .seconds(5))
/// do throws(ResolverError) {
///     _ = try await resolver.addresses(of: "www.example.org")
/// } catch {
///     for outcome in error.servers { print(outcome.server, outcome.result.rawValue, outcome.elapsed) }
/// }
/// ```
///
/// It uses UDP with EDNS, and TCP if an answer was truncated, by the rules of resolv.conf(5). A server that drops, rejects or mangles
/// EDNS is queried without it, and for a quarter of an hour not with it. The hosts file takes
/// precedence. Names in `localhost` never leave the machine (RFC 6761 §6.3), names in `.invalid` and `.onion` do not
/// exist (RFC 6761 §6.4, RFC 7686 §2), and names in `.local` go to ``SystemResolver``, which may know multicast DNS
/// (RFC 6762 §3). Other sources that nsswitch may name are not consulted: to get the same addresses as all other
/// programs on the machine, use ``SystemResolver``.
///
/// Equal concurrent questions share one query. Answers are cached only if `maximumCachedAnswers` is positive.
public final class WireResolver: Resolver, ReverseResolver {
    /// The time limit of a lookup of names without a deadline: ``SystemResolver/reverseTimeout``.
    static let reverseTimeout = SystemResolver.reverseTimeout

    /// The maximum number of addresses of each family that a lookup of addresses returns.
    ///
    /// The first ones of an answer count. An answer over TCP can hold thousands, and sorting needs a system call for each.
    @_spi(Packages) public static let maximumAddresses = UniqueAddresses.maximumPerFamily

    let client: DNSClient
    private let fixedHosts: HostsFile?
    private let reverseTimeout: Duration
    let secondFamilyTime: Duration
    private let flights: LookupFlights<DNSQuestion, DNSAnswer>

    /// Creates a resolver.
    ///
    /// - Parameters:
    ///   - configuration: The servers and how to query them; nil for the contents of `/etc/resolv.conf` at each lookup.
    ///   - hosts: Names that need no query; nil for the contents of `/etc/hosts` at each lookup.
    ///   - maximumCachedAnswers: The maximum number of cached answers, positive or negative. Each is cached for its time to live.
    public convenience init(
        configuration: ResolverConfiguration? = nil, hosts: HostsFile? = nil, maximumCachedAnswers: Int = 0
    ) {
        self.init(
            configuration: configuration, hosts: hosts, maximumCachedAnswers: maximumCachedAnswers,
            reverseTimeout: Self.reverseTimeout)
    }

    init(
        configuration: ResolverConfiguration?, hosts: HostsFile?, maximumCachedAnswers: Int, reverseTimeout: Duration,
        secondFamilyTime: Duration = AddressRequest.secondFamilyTime
    ) {
        let client = DNSClient(configuration: configuration, maximumCachedAnswers: maximumCachedAnswers)
        self.client = client
        fixedHosts = hosts
        self.reverseTimeout = reverseTimeout
        self.secondFamilyTime = secondFamilyTime
        flights = LookupFlights { question, complete in
            let task = Task(executorPreference: EventLoop.shared) { complete(await client.answer(to: question)) }
            return LookupToken {
                task.cancel()
                return true
            }
        }
    }

    /// The number of callers that wait for an answer, for tests.
    var waitingCount: Int { flights.waitingCount }

    /// The counters of the cache.
    package var cacheStatistics: CacheStatistics { client.statistics }

    /// Removes all answers from the cache, and forgets which servers break EDNS.
    public func flushCache() {
        client.flushCache()
    }

    /// Looks up the records of one type of exactly this name, without search domains or hosts file.
    ///
    /// - Throws: ``ResolverError``, with the outcome of each server in ``ResolverError/servers``;
    ///   ``ResolverError/Code-swift.struct/cancelled`` if the task is cancelled.
    public nonisolated(nonsending) func records(
        _ type: DNSRecordType, of name: DNSName, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> DNSAnswer {
        try await waitForLookup(name: name.description) { startRecords(type, of: name, until: deadline, $0) }
    }

    /// Looks up the records of one type of exactly this name, like the function that takes a `DNSName`.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/invalidName`` if the text is not a domain name.
    public nonisolated(nonsending) func records(
        _ type: DNSRecordType, of name: String, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> DNSAnswer {
        guard let domain = DNSName(name) else { throw ResolverError(.invalidName, name: name) }
        return try await records(type, of: domain, until: deadline)
    }

    /// Looks up the records of one type of exactly this name, and blocks the calling thread.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func records(
        _ type: DNSRecordType, of name: DNSName, until deadline: ContinuousClock.Instant? = nil
    ) throws(ResolverError) -> DNSAnswer {
        try waitForLookup(name: name.description) { startRecords(type, of: name, until: deadline, $0) }
    }

    /// Starts a lookup of the records of one type of exactly this name. `handler` is called by the rules of
    /// ``Resolver/start(_:_:)``.
    @_spi(Packages) public func startRecords(
        _ type: DNSRecordType, of name: DNSName, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<DNSAnswer, ResolverError>) -> Void
    ) -> LookupToken {
        flights.ask(DNSQuestion(name, type), until: deadline) { result in
            handler(result.mapError { $0.name == nil ? $0.about(name.description) : $0 })
        }
    }

    /// Starts a lookup, by the rules of ``Resolver/start(_:_:)``.
    public func start(
        _ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void
    ) -> LookupToken {
        if request.immediateAnswer == nil, Self.belongsToSystem(request.name) {
            return SystemResolver.shared.start(request, handler)
        }
        guard request.immediateAnswer != nil || hostsAreQuick else {
            return LookupToken(after: { [self] in _ = hosts }) { self.begin(request, handler) }
        }
        return begin(request, handler)
    }

    private func begin(
        _ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void
    ) -> LookupToken {
        let delivery = AddressDelivery(request: request, handler: handler)
        if let answer = request.immediateAnswer ?? localAnswer(to: request) {
            EventLoop.shared.execute { delivery.receive(answer, for: request.families) }
            return LookupToken { delivery.close() }
        }
        let search = AddressSearch(resolver: self, request: request, delivery: delivery)
        let task = Task(executorPreference: EventLoop.shared) { await search.run() }
        return LookupToken {
            task.cancel()
            return delivery.close()
        }
    }

    /// Starts a reverse lookup, or a lookup of a canonical name, by the rules of ``Resolver/start(_:_:)``.
    public func startNames(
        of subject: NameQuery, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<[String], ResolverError>) -> Void
    ) -> LookupToken {
        guard hostsAreQuick else {
            return LookupToken(after: { [self] in _ = hosts }) {
                self.beginNames(of: subject, until: deadline, handler)
            }
        }
        return beginNames(of: subject, until: deadline, handler)
    }

    private func beginNames(
        of subject: NameQuery, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<[String], ResolverError>) -> Void
    ) -> LookupToken {
        let search = NameSearch(
            resolver: self, subject: subject, hosts: hosts, deadline: deadline ?? .now + reverseTimeout)
        // Nil if the lookup was cancelled before.
        let answer = OneShot<Result<[String], ResolverError>?>()
        answer.onValue { if let result = $0 { handler(result) } }
        let task = Task(executorPreference: EventLoop.shared) { answer.provide(await search.names()) }
        return LookupToken {
            task.cancel()
            return answer.provide(nil)
        }
    }
}

extension WireResolver {
    var hosts: HostsFile { fixedHosts ?? .system }
    private var hostsAreQuick: Bool { fixedHosts != nil || SystemFiles.hostsAreQuick }

    /// Returns the answer for a name that needs no query; nil for all others.
    private func localAnswer(to request: AddressRequest) -> Result<[IPAddress], ResolverError>? {
        let name = request.name
        let known = hosts.addresses(of: name.ascii).filter { request.families.contains($0.family) }
        if !known.isEmpty { return .success(known) }
        if name.isNeverQueried { return .failure(ResolverError(.hostNotFound, name: name.description)) }
        guard name.isLocalhost else { return nil }
        return .success(HostName.loopback.filter { request.families.contains($0.family) })
    }

    private static func belongsToSystem(_ name: HostName) -> Bool {
        name.labels.count > 1 && name.labels.last == "local"
    }
}

extension WireResolver {
    /// The counters of a resolver's cache.
    package struct CacheStatistics: Hashable, Sendable {
        /// The number of questions answered from the cache.
        package let hits: Int
        /// The number of questions that the cache could not answer.
        package let misses: Int
        /// The current number of answers in the cache.
        package let count: Int
    }
}
