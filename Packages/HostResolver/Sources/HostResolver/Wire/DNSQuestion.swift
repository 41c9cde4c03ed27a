/// A question: the records of one name, of one type and class.
public struct DNSQuestion: Hashable, Sendable {
    /// The name whose records are requested.
    public var name: DNSName
    /// The type of the requested records.
    public var type: DNSRecordType
    /// The class; 1 is the Internet.
    public var recordClass: UInt16

    /// Creates a question; by default for the Internet class.
    public init(_ name: DNSName, _ type: DNSRecordType, recordClass: UInt16 = 1) {
        self.name = name
        self.type = type
        self.recordClass = recordClass
    }
}
