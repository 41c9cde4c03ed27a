internal import EventLoops
internal import HostResolver

/// Finds services in domains of the DNS, by asking name servers (RFC 6763; wide-area Bonjour). It publishes nothing: a zone
/// is its administrator's.
///
/// Theory of operation. As in ``EmbeddedEngine``: one ``WideAreaMachine`` behind one lock; whoever has something for it tells
/// it and carries out what it says until it says to wait. Sinks are rung, and lookups begun and cancelled, after the lock.
final class WideAreaEngine: Sendable {
    /// Asks whom `/etc/resolv.conf` names.
    static let shared = WideAreaEngine(WireResolver())

    private struct State {
        var machine = WideAreaMachine()
        var sinks: [Int: WeakSink] = [:]
        var lookups: [Int: LookupToken] = [:]
        var timer: LoopTimer?
        var timerTime: DiscoveryTime?
    }

    private struct WeakSink {
        weak var sink: (any DiscoverySink)?
    }

    /// What is left to do after the lock.
    private struct Errands {
        var sinks: [Int: any DiscoverySink] = [:]
        var lookups: [(Int, RecordKey)] = []
        var cancelled: [LookupToken] = []
    }

    private let resolver: WireResolver
    private let state = Locked(State())

    init(_ resolver: WireResolver) {
        self.resolver = resolver
    }

    deinit {
        state.withLock { state in
            state.timer?.cancel()
            for lookup in state.lookups.values { lookup.cancel() }
        }
    }
}

extension WideAreaEngine: DiscoveryBackend {
    /// Name servers are the same on every interface.
    func ask(_ key: RecordKey, interface: String?, sink: any DiscoverySink) throws(ServiceDiscoveryError) -> Int {
        try perform { state in
            Result { () throws(ServiceDiscoveryError) in
                let operation = try state.machine.ask(key, now: .now)
                state.sinks[operation] = WeakSink(sink: sink)
                return operation
            }
        }.get()
    }

    func publish(
        _ advertisement: ServiceAdvertisement, sink: any DiscoverySink
    ) throws(ServiceDiscoveryError) -> Int {
        throw ServiceDiscoveryError(
            .unsupported, name: advertisement.domain?.description,
            detail: "services can be published only in local.; other domains list theirs in DNS zones")
    }

    func update(_ operation: Int, record: TXTRecord) {}

    func reconfirm(_ key: RecordKey, _ data: DNSRecordData) {
        perform { $0.machine.reconfirm(key, now: .now) }
    }

    func end(_ operation: Int) {
        perform { state in
            state.sinks[operation] = nil
            state.machine.end(operation)
        }
    }
}

extension WideAreaEngine {
    @discardableResult
    private func perform<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let (value, errands) = state.withLock { state in (body(&state), drive(&state)) }
        for lookup in errands.cancelled { lookup.cancel() }
        for (number, key) in errands.lookups { lookUp(number, key) }
        for sink in errands.sinks.values { sink.ring() }
        return value
    }

    private func drive(_ state: inout State) -> Errands {
        var errands = Errands()
        while true {
            switch state.machine.next(now: .now) {
            case .lookUp(let number, let key):
                // Cancelling it before it begins is possible, too.
                errands.lookups.append((number, key))
            case .cancel(let number):
                if let lookup = state.lookups.removeValue(forKey: number) { errands.cancelled.append(lookup) }
            case .report(let operation, let event):
                guard let sink = state.sinks[operation]?.sink else { continue }
                sink.put(event, of: operation)
                errands.sinks[operation] = sink
            case .wait(let moment):
                setTimer(&state, moment)
                return errands
            }
        }
    }

    private func lookUp(_ number: Int, _ key: RecordKey) {
        let lookup = resolver.startRecords(key.type, of: key.name, until: nil) { [weak self] result in
            self?.perform { state in
                state.lookups[number] = nil
                state.machine.receive(result, of: number, now: .now)
            }
        }
        let isWanted = state.withLock { state in
            guard state.machine.awaits(number) else { return false }
            state.lookups[number] = lookup
            return true
        }
        if !isWanted { lookup.cancel() }
    }

    private func setTimer(_ state: inout State, _ moment: DiscoveryTime?) {
        guard state.timerTime != moment else { return }
        state.timer?.cancel()
        state.timerTime = moment
        state.timer = moment.map { moment in
            EventLoop.shared.schedule(at: Moment(moment)) { [weak self] in
                self?.perform { state in if state.timerTime == moment { state.timerTime = nil } }
            }
        }
    }
}
