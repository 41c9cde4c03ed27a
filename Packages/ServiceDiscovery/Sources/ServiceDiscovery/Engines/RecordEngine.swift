internal import DNSWire
internal import Synchronization

/// The operations that every engine performs: queries for records, and publications. Everything else is built on these.
///
/// An operation has a number, which its caller takes from ``OperationNumber`` before it begins. Its events go to an ``EventSink``, which
/// the engine does not retain.
protocol RecordEngine: Sendable {
    /// Begins a query, which reports records until ``end(_:)``. Known records may be reported before this returns.
    func query(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError)

    /// As ``query(_:interface:as:sink:)``, but by multicast, whatever domain the name is in.
    func queryLink(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError)

    /// Begins to publish a service.
    func publish(
        _ advertisement: ServiceAdvertisement, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError)

    /// Replaces the TXT record of a published service. Works at any time after ``publish(_:as:sink:)``.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the record cannot be announced; the old record stays in effect.
    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError)

    /// Begins to publish a record of any name in `local`. The event of its establishment is `announced`.
    func publish(_ record: RecordAdvertisement, as operation: Int, sink: any EventSink) throws(ServiceDiscoveryError)

    /// Replaces the further records of a published service, or the only record of ``publish(_:as:sink:)``.
    func update(_ operation: Int, records: [OwnRecord]) throws(ServiceDiscoveryError)

    /// Reports that a record may be stale, so that the engine verifies it (RFC 6762 §10.4): on one interface, or on all.
    func reconfirm(_ key: RecordKey, _ data: DNSRecordData, interface: String?) throws(ServiceDiscoveryError)

    /// Sends a goodbye for a record to the other programs on this machine, and to no other machine.
    func sendLocalGoodbye(for record: DNSRecord)

    /// The most that waits for a reader that does not read.
    var maximumWaiting: WaitingLimit { get }

    /// Ends an operation. The goodbye of a published service is sent before this returns, except by a daemon. Unknown numbers are
    /// ignored.
    func end(_ operation: Int)
}

extension RecordEngine {
    func queryLink(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        try query(key, interface: interface, as: operation, sink: sink)
    }

    func publish(_ record: RecordAdvertisement, as operation: Int, sink: any EventSink) throws(ServiceDiscoveryError) {
        throw ServiceDiscoveryError(.unsupported, name: record.name.description, detail: "publishing records")
    }

    func update(_ operation: Int, records: [OwnRecord]) throws(ServiceDiscoveryError) {
        throw ServiceDiscoveryError(.unsupported, detail: "publishing records")
    }

    func sendLocalGoodbye(for record: DNSRecord) {}
    var maximumWaiting: WaitingLimit { WaitingLimit() }
}

/// The numbers of operations. No two operations of the process have the same one, whatever their engines.
enum OperationNumber {
    private static let last = Atomic(0)

    /// Returns a positive number, larger than all earlier ones.
    static func next() -> Int { last.add(1, ordering: .relaxed).newValue }
}

/// Receives the events of an engine's operations.
protocol EventSink: AnyObject, Sendable {
    /// Receives one event. The engine's lock is held: an implementation passes the event to its machine, and returns.
    func receive(_ event: DiscoveryEvent, of operation: Int)

    /// Called after one or more events, without a lock held.
    func notify()
}

/// An event of one operation of an engine.
enum DiscoveryEvent: Hashable, Sendable {
    /// A record was added on the interface with this index and this name; 0 and nil for one of a name server.
    case added(DNSRecord, interface: UInt32, named: String?)
    /// A record was removed on an interface.
    case removed(DNSRecord, interface: UInt32)
    /// The owner of the name states that it has no record of that type.
    case absent(interface: UInt32)
    /// The service is published under this name, which may differ from the requested one.
    case published(ServiceInstance)
    /// The record is published.
    case announced
    /// The service is not published any more, because every interface that it uses is down. It is published again when
    /// one comes up.
    case hidden
    /// Name servers have not answered (`lookupFailed`), or the one of the service does not know it (`notFound`). The engine asks again,
    /// until the operation is ended.
    case unanswered(ServiceDiscoveryError)
    /// The operation has ended.
    case failed(ServiceDiscoveryError)
}

/// The name and type of a question and of the records that answer it, of class IN.
struct RecordKey: Hashable, Sendable {
    let name: DNSName
    let type: DNSRecordType

    init(_ name: DNSName, _ type: DNSRecordType) {
        self.name = name
        self.type = type
    }
}

/// The identity of a record: its name, type and data, without class and time to live.
struct RecordIdentity: Hashable, Sendable {
    let name: DNSName
    let data: DNSRecordData
}

extension DNSRecord {
    var key: RecordKey { RecordKey(name, type) }
    var identity: RecordIdentity { RecordIdentity(name: name, data: data) }
}
