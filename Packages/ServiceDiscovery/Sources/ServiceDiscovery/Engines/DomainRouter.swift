internal import DNSWire

/// Routes each operation to an engine: operations in `local` to that of the link, those in other domains to that of
/// name servers.
struct DomainRouter: RecordEngine {
    let local: any RecordEngine
    let wideArea: WideAreaEngine

    func query(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        try engine(of: key.name).query(key, interface: interface, as: operation, sink: sink)
    }

    func queryLink(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        try local.queryLink(key, interface: interface, as: operation, sink: sink)
    }

    func publish(
        _ advertisement: ServiceAdvertisement, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        try engine(of: (advertisement.domain ?? .local).name).publish(advertisement, as: operation, sink: sink)
    }

    func publish(_ record: RecordAdvertisement, as operation: Int, sink: any EventSink) throws(ServiceDiscoveryError) {
        try engine(of: record.name).publish(record, as: operation, sink: sink)
    }

    // Only the engine of the link publishes.
    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError) {
        try local.update(operation, record: record)
    }

    func update(_ operation: Int, records: [OwnRecord]) throws(ServiceDiscoveryError) {
        try local.update(operation, records: records)
    }

    func reconfirm(
        _ key: RecordKey, _ data: DNSRecordData, interface: String?
    ) throws(ServiceDiscoveryError) {
        try engine(of: key.name).reconfirm(key, data, interface: interface)
    }

    var maximumWaiting: WaitingLimit { local.maximumWaiting }

    func end(_ operation: Int) {
        // The engine that does not perform the operation ignores its number.
        local.end(operation)
        wideArea.end(operation)
    }

    private func engine(of name: DNSName) -> any RecordEngine { name.isLocal ? local : wideArea }
}
