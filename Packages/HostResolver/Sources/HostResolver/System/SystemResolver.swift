internal import EventLoops

/// The system's resolver, which follows the machine's configuration: nsswitch, hosts file, mDNS, VPNs.
///
/// ```swift
/// let addresses = try await SystemResolver.shared.addresses(of: "www.example.org", until: .now + .seconds(5))
/// ```
///
/// The C library's calls block and cannot be cancelled, so they run on separate threads: at most 16 for
/// the whole process, created on demand, ended after 10 s of idleness. A cancellation or the deadline ends a lookup at
/// once. The call is abandoned, and its thread becomes available again when the C library gives up. Equal concurrent
/// lookups share one call. Nothing is cached. Blocking lookups without a deadline run on the calling thread and cost as
/// much as the C library's call.
///
/// Names in `.invalid`, `.onion` and `.localhost` are looked up in the hosts file only (RFC 6761 §6.3, §6.4, RFC 7686 §2).
/// `localhost` always has a loopback address of the requested families, also if the hosts file lists only the other family.
///
/// If both families are requested, a family of which this machine has no address is omitted, as with `AI_ADDRCONFIG`.
/// It is not omitted if the host has no other addresses, or if the machine has only loopback addresses. A lookup returns
/// at most 64 addresses of each family.
///
/// The C library waits for both families, up to 15 s for IPv6 where a firewall drops the queries. If it has not answered within
/// 1 s, IPv4 is looked up by itself as well. Its addresses are the answer if IPv6 takes as long again.
/// A blocking lookup without a deadline is one call, and lasts as long. A lookup of a canonical name takes the first answer of either call.
public final class SystemResolver: Resolver, ReverseResolver {
    /// The shared resolver of this process.
    public static let shared = SystemResolver()

    /// The maximum number of threads that call the C library.
    static let maximumThreads = 16
    /// The maximum number of lookups that wait for a thread. More are rejected with
    /// ``ResolverError/Code-swift.struct/busy``.
    static let maximumWaitingLookups = 4096
    /// The time after which an idle thread ends: 10 s.
    @_spi(Packages) public static let idleTime: Duration = .seconds(10)
    /// The time limit of a lookup of names without a deadline: 5 s. Reverse lookups of private addresses often hang,
    /// because upstream servers do not answer them.
    @_spi(Packages) public static let reverseTimeout: Duration = .seconds(5)

    private struct Question<Subject: Hashable & Sendable>: Hashable {
        let subject: Subject
        let families: AddressFamilies
    }

    private let calls: SystemCalls
    private let reverseTimeout: Duration
    private let secondFamilyTime: Duration
    private let lookups: LookupFlights<Question<String>, [IPAddress]>
    private let reverse: LookupFlights<Question<NameQuery>, [String]>

    convenience init() {
        let threads = BlockingThreads(
            limit: Self.maximumThreads, maximumQueueLength: Self.maximumWaitingLookups, idleTime: Self.idleTime)
        self.init(calls: .libc, threads: threads)
    }

    init(
        calls: SystemCalls, threads: BlockingThreads, reverseTimeout: Duration = SystemResolver.reverseTimeout,
        secondFamilyTime: Duration = AddressRequest.secondFamilyTime
    ) {
        self.calls = calls
        self.reverseTimeout = reverseTimeout
        self.secondFamilyTime = secondFamilyTime
        lookups = LookupFlights(threads: threads) { Self.addresses($0, calls) }
        reverse = LookupFlights(threads: threads) { calls.names($0.subject, $0.families) }
    }

    /// The number of callers that wait for an answer, for tests.
    var waitingCount: Int { lookups.waitingCount + reverse.waitingCount }

    /// Starts a lookup, by the rules of ``Resolver/start(_:_:)``.
    public func start(
        _ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void
    ) -> LookupToken {
        guard request.immediateAnswer != nil || calls.hostsAreQuick() else {
            let calls = calls
            return LookupToken(after: { _ = calls.hosts() }) { self.begin(request, handler) }
        }
        return begin(request, handler)
    }

    private func begin(
        _ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void
    ) -> LookupToken {
        let delivery = AddressDelivery(request: request, handler: handler)
        if let answer = localAnswer(to: request) {
            EventLoop.shared.execute { delivery.receive(answer, for: request.families) }
            return LookupToken { delivery.close() }
        }
        let families = familiesPerCall(for: request)
        // One call for both families waits for both.
        var second: Task<Void, Never>?
        if families == [.all] {
            second = Task(executorPreference: EventLoop.shared) { [self] in
                await deliverIPv4(of: request, to: delivery)
            }
        }
        let tokens = families.map { families in
            lookups.ask(Question(subject: request.name.description, families: families), until: request.deadline) {
                [second] in
                second?.cancel()
                delivery.receive($0, for: families)
            }
        }
        return LookupToken { [second] in
            second?.cancel()
            for token in tokens { token.cancel() }
            return delivery.close()
        }
    }

