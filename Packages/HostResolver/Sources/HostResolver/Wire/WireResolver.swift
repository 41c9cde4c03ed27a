internal import EventLoops

/// A resolver that speaks the DNS itself: for records beyond addresses, times to live, and which server failed how.
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
/// UDP with EDNS, TCP when an answer was cut, by the rules of resolv.conf(5). The hosts file comes first, `localhost` never
/// leaves the machine (RFC 6761 §6.3), `.invalid` and `.onion` do not exist (RFC 6761 §6.4, RFC 7686 §2), and `.local` is left
/// to the system's resolver, which may know multicast DNS (RFC 6762 §3). What else nsswitch may name is not asked:
/// for a host's addresses, ``SystemResolver`` is the one that agrees with all other programs on the machine.
///
/// Equal questions in flight are one. Answers are kept only if `cacheLimit` says so.
public final class WireResolver: Resolver, ReverseResolver {
    /// How long a look-up of names may take if the caller gives no deadline, as ``SystemResolver/reverseLimit``.
    public static let reverseLimit = SystemResolver.reverseLimit

    let client: DNSClient
    private let fixedHosts: HostsFile?
    private let reverseLimit: Duration
    private let flights: LookupFlights<DNSQuestion, DNSAnswer>

    /// Makes a resolver.
    ///
    /// - Parameters:
    ///   - configuration: whom to ask and how; nil for what `/etc/resolv.conf` says at each question.
    ///   - hosts: names that are known without asking; nil for what `/etc/hosts` says at each question.
    ///   - cacheLimit: most answers that are kept, positive or negative, as long as their time to live says.
    public convenience init(
        configuration: ResolverConfiguration? = nil, hosts: HostsFile? = nil, cacheLimit: Int = 0
    ) {
        self.init(configuration: configuration, hosts: hosts, cacheLimit: cacheLimit, reverseLimit: Self.reverseLimit)
    }

    init(configuration: ResolverConfiguration?, hosts: HostsFile?, cacheLimit: Int, reverseLimit: Duration) {
        let client = DNSClient(configuration: configuration, cacheLimit: cacheLimit)
        self.client = client
        fixedHosts = hosts
        self.reverseLimit = reverseLimit
        flights = LookupFlights { question, land in
            let task = Task(executorPreference: EventLoop.shared) { land(await client.answer(to: question)) }
            return LookupToken {
                task.cancel()
                return true
            }
        }
    }

    /// How many callers wait for an answer, for tests.
    var waitingCount: Int { flights.waitingCount }

    /// What the cache has done so far.
    public var cacheStatistics: CacheStatistics { client.statistics }

    /// Forgets all answers that were kept.
    public func flushCache() {
        client.flushCache()
    }

    /// The records of one type of exactly this name: no search domains, no hosts file.
    ///
    /// - Throws: ``ResolverError``, with ``ResolverError/servers`` telling what each server did;
    ///   ``ResolverError/Code-swift.struct/cancelled`` if the task is cancelled.
    public nonisolated(nonsending) func records(
        _ type: DNSRecordType, of name: DNSName, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> DNSAnswer {
        try await waitForLookup(name: name.description) { startRecords(type, of: name, until: deadline, $0) }
    }

    /// The records of one type of exactly this name, as the function that takes a ``DNSName`` gives them.
    ///
    /// - Throws: ``ResolverError``, ``ResolverError/Code-swift.struct/invalidName`` if the text is no domain name.
    public nonisolated(nonsending) func records(
        _ type: DNSRecordType, of name: String, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> DNSAnswer {
        guard let domain = DNSName(name) else { throw ResolverError(.invalidName, name: name) }
        return try await records(type, of: domain, until: deadline)
    }

    /// The records of one type of exactly this name, while the calling thread waits.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func records(
        _ type: DNSRecordType, of name: DNSName, until deadline: ContinuousClock.Instant? = nil
    ) throws(ResolverError) -> DNSAnswer {
        let answer = BlockingAnswer<DNSAnswer>()
        _ = startRecords(type, of: name, until: deadline, answer.put)
        return try answer.wait()
    }

    /// Begins to ask for the records of one type of exactly this name; `handler` is called by the rules of
    /// ``Resolver/start(_:_:)``.
    public func startRecords(
        _ type: DNSRecordType, of name: DNSName, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<DNSAnswer, ResolverError>) -> Void
    ) -> LookupToken {
        flights.ask(DNSQuestion(name, type), until: deadline) { result in
            handler(result.mapError { $0.name == nil ? $0.about(name.description) : $0 })
        }
    }

    /// Begins a lookup, by the rules of ``Resolver/start(_:_:)``.
    public func start(
        _ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void
    ) -> LookupToken {
        if request.immediateAnswer == nil, Self.belongsToSystem(request.name) {
            return SystemResolver.shared.start(request, handler)
        }
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

    /// Begins a reverse look-up or one for a main name, by the rules of ``Resolver/start(_:_:)``.
    public func startNames(
        of subject: NameSubject, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<[String], ResolverError>) -> Void
    ) -> LookupToken {
        let search = NameSearch(
            resolver: self, subject: subject, hosts: hosts, deadline: deadline ?? .now + reverseLimit)
        let delivery = SingleDelivery(handler)
        let task = Task(executorPreference: EventLoop.shared) { delivery.deliver(await search.names()) }
        return LookupToken {
            task.cancel()
            return delivery.close()
        }
    }
}

extension WireResolver {
    var hosts: HostsFile { fixedHosts ?? .system }

    /// Names that are answered on this machine; nil for all others.
    private func localAnswer(to request: AddressRequest) -> Result<[IPAddress], ResolverError>? {
        let name = request.name
        let known = hosts.addresses(of: name.ascii).filter { request.families.contains($0.family) }
        if !known.isEmpty { return .success(known) }
        if name.isNeverAsked { return .failure(ResolverError(.hostNotFound, name: name.description)) }
        guard name.labels.last == "localhost" else { return nil }
        let loopback: [IPAddress] = [.v6(.loopback), .v4(.loopback)]
        return .success(loopback.filter { request.families.contains($0.family) })
    }

    private static func belongsToSystem(_ name: HostName) -> Bool {
        name.labels.count > 1 && name.labels.last == "local"
    }
}
