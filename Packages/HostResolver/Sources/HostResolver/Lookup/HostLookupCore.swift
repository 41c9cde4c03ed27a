internal import EventLoops

/// The state of a ``HostLookup``, in an object of its own so that a running lookup does not keep the ``HostLookup``
/// alive.
final class HostLookupCore: Sendable {
    typealias Kind = HostLookup.Kind
    typealias Finish = @Sendable (Result<Void, ResolverError>) -> Void

    private struct Running {
        let number: UInt64
        let kind: Kind
        /// Called with the result if a caller waits; nil if the client is to be called.
        let finish: Finish?
        var token: LookupToken?
    }

    private struct State {
        var record: HostRecord
        var running: Running?
        var last: UInt64 = 0
        var client: (@Sendable (Kind, ResolverError?) -> Void)?
        var pending: [(kind: Kind, error: ResolverError?)] = []
    }

    let resolver: any HostLookup.AnyResolver
    private let state: Locked<State>
    private let pump = EventPump(isReentrant: true)

    init(_ record: HostRecord, resolver: any HostLookup.AnyResolver) {
        self.resolver = resolver
        state = Locked(State(record: record))
    }

    var record: HostRecord { state.withLock { $0.record } }

    /// Starts a lookup whose result goes to the client.
    func start(_ kind: Kind, until deadline: ContinuousClock.Instant?) throws(ResolverError) {
        try launch(kind, until: deadline, nil)
    }

    /// Starts a lookup whose result goes to `finish`, which is called once, and before this returns if the lookup
    /// cannot start.
    func begin(_ kind: Kind, until deadline: ContinuousClock.Instant?, _ finish: @escaping Finish) -> LookupToken {
        do throws(ResolverError) {
            let number = try launch(kind, until: deadline, finish)
            return LookupToken { [self] in cancelRunning(number) != nil }
        } catch {
            finish(.failure(error))
            return LookupToken { false }
        }
    }

    /// Cancels the lookup of `kind`, and reports that to the waiting caller or to the client.
    func cancel(_ kind: Kind) {
        let number = state.withLock { $0.running?.kind == kind ? $0.running?.number : nil }
        guard let number, let running = cancelRunning(number) else { return }
        report(running, ResolverError(.cancelled, name: record.description))
    }

    /// Cancels everything without a callback, because the ``HostLookup`` is being released.
    func end() {
        setClient(nil)
        pump.stop()
    }

    func setClient(_ client: (@Sendable (Kind, ResolverError?) -> Void)?) {
        let (number, former) = state.withLock { state in
            let former = state.client
            state.client = client
            guard client == nil else { return (nil as UInt64?, former) }
            state.pending = []
            return (state.running?.finish == nil ? state.running?.number : nil, former)
        }
        if let number { _ = cancelRunning(number) }
        // The former client is released here, outside the lock: the objects that it holds may call this one as they
        // deinitialize.
        withExtendedLifetime(former) {}
    }

    func schedule(on target: any DeliveryTarget) {
        pump.schedule(on: target) { [weak self] in self?.deliver(on: target) }
    }

    func unschedule(from target: any DeliveryTarget) {
        pump.unschedule(from: target)
    }
}

extension HostLookupCore {
    @discardableResult
    private func launch(
        _ kind: Kind, until deadline: ContinuousClock.Instant?, _ finish: Finish?
    ) throws(ResolverError) -> UInt64 {
        let host = try record.origin.get()
        let (number, known) = state.withLock { state -> (UInt64?, [IPAddress]?) in
            guard state.running == nil else { return (nil, nil) }
            state.last += 1
            state.running = Running(number: state.last, kind: kind, finish: finish)
            let known = state.record.addresses.value
            state.record.drop(kind)
            return (state.last, known)
        }
        guard let number else {
            throw ResolverError(.busy, name: host.description, detail: "another lookup of this host is running")
        }
        let token = startLookup(kind, host, known: known, until: deadline) { [self] in complete(number, $0) }
        let isRunning = state.withLock { state in
            if state.running?.number == number { state.running?.token = token }
            return state.running?.number == number
        }
        // The lookup was cancelled in the meantime, or has ended; cancelling has no effect in the latter case.
        if !isRunning { token.cancel() }
        return number
    }

