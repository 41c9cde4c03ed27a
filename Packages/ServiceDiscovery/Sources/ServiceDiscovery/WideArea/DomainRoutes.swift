internal import HostResolver

/// Sends each operation where it belongs: to an engine of the link for `local`, to name servers for all other domains.
///
/// The numbers of the one are positive and of the other negative.
struct DomainRoutes: DiscoveryBackend {
    let local: any DiscoveryBackend
    let wideArea: WideAreaEngine

    func ask(_ key: RecordKey, interface: String?, sink: any DiscoverySink) throws(ServiceDiscoveryError) -> Int {
        try backend(of: key.name).ask(key, interface: interface, sink: sink)
    }

    func publish(
        _ advertisement: ServiceAdvertisement, sink: any DiscoverySink
    ) throws(ServiceDiscoveryError) -> Int {
        try backend(of: (advertisement.domain ?? .local).name).publish(advertisement, sink: sink)
    }

    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError) {
        try backend(of: operation).update(operation, record: record)
    }

    func reconfirm(_ key: RecordKey, _ data: DNSRecordData) throws(ServiceDiscoveryError) {
        try backend(of: key.name).reconfirm(key, data)
    }

    var waitingChanges: Int { local.waitingChanges }

    func end(_ operation: Int) {
        backend(of: operation).end(operation)
    }

    private func backend(of name: DNSName) -> any DiscoveryBackend { name.isLocal ? local : wideArea }
    private func backend(of operation: Int) -> any DiscoveryBackend { operation > 0 ? local : wideArea }
}
