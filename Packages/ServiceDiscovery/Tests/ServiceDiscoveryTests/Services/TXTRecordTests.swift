import ServiceDiscovery
import Testing

@Suite struct TXTRecordTests {
    @Test func writesAndReadsTheWireForm() throws {
        var record = try TXTRecord(["key1": "value1", "empty": ""])
        try record.set("flag")
        try record.set("raw", to: [0, 255, 61])
        let wire = record.wireForm
        #expect(wire == Array("\u{b}key1=value1\u{6}empty=\u{4}flag\u{7}raw=".utf8) + [0, 255, 61])
        #expect(record.size == wire.count)
        #expect(TXTRecord(wire: wire) == record)
        #expect(TXTRecord(wire: wire).wireForm == wire)
    }

    // Parity: SD-067
    @Test func distinguishesMissingAndEmptyValues() throws {
        let record = TXTRecord(wire: Array("\u{1}a\u{2}b=".utf8))
        #expect(record.contains("a") && record["a"] == nil)
        #expect(record["b"] == [])
        #expect(!record.contains("c") && record["c"] == nil)
        #expect(record.dictionary["a"] == .some(nil))
    }

    // Parity: SD-067
    @Test(arguments: [
        ([UInt8](), 0), ([0], 0), (Array("\u{0}\u{3}a=1".utf8), 1), (Array("\u{2}=v\u{1}=".utf8), 0),
        (Array("\u{3}a=1\u{3}A=2".utf8), 1), (Array("\u{3}a=1\u{9}b=2".utf8), 1), ([2, 0x7F, 61, 1, 0x1F], 0),
        ([3, 0xC3, 0xA4, 61], 0),
    ])
    func ignoresInvalidEntries(wire: [UInt8], count: Int) {
        let record = TXTRecord(wire: wire)
        #expect(record.entries.count == count)
        if count == 1 { #expect(record.string("A") == "1") }
    }

    /// No parsed record or entry exceeds the limits of the wire form.
    @Test func parsedRecordsNeverExceedTheLimits() {
        let entry = [7] + Array("k=12345".utf8)
        var wire: [UInt8] = []
        for number in 0..<10_000 { wire += [7] + Array("\(number + 10_000)=1".utf8) }
        #expect(wire.count > TXTRecord.maximumSize)
        let record = TXTRecord(wire: wire + entry)
        #expect(record.size <= TXTRecord.maximumSize && record.size > TXTRecord.maximumSize - 8)
        #expect(record.wireForm.count == record.size)
        let long = TXTRecord(strings: [Array("a=".utf8) + [UInt8](repeating: 0, count: 254), Array("b".utf8)])
        #expect(long.wireForm == [1, 0x62])
    }

    @Test func anEmptyRecordIsOneEmptyString() {
        #expect(TXTRecord().wireForm == [0])
        #expect(TXTRecord().size == 1)
    }

    // Parity: SD-066
    @Test func limitsOneEntry() throws {
        var record = TXTRecord()
        try record.set("k", to: [UInt8](repeating: 1, count: 253))
        #expect(record.size == 256)
        #expect(throws: ServiceDiscoveryError.self) {
            try record.set("k", to: [UInt8](repeating: 1, count: 254))
        }
        try record.set(String(repeating: "k", count: 255))
        #expect(throws: ServiceDiscoveryError.self) { try record.set(String(repeating: "k", count: 256)) }
        #expect(record.entries.count == 2)
        #expect(TXTRecord(wire: record.wireForm) == record)
    }

    // Parity: SD-066
    @Test func limitsARecord() throws {
        var record = TXTRecord()
        // 255 entries of 256 bytes and one of 255 bytes are 65,535 bytes.
        for number in 0..<255 { try record.set("\(100 + number)", to: [UInt8](repeating: 0, count: 251)) }
        try record.set("999", to: [UInt8](repeating: 0, count: 250))
        #expect(record.size == TXTRecord.maximumSize)
        let error = #expect(throws: ServiceDiscoveryError.self) { try record.set("a") }
        #expect(error?.code == .invalidRecord && error?.number == -72004)
        // The replaced value may not be one byte longer either, but it may be one byte shorter.
        #expect(throws: ServiceDiscoveryError.self) { try record.set("999", to: [UInt8](repeating: 0, count: 251)) }
        try record.set("999", to: [UInt8](repeating: 0, count: 249))
        #expect(record.wireForm.count == TXTRecord.maximumSize - 1)
    }

    // Parity: SD-066
    @Test(arguments: ["", "a=b", "ä", "a\u{7f}", "\n"])
    func refusesKeys(key: String) {
        #expect(throws: ServiceDiscoveryError.self) { try TXTRecord(dictionary: [key: [1]]) }
    }

    @Test func refusesKeysThatDifferInCaseOnly() {
        #expect(throws: ServiceDiscoveryError.self) { try TXTRecord(["a": "1", "A": "2"]) }
        #expect(throws: ServiceDiscoveryError.self) { try TXTRecord(dictionary: ["a": nil, "A": [2]]) }
    }

    @Test func changesInPlace() throws {
        var record = try TXTRecord(["a": "1", "b": "2"])
        try record.set("A", to: "3")
        #expect(record.entries.map(\.key) == ["A", "b"])
        record.remove("B")
        record.remove("c")
        #expect(record.description == "A=3")
    }

    @Test func parsesEveryPrefix() throws {
        let wire = try TXTRecord(["key": "value", "other": "thing"]).wireForm
        for length in 0...wire.count {
            #expect(TXTRecord(wire: wire.prefix(length)).entries.count == (length >= 22 ? 2 : length >= 10 ? 1 : 0))
        }
    }
}
