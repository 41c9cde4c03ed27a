internal import HostResolver

/// What makes a record that record: its name, its type and what it says. Life and class do not count.
struct RecordIdentity: Hashable, Sendable {
    let name: DNSName
    let data: DNSRecordData
}

extension DNSRecord {
    var identity: RecordIdentity { RecordIdentity(name: name, data: data) }
}
