/// What is asked: records of one type, of one name, of the Internet class.
public struct DNSQuestion: Hashable, Sendable {
    /// Whose records.
    public var name: DNSName
    /// Which.
    public var type: DNSRecordType
    /// The class; 1 is the Internet.
    public var recordClass: UInt16

    /// Makes a question.
    public init(_ name: DNSName, _ type: DNSRecordType, recordClass: UInt16 = 1) {
        self.name = name
        self.type = type
        self.recordClass = recordClass
    }
}
