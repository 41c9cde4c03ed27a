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
    }

    private let daemon: any DiscoveryBackend
    private let embedded: any DiscoveryBackend
    private let state = Locked(State())

    init(_ daemon: any DiscoveryBackend, or embedded: any DiscoveryBackend) {
        self.daemon = daemon
        self.embedded = embedded
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
        }
    }

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