    private func startLookup(
        _ kind: Kind, _ host: HostName, known: [IPAddress]?, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<HostFinding, ResolverError>) -> Void
    ) -> LookupToken {
        switch kind {
        case .names:
            let subject = host.address.map(NameQuery.address) ?? .host(host)
            return resolver.startNames(of: subject, until: deadline) { handler($0.map { HostFinding(names: $0) }) }
        case .reachability where known != nil:
            // Nil if the lookup was cancelled before.
            let answer = OneShot<Result<HostFinding, ResolverError>?>()
            answer.onValue { if let result = $0 { handler(result) } }
            EventLoop.shared.execute { answer.provide(Self.reachability(known ?? [], isNew: false)) }
            return LookupToken { answer.provide(nil) }
        case .addresses, .reachability:
            return resolver.startAddresses(AddressRequest(host, until: deadline)) { result in
                switch result {
                case .failure(let error): handler(.failure(error))
                case .success(let found) where kind == .addresses: handler(.success(HostFinding(addresses: found)))
                case .success(let found): handler(Self.reachability(found, isNew: true))
                }
            }
        }
    }

    private static func reachability(_ addresses: [IPAddress], isNew: Bool) -> Result<HostFinding, ResolverError> {
        do throws(ResolverError) {
            let flags = try ReachabilityFlags(of: addresses)
            return .success(HostFinding(addresses: isNew ? addresses : nil, reachability: flags))
        } catch {
            return .failure(error)
        }
    }

    private func complete(_ number: UInt64, _ result: Result<HostFinding, ResolverError>) {
        let running = state.withLock { state -> Running? in
            guard let running = state.running, running.number == number else { return nil }
            state.running = nil
            state.record.store(running.kind, result)
            return running
        }
        guard let running else { return }
        if case .failure(let error) = result { report(running, error) } else { report(running, nil) }
    }

    /// Cancels a lookup and returns it; nil if it has already ended.
    private func cancelRunning(_ number: UInt64) -> Running? {
        let running = state.withLock { state -> Running? in
            guard let running = state.running, running.number == number else { return nil }
            state.running = nil
            return running
        }
        running?.token?.cancel()
        return running
    }

    private func report(_ running: Running, _ error: ResolverError?) {
        if let finish = running.finish {
            finish(error.map(Result.failure) ?? .success(()))
        } else {
            state.withLock { if $0.client != nil { $0.pending.append((running.kind, error)) } }
            pump.signal()
        }
    }

    /// Calls the client with each pending result. Runs on the target.
    private func deliver(on target: any DeliveryTarget) {
        pump.deliver(on: target) {
            let call = state.withLock { state -> (@Sendable () -> Void)? in
                guard let client = state.client, !state.pending.isEmpty else { return nil }
                let pending = state.pending.removeFirst()
                return { client(pending.kind, pending.error) }
            }
            guard let call else { return .nothing }
            call()
            return .delivered
        }
    }
}

/// The results of a ``HostLookup``: a value, so that a reader gets a consistent snapshot.
struct HostRecord: Sendable {
    /// The name or address that the host was created with; the error if the name is invalid.
    let origin: Result<HostName, ResolverError>

    private(set) var addresses: Fetched<[IPAddress]>
    private(set) var names: Fetched<[String]>
    private(set) var reachability = Fetched<ReachabilityFlags>(value: nil, hasBeenResolved: false)

    init(name: String) {
        origin = Result { () throws(ResolverError) in try HostName(name) }
        // As in CFHost, the given name is among the names before the first lookup.
        names = Fetched(value: [name], hasBeenResolved: false)
        addresses = Fetched(value: nil, hasBeenResolved: false)
    }

    init(address: IPAddress) {
        origin = .success(HostName(address))
        names = Fetched(value: nil, hasBeenResolved: false)
        addresses = Fetched(value: [address], hasBeenResolved: false)
    }

    /// Drops the previous result of `kind`, as a new lookup starts.
    mutating func drop(_ kind: HostLookup.Kind) {
        switch kind {
        case .addresses: addresses = Fetched(value: nil, hasBeenResolved: false)
        case .names: names = Fetched(value: nil, hasBeenResolved: false)
        case .reachability: reachability = Fetched(value: nil, hasBeenResolved: false)
        }
    }

    /// Stores the result of a lookup of `kind`.
    mutating func store(_ kind: HostLookup.Kind, _ result: Result<HostFinding, ResolverError>) {
        let finding = try? result.get()
        switch kind {
        case .addresses: addresses = Fetched(value: finding?.addresses, hasBeenResolved: true)
        case .names: names = Fetched(value: finding?.names, hasBeenResolved: true)
        case .reachability:
            reachability = Fetched(value: finding?.reachability, hasBeenResolved: true)
            // A lookup of the reachability may have looked up the addresses first.
            if let found = finding?.addresses { addresses = Fetched(value: found, hasBeenResolved: true) }
        }
    }

    var description: String {
        switch origin {
        case .success(let name): name.description
        case .failure(let error): error.name ?? ""
        }
    }
}

/// The result of one lookup.
struct HostFinding: Sendable {
    var addresses: [IPAddress]?
    var names: [String]?
    var reachability: ReachabilityFlags?
}
