internal import EventLoops
internal import HostResolver

/// Each operation by the daemon if there is one that can serve it, else by multicast DNS in this process.
///
/// What the daemon refuses in the beginning goes to the embedded engine; what it has begun stays with it, and fails with it.
final class AutomaticEngine: DiscoveryBackend, Sendable {
    static let shared = AutomaticEngine(DaemonEngine.shared, or: EmbeddedEngine.shared)

    private struct State {
        var lastID = 0
        var relays: [Int: EngineRelay] = [:]
        /// What is doubted in the daemon's place.
        var doubts: Set<RecordIdentity> = []
    }

    private let daemon: any DiscoveryBackend
    private let embedded: any DiscoveryBackend
    private let doubtTime: Duration
    private let state = Locked(State())

    /// - Parameter doubtTime: how long somebody may take to say that a record stands: what the embedded engine waits, and a little.
    init(
        _ daemon: any DiscoveryBackend, or embedded: any DiscoveryBackend,
        doubtTime: Duration = MulticastRules.doubtTime + .seconds(1)
    ) {
        self.daemon = daemon
        self.embedded = embedded
        self.doubtTime = doubtTime
    }

    func ask(_ key: RecordKey, interface: String?, sink: any DiscoverySink) throws(ServiceDiscoveryError) -> Int {
        try begin(sink) { backend, sink throws(ServiceDiscoveryError) in
            try backend.ask(key, interface: interface, sink: sink)
        }
    }

    func publish(
        _ advertisement: ServiceAdvertisement, sink: any DiscoverySink
    ) throws(ServiceDiscoveryError) -> Int {
        try begin(sink) { backend, sink throws(ServiceDiscoveryError) in
            try backend.publish(advertisement, sink: sink)
        }
    }

    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError) {
        try state.withLock { $0.relays[operation] }?.update(record)
    }

    func reconfirm(_ key: RecordKey, _ data: DNSRecordData) throws(ServiceDiscoveryError) {
        do throws(ServiceDiscoveryError) {
            try daemon.reconfirm(key, data)
        } catch {
            try embedded.reconfirm(key, data)
            if error.code == .unsupported { try doubtForDaemon(key, data) }
        }
    }

    /// Avahi's daemon cannot be told to doubt a record, but it believes a goodbye. So the embedded engine asks for the record
    /// (RFC 6762 §10.4), and if nobody says that it stands, a goodbye is sent that does not leave this machine.
    private func doubtForDaemon(_ key: RecordKey, _ data: DNSRecordData) throws(ServiceDiscoveryError) {
        let record = DNSRecord(key.name, timeToLive: 0, data)
        guard state.withLock({ $0.doubts.insert(record.identity).inserted }) else { return }
        let doubt = RecordDoubt(data)
        do throws(ServiceDiscoveryError) {
            let operation = try embedded.ask(key, interface: nil, sink: doubt)
            EventLoop.shared.schedule(at: .now + doubtTime) { [embedded, weak self] in
                embedded.end(operation)
                if !doubt.isDispelled { embedded.tellThisMachine(hasGone: record) }
                self?.state.withLock { _ = $0.doubts.remove(record.identity) }
            }
        } catch {
            state.withLock { _ = $0.doubts.remove(record.identity) }
            throw error
        }
    }

    /// Those of the engine that can be told how many.
    var waitingChanges: Int { embedded.waitingChanges }

    func end(_ operation: Int) {
        state.withLock { $0.relays.removeValue(forKey: operation) }?.end()
    }

    private func begin(
        _ sink: any DiscoverySink, _ start: @escaping EngineRelay.Start
    ) throws(ServiceDiscoveryError) -> Int {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let relay = EngineRelay(id, sink: sink, start: start, backends: [daemon, embedded])
        state.withLock { $0.relays[id] = relay }
        do throws(ServiceDiscoveryError) {
            try relay.begin()
        } catch {
            end(id)
            throw error
        }
        return id
    }
}
