internal import HostResolver

/// What a question asks for and records answer: a name and a type, of the Internet class.
struct RecordKey: Hashable, Sendable {
    let name: DNSName
    let type: DNSRecordType

    init(_ name: DNSName, _ type: DNSRecordType) {
        self.name = name
        self.type = type
    }
}
