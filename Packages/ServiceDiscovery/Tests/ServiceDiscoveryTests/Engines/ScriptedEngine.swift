import DNSWire
import EventLoops
import HostResolver

@testable import ServiceDiscovery

/// An engine controlled by the test.
final class ScriptedEngine: RecordEngine {
    private struct State {
        var refusal: ServiceDiscoveryError?
        var sinks: [Int: any EventSink] = [:]
        var keys: [Int: RecordKey] = [:]
        /// The records that exist, for every query.
        var records: [DNSRecord] = []
        var calls: [String] = []
        /// Called with each operation and its sink while it begins.
        var meanwhile: (@Sendable (ScriptedEngine, Int, any EventSink) -> Void)?
        var questions: [String] = []
        var advertisements: [ServiceAdvertisement] = []
        /// Called once, with the next change of records.
        var whileUpdating: (@Sendable () -> Void)?
    }

    private let state = Locked(State())
    let maximumWaiting: WaitingLimit

    /// - Parameters:
    ///   - refusal: the error with which every operation fails to begin.
    ///   - maximumWaiting: the most that waits for a reader.
    ///   - meanwhile: called while an operation begins.
    init(
        refusing refusal: ServiceDiscoveryError? = nil, maximumWaiting: WaitingLimit = WaitingLimit(),
        meanwhile: (@Sendable (ScriptedEngine, Int, any EventSink) -> Void)? = nil
    ) {
        self.maximumWaiting = maximumWaiting
        state.withLock { ($0.refusal, $0.meanwhile) = (refusal, meanwhile) }
    }

    /// Sets the error with which every operation fails to begin from now on.
    func refuse(_ refusal: ServiceDiscoveryError?) {
        state.withLock { $0.refusal = refusal }
    }

    /// Calls `body` once, while records are changed the next time.
    func inNextUpdate(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whileUpdating = body } }

    /// The queried records with their interfaces, in alphabetical order.
    var questions: [String] { state.withLock { $0.questions.sorted() } }
    /// The published services.
    var advertisements: [ServiceAdvertisement] { state.withLock { $0.advertisements } }

    var calls: [String] { state.withLock { $0.calls } }
    var running: Set<Int> { state.withLock { Set($0.sinks.keys) } }

    /// Sends an event to all operations.
    func report(_ event: DiscoveryEvent) {
        for (id, sink) in state.withLock({ $0.sinks }) {
            sink.receive(event, of: id)
            sink.notify()
        }
    }

    /// Adds or removes records, and reports them to the queries.
    func set(_ records: [DNSRecord], isPresent: Bool = true) {
        let operations = state.withLock { state in
            if isPresent { state.records += records } else { state.records.removeAll { records.contains($0) } }
            return state.sinks.map { (id: $0.key, sink: $0.value, key: state.keys[$0.key]) }
        }
        for (id, sink, key) in operations {
            for record in records where record.key == key {
                sink.receive(isPresent ? Self.added(record) : .removed(record, interface: 1), of: id)
            }
            sink.notify()
        }
    }

    func query(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        try begin(operation, "query \(key.type)", sink)
        let known = state.withLock { state in
            state.keys[operation] = key
            state.questions.append("\(key.name) \(key.type) \(interface ?? "all")")
            return state.records.filter { $0.key == key }
        }
        for record in known { sink.receive(Self.added(record), of: operation) }
    }

    func publish(
        _ advertisement: ServiceAdvertisement, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        state.withLock { $0.advertisements.append(advertisement) }
        try begin(operation, "publish \(advertisement.name)", sink)
    }

    func publish(_ record: RecordAdvertisement, as operation: Int, sink: any EventSink) throws(ServiceDiscoveryError) {
        let owners = record.isUnique ? "unique" : "shared"
        try begin(operation, "publish \(owners) \(record.name) \(Self.text(record.record))", sink)
    }

    func update(_ operation: Int, records: [OwnRecord]) throws(ServiceDiscoveryError) {
        let whileUpdating = state.withLock { state in
            state.calls.append("records \(records.map(Self.text))")
            return state.whileUpdating.take()
        }
        whileUpdating?()
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
    }

    private static func added(_ record: DNSRecord) -> DiscoveryEvent { .added(record, interface: 1, named: "lo") }

    private static func text(_ record: OwnRecord) -> String {
        "\(record.data.type) \(record.data.wireForm) \(record.timeToLive)"
    }

    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError) {
        state.withLock { $0.calls.append("update \(record)") }
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
    }

    func reconfirm(
        _ key: RecordKey, _ data: DNSRecordData, interface: String?
    ) throws(ServiceDiscoveryError) {
        state.withLock { $0.calls.append("reconfirm" + (interface.map { " on \($0)" } ?? "")) }
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
    }

    func sendLocalGoodbye(for record: DNSRecord) {
        state.withLock { $0.calls.append("gone \(record.name)") }
    }

    func end(_ operation: Int) {
        state.withLock { state in
            if state.sinks.removeValue(forKey: operation) != nil { state.calls.append("end") }
        }
    }

    private func begin(_ operation: Int, _ call: String, _ sink: any EventSink) throws(ServiceDiscoveryError) {
        let (refusal, meanwhile) = state.withLock { state in
            state.calls.append(call)
            if state.refusal == nil { state.sinks[operation] = sink }
            return (state.refusal, state.meanwhile)
        }
        meanwhile?(self, operation, sink)
        if let refusal { throw refusal }
    }
}

extension RecordEngine {
    /// Begins a query, and returns the number of its operation.
    func query(_ key: RecordKey, interface: String?, sink: any EventSink) throws(ServiceDiscoveryError) -> Int {
        let operation = OperationNumber.next()
        try query(key, interface: interface, as: operation, sink: sink)
        return operation
    }

    /// Begins a query of the link, and returns the number of its operation.
    func queryLink(_ key: RecordKey, interface: String?, sink: any EventSink) throws(ServiceDiscoveryError) -> Int {
        let operation = OperationNumber.next()
        try queryLink(key, interface: interface, as: operation, sink: sink)
        return operation
    }

    /// Begins to publish a record, and returns the number of the operation.
    func publish(_ record: RecordAdvertisement, sink: any EventSink) throws(ServiceDiscoveryError) -> Int {
        let operation = OperationNumber.next()
        try publish(record, as: operation, sink: sink)
        return operation
    }

    /// Begins to publish a service, and returns the number of the operation.
    func publish(_ advertisement: ServiceAdvertisement, sink: any EventSink) throws(ServiceDiscoveryError) -> Int {
        let operation = OperationNumber.next()
        try publish(advertisement, as: operation, sink: sink)
        return operation
    }
}

extension DiscoveryEngine {
    /// An engine for `local` only, without name servers.
    init(_ engine: ScriptedEngine) {
        self.init(engine, configuration: ResolverConfiguration(servers: []))
    }
}
