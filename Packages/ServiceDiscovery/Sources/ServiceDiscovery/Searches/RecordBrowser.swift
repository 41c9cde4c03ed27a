package import DNSWire

/// Follows the records of one name, for callers that read records themselves. While name servers do not answer, they are asked again.
package struct RecordBrowser: Sendable {
    private let name: DNSName
    private let types: [DNSRecordType]
    private let onLink: Bool
    private let interface: String?
    private let engine: DiscoveryEngine

    /// Describes a search.
    ///
    /// - Parameters:
    ///   - types: the types of the records; the search fails only if the queries of all of them do.
    ///   - onLink: whether the link is asked by multicast, although the name is not in `local`.
    package init(
        _ name: DNSName, types: [DNSRecordType], onLink: Bool = false, interface: String? = nil,
        engine: DiscoveryEngine
    ) {
        (self.name, self.types, self.onLink) = (name, types, onLink)
        (self.interface, self.engine) = (interface, engine)
    }

    /// Begins the search.
    package func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<RecordChange> {
        let keys = Set(types.map { RecordKey(name, $0) })
        let machine = RecordMachine(keys, onLink: onLink && !name.isLocal, limit: engine.engine.maximumWaiting)
        return DiscoveryFeed(
            try SearchDriver(machine, engine: engine.engine, interface: interface, isPatient: true))
    }

    /// Reports that a record of the name may be stale, so that the engine verifies it (RFC 6762 §10.4).
    package func reconfirm(_ data: DNSRecordData) throws(ServiceDiscoveryError) {
        try engine.engine.reconfirm(RecordKey(name, data.type), data, interface: interface)
    }
}

/// A change of the records of a name, with the index of the interface, which is 0 for name servers.
package enum RecordChange: Hashable, Sendable {
    /// The record was found.
    case added(DNSRecord, interface: UInt32)
    /// The record is gone.
    case removed(DNSRecord, interface: UInt32)
    /// The owner of the name states that it has no record of that type.
    case absent(DNSRecordType, interface: UInt32)
}

extension RecordChange: WaitingChange {
    /// A record, or the absence of a type, on one interface.
    enum Subject: Hashable {
        case record(DNSRecordData, interface: UInt32)
        case absence(DNSRecordType, interface: UInt32)
    }

    var subject: Subject {
        switch self {
        case .added(let record, let interface), .removed(let record, let interface):
            .record(record.data, interface: interface)
        case .absent(let type, let interface): .absence(type, interface: interface)
        }
    }

    var isAddition: Bool { if case .removed = self { false } else { true } }

    var memory: Int {
        switch self {
        case .added(let record, _), .removed(let record, _): MemoryLayout<Self>.stride + record.memory
        case .absent: MemoryLayout<Self>.stride
        }
    }
}

/// Turns the events of the queries of one name into changes.
struct RecordMachine: SearchMachine {
    private let keys: Set<RecordKey>
    private let onLink: Bool
    private var failed: Set<RecordKey> = []
    /// What was reported as absent, and has not appeared since.
    private var absent: Set<RecordChange> = []
    private var waiting: ChangeQueue<RecordChange>

    init(_ keys: Set<RecordKey>, onLink: Bool, limit: WaitingLimit) {
        (self.keys, self.onLink) = (keys, onLink)
        waiting = ChangeQueue(limit: limit)
    }

    var questions: Set<RecordKey> { onLink ? [] : keys }
    var linkQuestions: Set<RecordKey> { onLink ? keys : [] }

    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
        switch event {
        case .added(let record, let interface, _):
            absent.remove(.absent(key.type, interface: interface))
            waiting.append(.added(record, interface: interface))
        case .removed(let record, let interface): waiting.append(.removed(record, interface: interface))
        case .absent(let interface):
            let change = RecordChange.absent(key.type, interface: interface)
            if absent.insert(change).inserted { waiting.append(change) }
        case .published, .announced, .hidden, .unanswered, .failed: break
        }
    }

    mutating func ignores(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool {
        guard error.code == .lookupFailed || error.code == .notFound else { return false }
        failed.insert(key)
        return failed != keys
    }

    mutating func take() -> RecordChange? { waiting.take() }
}
