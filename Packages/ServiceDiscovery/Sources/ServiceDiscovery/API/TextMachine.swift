internal import HostResolver

/// Watches the TXT record of one service: each new one, the newest only if the reader is slow.
struct TextMachine: FeedMachine {
    let questions: Set<RecordKey>
    private var newest: DNSRecordData?
    private var told: DNSRecordData?

    init(_ service: ServiceInstance) {
        questions = [RecordKey(service.fullName, .txt)]
    }

    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
        // What is replaced goes after the new one has come, and says nothing.
        if case .added(let record, _) = event { newest = record.data }
    }

    mutating func take() -> TXTRecord? {
        guard let newest, newest != told, case .txt(let strings) = newest else { return nil }
        told = newest
        return TXTRecord(strings: strings)
    }
}