    /// Looks up and blocks the calling thread, which calls the C library itself unless there is a deadline.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func blockingAddresses(_ request: AddressRequest) throws(ResolverError) -> [IPAddress] {
        if let answer = localAnswer(to: request) { return try answer.get() }
        guard request.deadline == nil else {
            return try waitForLookup(name: request.name.description) { startAddresses(request, $0) }
        }
        let question = Question(subject: request.name.description, families: request.families)
        return try lookups.askOnCallingThread(question) { Self.addresses(question, calls) }.get()
    }

    /// Starts a reverse lookup, or a lookup of a canonical name, by the rules of ``Resolver/start(_:_:)``.
    public func startNames(
        of subject: NameQuery, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<[String], ResolverError>) -> Void
    ) -> LookupToken {
        let deadline = deadline ?? .now + reverseTimeout
        // Nil if the lookup was cancelled before.
        let answer = OneShot<Result<[String], ResolverError>?>()
        answer.onValue { if let result = $0 { handler(result.mapError { $0.about(subject.description) }) } }
        var second: Task<Void, Never>?
        if case .host = subject {
            second = Task(executorPreference: EventLoop.shared) { [self] in
                if let names = await namesByIPv4(of: subject, until: deadline) { answer.provide(.success(names)) }
            }
        }
        let token = reverse.ask(Question(subject: subject, families: .all), until: deadline) { [second] in
            second?.cancel()
            answer.provide($0)
        }
        return LookupToken { [second] in
            second?.cancel()
            token.cancel()
            return answer.provide(nil)
        }
    }
}

extension SystemResolver {
    /// Returns an answer that needs no call of the C library; nil for all other requests. The C library would send even
    /// names in `.onion`, `.invalid` and `.localhost` to a name server.
    private func localAnswer(to request: AddressRequest) -> Result<[IPAddress], ResolverError>? {
        if let answer = request.immediateAnswer { return answer }
        let name = request.name
        guard name.isNeverQueried || name.isLocalhost else { return nil }
        let listed = calls.hosts().addresses(of: name.ascii)
        guard name.isLocalhost else {
            let known = listed.filter { request.families.contains($0.family) }
            return known.isEmpty ? .failure(ResolverError(.hostNotFound, name: name.description)) : .success(known)
        }
        var choice = FamilyChoice(wanted: request.families, configured: request.families)
        if request.families == .all { choice = FamilyChoice(wanted: .all, configured: calls.configuredFamilies()) }
        let candidates = [(listed, choice.first), (listed, choice.fallback), (HostName.loopback, choice.first)]
        for (addresses, families) in candidates {
            let known = addresses.filter { families.contains($0.family) }
            // IPv6 first, as RFC 6724 §2.1 orders loopback addresses.
            if !known.isEmpty { return .success(known.filter { $0.family == .v6 } + known.filter { $0.family == .v4 }) }
        }
        return .failure(ResolverError(.noData, name: name.description))
    }

    /// Delivers the IPv4 addresses alone if the call for both families takes too long. A failure is that call's to report.
    private nonisolated(nonsending) func deliverIPv4(of request: AddressRequest, to delivery: AddressDelivery) async {
        do {
            try await EventLoop.shared.sleep(for: secondFamilyTime)
            guard FamilyChoice(wanted: .all, configured: calls.configuredFamilies()).first == .all else { return }
            let found = try await addresses(AddressRequest(request.name, families: .v4, until: request.deadline))
            try await EventLoop.shared.sleep(for: secondFamilyTime)
            delivery.receive(.success(found), for: .all)
        } catch {}
    }

    /// Returns the canonical name of a host if the call for both families takes too long and the call for IPv4 has the name. Both would find
    /// the same one.
    private nonisolated(nonsending) func namesByIPv4(
        of subject: NameQuery, until deadline: ContinuousClock.Instant
    ) async -> [String]? {
        do {
            try await EventLoop.shared.sleep(for: secondFamilyTime)
            return try await waitForLookup(name: subject.description) {
                reverse.ask(Question(subject: subject, families: .v4), until: deadline, handler: $0)
            }
        } catch {
            return nil
        }
    }

    /// Returns the families of each separate call: one call per family if the faster one must not wait and no family is
    /// omitted. A host in the hosts file has no other addresses, so the families are not looked up apart: the C library would look for a
    /// family that the file lacks in the DNS.
    private func familiesPerCall(for request: AddressRequest) -> [AddressFamilies] {
        guard request.delivery == .asTheyCome, request.families == .all,
            calls.hosts().addresses(of: request.name.ascii).isEmpty
        else { return [request.families] }
        let choice = FamilyChoice(wanted: .all, configured: calls.configuredFamilies())
        return choice.first == .all ? [.v6, .v4] : [.all]
    }

    private static func addresses(
        _ question: Question<String>, _ calls: SystemCalls
    ) -> Result<[IPAddress], ResolverError> {
        // A single requested family is never omitted.
        guard question.families == .all else { return calls.addresses(question.subject, question.families) }
        let choice = FamilyChoice(wanted: .all, configured: calls.configuredFamilies())
        let result = calls.addresses(question.subject, choice.first)
        guard !choice.fallback.isEmpty, case .failure(let error) = result,
            error.code == .hostNotFound || error.code == .noData
        else { return result }
        return calls.addresses(question.subject, choice.fallback)
            .mapError { AddressDelivery.moreInformative(error, $0) }
    }
}
