internal import DNSWire

/// Monitors the TXT record of a service without connecting to the service.
///
/// ```swift
/// for try await record in ServiceMonitor(service) { print(record.string("status") ?? "") }
/// ```
///
/// The current record comes first, then each change. A slow reader gets only the newest record. Replaces
/// `CFNetServiceMonitor`.
public struct ServiceMonitor: AsyncSequence, Sendable {
    /// The service to monitor.
    public let service: ServiceInstance
    /// The only interface to use in `local`; nil for all.
    public let interface: String?
    private let engine: DiscoveryEngine

    /// Describes the monitoring. It begins with ``start()`` or with iteration.
    public init(_ service: ServiceInstance, interface: String? = nil, engine: DiscoveryEngine = .automatic) {
        self.service = service
        self.interface = interface
        self.engine = engine
    }

    /// Begins the monitoring.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine cannot begin.
    public func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<TXTRecord> {
        return DiscoveryFeed(try SearchDriver(MonitorMachine(service), engine: engine.engine, interface: interface))
    }

    /// Begins the monitoring when the first record is requested.
    public func makeAsyncIterator() -> DiscoveryIterator<TXTRecord> {
        DiscoveryIterator(start)
    }
}

/// Returns the TXT record of one service: each new one, or only the newest if the reader is slow.
struct MonitorMachine: SearchMachine {
    let questions: Set<RecordKey>
    private var newest: DNSRecordData?
    private var reported: DNSRecordData?

    init(_ service: ServiceInstance) {
        questions = [RecordKey(service.fullName, .txt)]
    }

    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
        // The removal of a replaced record follows the new record and is ignored.
        if case .added(let record, _, _) = event { newest = record.data }
    }

    mutating func take() -> TXTRecord? {
        guard let newest, newest != reported, case .txt(let strings) = newest else { return nil }
        reported = newest
        return TXTRecord(strings: strings)
    }
}
