internal import HostResolver

/// The records that an asker lists as known, by what they answer: a list may be long, and so may what it is compared with.
struct KnownAnswers {
    private var seconds: [RecordKey: [DNSRecordData: UInt32]] = [:]

    init(_ records: [DNSRecord] = []) {
        for record in records { seconds[record.key, default: [:]][record.data] = record.timeToLive }
    }

    /// What is listed as the answer to one question.
    func data(_ key: RecordKey) -> Dictionary<DNSRecordData, UInt32>.Keys {
        (seconds[key] ?? [:]).keys
    }

    func contains(_ record: DNSRecord) -> Bool {
        seconds[record.key]?[record.data] != nil
    }

    /// RFC 6762 §7.1: the asker knows it and will for at least half of its life.
    func suppresses(_ record: DNSRecord) -> Bool {
        seconds[record.key]?[record.data].map { $0 >= record.timeToLive / 2 } ?? false
    }
}
