internal import HostResolver

/// What every engine can do; all else is made of it.
protocol DiscoveryBackend: Sendable {
    /// Begins to look for records, until the operation is ended. Events come to `sink`, which is not kept alive.
    func ask(_ key: RecordKey, interface: String?, sink: any DiscoverySink) throws(ServiceDiscoveryError) -> Int

    /// Begins to publish.
    func publish(
        _ advertisement: ServiceAdvertisement, sink: any DiscoverySink
    ) throws(ServiceDiscoveryError) -> Int

    /// Gives a published service another TXT record, however soon after ``publish(_:sink:)``.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the record cannot be announced; the old one stands.
    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError)

    /// Says that a record may be gone.
    func reconfirm(_ key: RecordKey, _ data: DNSRecordData) throws(ServiceDiscoveryError)

    /// Tells the other programs of this machine, and nobody else, that a record has gone.
    func tellThisMachine(hasGone record: DNSRecord)

    /// Most changes that wait for a reader who does not read.
    var waitingChanges: Int { get }

    /// Ends an operation; a published service is gone when this returns. Unknown numbers are passed over.
    func end(_ operation: Int)
}

extension DiscoveryBackend {
    func tellThisMachine(hasGone record: DNSRecord) {}
    var waitingChanges: Int { EngineLimits().waitingChanges }
}
