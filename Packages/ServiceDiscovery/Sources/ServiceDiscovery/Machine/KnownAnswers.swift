internal import HostResolver

/// The records that an asker lists as known, to be looked up: a list may be long, and so may what it is compared with.
struct KnownAnswers {
    private var seconds: [RecordIdentity: UInt32] = [:]

    init(_ records: [DNSRecord] = []) {
        for record in records { seconds[record.identity] = record.timeToLive }
    }

    func contains(_ record: DNSRecord) -> Bool {
        seconds[record.identity] != nil
    }

    /// RFC 6762 §7.1: the asker knows it and will for at least half of its life.
    func suppresses(_ record: DNSRecord) -> Bool {
        seconds[record.identity].map { $0 >= record.timeToLive / 2 } ?? false
    }
}
