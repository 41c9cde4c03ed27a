internal import DNSWire
internal import EventLoops
@_spi(Packages) internal import HostResolver

/// The engine of DNS domains: queries name servers (RFC 6763, wide-area Bonjour). It does not publish, because only the
/// administrator of a zone can change it.
///
/// Theory of operation. As in ``EmbeddedEngine``, one ``WideAreaMachine`` is behind one lock. Each input is passed to
/// it with the lock held, and its actions are performed until it waits. Sinks are notified, and lookups started and
/// cancelled, after the lock is released.
final class WideAreaEngine: Sendable {
    /// The engine that queries the name servers of `/etc/resolv.conf`.
    static let shared = WideAreaEngine(WireResolver())

    private struct State {
        var machine = WideAreaMachine()
        var sinks: [Int: WeakSink] = [:]
        var lookups: [Int: LookupToken] = [:]
        var timer: LoopTimer?
        var timerTime: DiscoveryTime?
        var changes: NetworkChangeWatch?
    }

    /// The monitor of the network, which exists while lookups fail.
    private struct NetworkChangeWatch {
        let monitor: NetworkMonitor
        let subscription: Subscription
    }

    private struct WeakSink {
        weak var sink: (any EventSink)?
    }

    /// The actions to perform after the lock is released.
    private struct Work {
        var sinks: [Int: any EventSink] = [:]
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
            Self.end(state.changes)
            for lookup in state.lookups.values { lookup.cancel() }
        }
    }
}

extension WideAreaEngine: RecordEngine {
    /// Begins a query. `interface` has no effect, because name servers are the same on every interface.
    func query(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        try perform { state in
            Result { () throws(ServiceDiscoveryError) in
                try state.machine.query(key, as: operation, now: .now)
                state.sinks[operation] = WeakSink(sink: sink)
            }
        }.get()
    }

    func publish(
        _ advertisement: ServiceAdvertisement, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        throw ServiceDiscoveryError(
            .unsupported, name: advertisement.domain?.description,
            detail: "services can be published only in local.; other domains list theirs in DNS zones")
    }

    func update(_ operation: Int, record: TXTRecord) {}

    func reconfirm(_ key: RecordKey, _ data: DNSRecordData, interface: String?) {
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
        let (value, work) = state.withLock { state in (body(&state), drive(&state)) }
        for lookup in work.cancelled { lookup.cancel() }
        for (number, key) in work.lookups { lookUp(number, key) }
        for sink in work.sinks.values { sink.notify() }
        return value
    }

    private func drive(_ state: inout State) -> Work {
        var work = Work()
        while true {
            switch state.machine.next(now: .now) {
            case .lookUp(let number, let key):
                // Before it starts, the lookup may already be cancelled by a later action.
                work.lookups.append((number, key))
            case .cancel(let number):
                if let lookup = state.lookups.removeValue(forKey: number) { work.cancelled.append(lookup) }
            case .report(let operation, let event):
                guard let sink = state.sinks[operation]?.sink else { continue }
                sink.receive(event, of: operation)
                work.sinks[operation] = sink
            case .wait(let time):
                setTimer(&state, time)
                watchNetwork(&state)
                return work
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

    private func setTimer(_ state: inout State, _ time: DiscoveryTime?) {
        guard state.timerTime != time else { return }
        state.timer?.cancel()
        state.timerTime = time
        state.timer = time.map { time in
            EventLoop.shared.schedule(at: Moment(time)) { [weak self] in
                self?.perform { state in if state.timerTime == time { state.timerTime = nil } }
            }
        }
    }

    /// Begins or ends to watch the network. Without a monitor, what fails is looked up again after the usual pauses.
    private func watchNetwork(_ state: inout State) {
        guard state.machine.isFailing != (state.changes != nil) else { return }
        if let old = state.changes.take() { return Self.end(old) }
        guard let monitor = try? NetworkMonitor() else { return }
        let subscription = monitor.observe(on: .loop(.shared)) { [weak self] _ in
            self?.perform { $0.machine.networkChanged(now: .now) }
        }
        state.changes = NetworkChangeWatch(monitor: monitor, subscription: subscription)
    }

    private static func end(_ watch: NetworkChangeWatch?) {
        watch?.subscription.cancel()
        watch?.monitor.stop()
    }
}
