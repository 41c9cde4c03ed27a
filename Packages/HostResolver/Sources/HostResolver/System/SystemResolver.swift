internal import EventLoops

/// The machine's own resolver: nsswitch, the hosts file, mDNS, VPNs and whatever else its owner set up, all count.
///
/// ```swift
/// let addresses = try await SystemResolver.shared.addresses(of: "www.example.org", until: .now + .seconds(5))
/// ```
///
/// The C library's calls block and cannot be cancelled, so they run on threads of their own, at most ``threadLimit`` for
/// the whole process, made on demand and gone after ``idleTime``. Cancelling or the deadline ends a lookup at once: the
/// call is abandoned, and its thread serves others again when the C library gives up. Equal lookups in flight are one
/// call. Nothing is cached. Blocking calls without a deadline run on the calling thread and cost what the C library's cost.
///
/// Names in `.invalid` and `.onion` are looked for in the hosts file and nowhere else (RFC 6761 §6.4, RFC 7686 §2).
///
/// Of two families asked for, one that no interface of this machine has an address of is left out, as `AI_ADDRCONFIG` does
/// it; but not if the host has no others, nor on a machine that has loopback addresses only.
public final class SystemResolver: Resolver, ReverseResolver {
    /// The resolver of this process.
    public static let shared = SystemResolver()

    /// Most threads that may sit in the C library.
    public static let threadLimit = 16
    /// Most lookups that may wait for a thread; more are refused with ``ResolverError/Code-swift.struct/busy``.
    public static let longestLine = 4096
    /// How long a thread stays without work.
    public static let idleTime: Duration = .seconds(10)
    /// How long a look-up of names may take if the caller gives no deadline: those of private addresses often hang at a server
    /// upstream that does not answer for them. 5 s.
    public static let reverseLimit: Duration = .seconds(5)

    private struct Question: Hashable {
        let name: String
        let families: AddressFamilies
    }

    private let calls: SystemCalls
    private let reverseLimit: Duration
    private let lookups: LookupFlights<Question, [IPAddress]>
    private let reverse: LookupFlights<NameSubject, [String]>

    convenience init() {
        let threads = LookupThreads(
            limit: Self.threadLimit, longestLine: Self.longestLine, idleTime: Self.idleTime)
        self.init(calls: .libc, threads: threads)
    }

    init(calls: SystemCalls, threads: LookupThreads, reverseLimit: Duration = SystemResolver.reverseLimit) {
        self.calls = calls
        self.reverseLimit = reverseLimit
        lookups = LookupFlights(threads: threads) { Self.addresses($0, calls) }
        reverse = LookupFlights(threads: threads) { calls.names($0) }
    }

    /// How many callers wait for an answer, for tests.
    var waitingCount: Int { lookups.waitingCount + reverse.waitingCount }

    /// Begins a lookup, by the rules of ``Resolver/start(_:_:)``.
    public func start(
        _ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void
    ) -> LookupToken {
        let delivery = AddressDelivery(request: request, handler: handler)
        if let answer = Self.localAnswer(to: request) {
            EventLoop.shared.execute { delivery.receive(answer, for: request.families) }
            return LookupToken { delivery.close() }
        }
        let tokens = parts(of: request).map { families in
            lookups.ask(Question(name: request.name.description, families: families), until: request.deadline) {
                delivery.receive($0, for: families)
            }
        }
        return LookupToken {
            for token in tokens { token.cancel() }
            return delivery.close()
        }
    }

    /// Looks up on the calling thread, in the C library's own call unless there is a deadline.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func blockingAddresses(_ request: AddressRequest) throws(ResolverError) -> [IPAddress] {
        if let answer = Self.localAnswer(to: request) { return try answer.get() }
        let question = Question(name: request.name.description, families: request.families)
        if request.deadline == nil {
            return try lookups.askHere(question) { Self.addresses(question, calls) }.get()
        }
        let answer = BlockingAnswer<[IPAddress]>()
        _ = lookups.ask(question, until: request.deadline, handler: answer.put)
        do throws(ResolverError) {
            return try answer.wait()
        } catch {
            throw error.about(question.name)
        }
    }

    /// Begins a reverse look-up or one for a main name, by the rules of ``Resolver/start(_:_:)``.
    public func startNames(
        of subject: NameSubject, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<[String], ResolverError>) -> Void
    ) -> LookupToken {
        reverse.ask(subject, until: deadline ?? .now + reverseLimit) { result in
            handler(result.mapError { $0.about(subject.description) })
        }
    }
}

extension SystemResolver {
    /// Answers that need no call of the C library, which would ask a name server even for what no server may hear of; nil
    /// for all other requests.
    private static func localAnswer(to request: AddressRequest) -> Result<[IPAddress], ResolverError>? {
        if let answer = request.immediateAnswer { return answer }
        let name = request.name
        guard name.isNeverAsked else { return nil }
        let known = HostsFile.system.addresses(of: name.ascii).filter { request.families.contains($0.family) }
        return known.isEmpty ? .failure(ResolverError(.hostNotFound, name: name.description)) : .success(known)
    }

    /// What is asked for apart: both families, if the fast one shall not wait for the slow one and none is left out.
    private func parts(of request: AddressRequest) -> [AddressFamilies] {
        guard request.delivery == .asTheyCome, request.families == .all else { return [request.families] }
        let choice = FamilyChoice(wanted: .all, configured: calls.configuredFamilies())
        return choice.first == .all ? [.v6, .v4] : [.all]
    }

    private static func addresses(_ question: Question, _ calls: SystemCalls) -> Result<[IPAddress], ResolverError> {
        // One family alone is never left out.
        guard question.families == .all else { return calls.addresses(question.name, question.families) }
        let choice = FamilyChoice(wanted: .all, configured: calls.configuredFamilies())
        let result = calls.addresses(question.name, choice.first)
        guard !choice.otherwise.isEmpty, case .failure(let error) = result,
            error.code == .hostNotFound || error.code == .noData
        else { return result }
        return calls.addresses(question.name, choice.otherwise).mapError { AddressDelivery.graver(error, $0) }
    }
}
