/// A resource record (RFC 1035 §4.1.3).
public struct DNSRecord: Hashable, Sendable {
    /// The name that owns the record.
    public var name: DNSName
    /// The type. It matches ``data``, unless the data are kept as bytes.
    public var type: DNSRecordType
    /// The class; 1 is the Internet.
    public var recordClass: UInt16
    /// The time for which the record may be cached, in seconds (RFC 2181 §8). Flags in the pseudo-record of EDNS.
    public var timeToLive: UInt32
    /// The record's data.
    public var data: DNSRecordData

    /// Creates a record of the Internet class, with the type of `data`.
    public init(_ name: DNSName, timeToLive: UInt32, _ data: DNSRecordData) {
        self.init(name, type: data.type, recordClass: 1, timeToLive: timeToLive, data)
    }

    /// Creates a record with any type and class.
    public init(_ name: DNSName, type: DNSRecordType, recordClass: UInt16, timeToLive: UInt32, _ data: DNSRecordData) {
        self.name = name
        self.type = type
        self.recordClass = recordClass
        self.timeToLive = timeToLive
        self.data = data
    }
}
