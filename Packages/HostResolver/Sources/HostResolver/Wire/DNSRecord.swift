/// One record of an answer.
public struct DNSRecord: Hashable, Sendable {
    /// Whose record it is.
    public var name: DNSName
    /// The type; agrees with ``data`` except for data kept as bytes.
    public var type: DNSRecordType
    /// The class; 1 is the Internet.
    public var recordClass: UInt16
    /// Seconds that it may be kept (RFC 2181 §8); for the pseudo-record of EDNS, flags.
    public var timeToLive: UInt32
    /// What it says.
    public var data: DNSRecordData

    /// Makes a record of the Internet class, of the type that `data` has.
    public init(_ name: DNSName, timeToLive: UInt32, _ data: DNSRecordData) {
        self.init(name, type: data.type, recordClass: 1, timeToLive: timeToLive, data)
    }

    /// Makes any record.
    public init(_ name: DNSName, type: DNSRecordType, recordClass: UInt16, timeToLive: UInt32, _ data: DNSRecordData) {
        self.name = name
        self.type = type
        self.recordClass = recordClass
        self.timeToLive = timeToLive
        self.data = data
    }
}
