import EventLoops
import HostResolver

@testable import ServiceDiscovery

/// An engine that does what the test says.
final class ScriptedBackend: DiscoveryBackend {
    private struct State {
        var refusal: ServiceDiscoveryError?
        var lastID = ScriptedBackend.firstID - 1
        var sinks: [Int: any DiscoverySink] = [:]
        var keys: [Int: RecordKey] = [:]
        /// What is there, for whoever asks.
        var records: [DNSRecord] = []
        var calls: [String] = []
        /// Called with the sink of each operation before its number is returned.
        var meanwhile: (@Sendable (ScriptedBackend, any DiscoverySink) -> Void)?
        var questions: [String] = []
        var advertisements: [ServiceAdvertisement] = []
    }

    /// The number of the first operation; the next ones follow it.
    static let firstID = 101

    private let state = Locked(State())
    let waitingChanges: Int

    /// - Parameters:
    ///   - refusal: what every operation fails with when it begins.
    ///   - waitingChanges: most changes that wait for a reader.
    ///   - meanwhile: what happens while an operation begins.
    init(
        refusing refusal: ServiceDiscoveryError? = nil, waitingChanges: Int = EngineLimits().waitingChanges,
        meanwhile: (@Sendable (ScriptedBackend, any DiscoverySink) -> Void)? = nil
    ) {
        self.waitingChanges = waitingChanges
        state.withLock { ($0.refusal, $0.meanwhile) = (refusal, meanwhile) }
    }

    /// What every operation fails with from now on when it begins.
    func refuse(_ refusal: ServiceDiscoveryError?) {
        state.withLock { $0.refusal = refusal }
    }

    /// What was asked for, and on which interface, in alphabetical order.
    var questions: [String] { state.withLock { $0.questions.sorted() } }
    /// What was published.
    var advertisements: [ServiceAdvertisement] { state.withLock { $0.advertisements } }

    var calls: [String] { state.withLock { $0.calls } }
    var running: Set<Int> { state.withLock { Set($0.sinks.keys) } }

    /// Tells something to all operations.
    func tell(_ event: DiscoveryEvent) {
        for (id, sink) in state.withLock({ $0.sinks }) {
            sink.put(event, of: id)
            sink.ring()
        }
    }

    /// Has these records be there from now on, or go.
    func set(_ records: [DNSRecord], isThere: Bool = true) {
        let told = state.withLock { state in
            if isThere { state.records += records } else { state.records.removeAll { records.contains($0) } }
            return state.sinks.map { (id: $0.key, sink: $0.value, key: state.keys[$0.key]) }
        }
        for (id, sink, key) in told {
            for record in records where record.key == key {
                sink.put(isThere ? .added(record, interface: 1) : .removed(record, interface: 1), of: id)
            }
            sink.ring()
        }
    }

    func ask(_ key: RecordKey, interface: String?, sink: any DiscoverySink) throws(ServiceDiscoveryError) -> Int {
        let id = try begin("ask \(key.type)", sink)
        let known = state.withLock { state in
            state.keys[id] = key
            state.questions.append("\(key.name) \(key.type) \(interface ?? "all")")
            return state.records.filter { $0.key == key }
        }
        for record in known { sink.put(.added(record, interface: 1), of: id) }
        return id
    }

    func publish(
        _ advertisement: ServiceAdvertisement, sink: any DiscoverySink
    ) throws(ServiceDiscoveryError) -> Int {
        state.withLock { $0.advertisements.append(advertisement) }
        return try begin("publish \(advertisement.name)", sink)
    }

    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError) {
        state.withLock { $0.calls.append("update \(record)") }
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
    }

    func reconfirm(_ key: RecordKey, _ data: DNSRecordData) throws(ServiceDiscoveryError) {
        state.withLock { $0.calls.append("reconfirm") }
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
    }

    func tellThisMachine(hasGone record: DNSRecord) {
        state.withLock { $0.calls.append("gone \(record.name)") }
    }

    func end(_ operation: Int) {
        state.withLock { state in
            if state.sinks.removeValue(forKey: operation) != nil { state.calls.append("end") }
        }
    }

    private func begin(_ call: String, _ sink: any DiscoverySink) throws(ServiceDiscoveryError) -> Int {
        let (id, refusal, meanwhile) = state.withLock { state in
            state.calls.append(call)
            state.lastID += 1
            if state.refusal == nil { state.sinks[state.lastID] = sink }
            return (state.lastID, state.refusal, state.meanwhile)
        }
        meanwhile?(self, sink)
        if let refusal { throw refusal }
        return id
    }
}

extension DiscoveryEngine {
    /// One that looks in `local` only: there is no name server to ask.
    init(_ backend: ScriptedBackend) {
        self.init(backend, configuration: ResolverConfiguration(servers: []))
    }
}
