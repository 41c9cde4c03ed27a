public import HostResolver

/// A resolver with scripted answers: batches, delays on a ``ManualClock``, failures, or no answer.
///
/// ```swift
/// let clock = ManualClock()
/// let resolver = ScriptedResolver(clock: clock)
/// resolver.script("www.example.org", [
///     .batch(["2001:db8::1"], after: .milliseconds(50)),
///     .batch(["192.0.2.1"], after: .zero),
///     .finish(after: .milliseconds(50)),
/// ])
/// ```
///
/// Without a clock, all steps happen at once, on `EventLoop/shared`. A name without a script does not exist.
public final class ScriptedResolver: Resolver, ReverseResolver {
    /// An event of a scripted lookup, with its delay from the start of the lookup.
    public struct Step: Sendable {
        fileprivate let delay: Duration
        fileprivate let event: AddressEvent

        /// Delivers addresses. By default, they complete the families of the addresses.
        public static func batch(
            _ addresses: [String], families: AddressFamilies? = nil, after delay: Duration = .zero
        ) -> Step {
            let addresses = addresses.compactMap(IPAddress.init)
            let covered = families ?? addresses.reduce(into: []) { $0.formUnion($1.family) }
            return Step(delay: delay, event: .batch(AddressBatch(addresses, families: covered)))
        }

        /// Ends the lookup with success.
        public static func finish(after delay: Duration = .zero) -> Step {
            Step(delay: delay, event: .finished(nil))
        }

        /// Ends the lookup with a failure.
        public static func fail(_ code: ResolverError.Code, after delay: Duration = .zero) -> Step {
            Step(delay: delay, event: .finished(ResolverError(code)))
        }
    }

    private struct State {
        var scripts: [String: [Step]] = [:]
        var names: [NameQuery: Result<[String], ResolverError>] = [:]
        var requests: [AddressRequest] = []
        var cancelled = 0
    }

    private let state = Locked(State())
    private let clock: ManualClock?

    /// Creates a resolver without scripts.
    public init(clock: ManualClock? = nil) {
        self.clock = clock
    }

    /// Sets the steps of lookups of `name`. Without a final step, a lookup lasts until it is cancelled or times out.
    public func script(_ name: String, _ steps: [Step]) {
        state.withLock { $0.scripts[name] = steps }
    }

    /// Sets the addresses of `name`, delivered at once.
    public func script(_ name: String, addresses: [String]) {
        script(name, [.batch(addresses, families: .all), .finish()])
    }

    /// Sets the answer of ``startNames(of:until:_:)``.
    public func script(namesOf subject: NameQuery, _ answer: Result<[String], ResolverError>) {
        state.withLock { $0.names[subject] = answer }
    }

    /// The requests so far, in order.
    public var requests: [AddressRequest] { state.withLock { $0.requests } }

    /// The number of lookups that were cancelled before their end.
    public var cancelledCount: Int { state.withLock { $0.cancelled } }

    /// Starts a scripted lookup.
    public func start(
        _ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void
    ) -> LookupToken {
        let name = request.name.ascii
        let steps = state.withLock { state in
            state.requests.append(request)
            return state.scripts[name]
        }
        let unknown = [Step.fail(.hostNotFound)]
        let literal = request.name.address.map { [Step.batch(["\($0)"], families: .all), .finish()] }
        return run(literal ?? steps ?? unknown, until: request.deadline) { event in
            switch event {
            case .finished(let error?): handler(.finished(ResolverError(error.code, name: name)))
            case .batch(var batch):
                batch.addresses.removeAll { !request.families.contains($0.family) }
                batch.families.formIntersection(request.families)
                handler(.batch(batch))
            case .finished(nil): handler(event)
            }
        }
    }

    /// Starts a scripted lookup of names.
    public func startNames(
        of subject: NameQuery, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<[String], ResolverError>) -> Void
    ) -> LookupToken {
        let answer = state.withLock { $0.names[subject] } ?? .failure(ResolverError(.hostNotFound, name: "\(subject)"))
        return run([.finish()], until: deadline) { event in
            if case .finished(let error?) = event { handler(.failure(error)) } else { handler(answer) }
        }
    }

    private func run(
        _ steps: [Step], until deadline: ContinuousClock.Instant?, _ handler: @escaping @Sendable (AddressEvent) -> Void
    ) -> LookupToken {
        let lookup = ScriptedLookup(handler)
        if let clock {
            for step in steps {
                clock.schedule(at: clock.now + step.delay) { lookup.deliver(step.event) }
            }
            if let deadline {
                clock.schedule(at: deadline) { lookup.deliver(.finished(ResolverError(.timedOut))) }
            }
        } else {
            EventLoop.shared.execute { for step in steps { lookup.deliver(step.event) } }
            if let deadline {
                EventLoop.shared.schedule(at: Moment(deadline)) {
                    lookup.deliver(.finished(ResolverError(.timedOut)))
                }
            }
        }
        return LookupToken { [self] in
            let ended = lookup.end()
            if ended { state.withLock { $0.cancelled += 1 } }
            return ended
        }
    }
}

/// One lookup of a ``ScriptedResolver``, which delivers events until its end.
private final class ScriptedLookup: Sendable {
    typealias Handler = @Sendable (AddressEvent) -> Void

    private struct State {
        /// Nil after the end, so that remaining appointments do not keep alive the objects that the handler holds.
        var handler: Handler?
    }
    private let state: Locked<State>

    init(_ handler: @escaping Handler) {
        state = Locked(State(handler: handler))
    }

    func deliver(_ event: AddressEvent) {
        let handler = state.withLock { state in
            if case .finished = event { state.handler.take() } else { state.handler }
        }
        handler?(event)
    }

    /// Ends the lookup; true if it had not ended yet.
    func end() -> Bool {
        state.withLock { $0.handler.take() } != nil
    }
}
