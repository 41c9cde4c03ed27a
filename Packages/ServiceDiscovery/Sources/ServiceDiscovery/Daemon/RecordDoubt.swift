internal import EventLoops
internal import HostResolver

/// Listens whether anybody says that a record stands.
final class RecordDoubt: DiscoverySink {
    private let data: DNSRecordData
    private let interfaces = Locked<Set<UInt32>>([])

    init(_ data: DNSRecordData) {
        self.data = data
    }

    /// True if it stands, as far as is known by now.
    var isDispelled: Bool { interfaces.withLock { !$0.isEmpty } }

    func put(_ event: DiscoveryEvent, of operation: Int) {
        switch event {
        case .added(let record, let interface) where record.data == data:
            interfaces.withLock { _ = $0.insert(interface) }
        case .removed(let record, let interface) where record.data == data:
            interfaces.withLock { _ = $0.remove(interface) }
        default: break
        }
    }

    func ring() {}
}
