import HTTP2Testing
import Testing

@testable import HPACK

/// The dynamic table as its definition says it: an array of entries, newest first.
private struct NaiveTable {
    var entries: [(name: [UInt8], value: [UInt8])] = []
    var maximumSize: Int

    var size: Int { entries.reduce(0) { $0 + $1.name.count + $1.value.count + 32 } }

    mutating func insert(_ name: [UInt8], _ value: [UInt8]) {
        entries.insert((name, value), at: 0)
        setMaximumSize(maximumSize)
    }

    mutating func setMaximumSize(_ size: Int) {
        maximumSize = size
        while self.size > maximumSize { entries.removeLast() }
    }
}

@Suite struct DynamicTableTests {
    private func expectEqual(_ table: DynamicTable, _ naive: NaiveTable) {
        #expect(
            table.size == naive.size && table.count == naive.entries.count && table.maximumSize == naive.maximumSize)
        for (age, entry) in naive.entries.enumerated() {
            let number = table.nextNumber - 1 - age
            guard Array(table.allBytes[table.entry(number).name]) == entry.name,
                Array(table.allBytes[table.entry(number).value]) == entry.value
            else {
                Issue.record("entry \(age) differs")
                return
            }
        }
    }

    /// Random insertions, some of them of an entry's own bytes, and changes of the maximum size.
    @Test(arguments: 0..<30) func equalsTheDefinition(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let limit = [0, 31, 100, 1000, 4096, 70000].randomElement(using: &random)!
        var table = DynamicTable(maximumSize: limit)
        var naive = NaiveTable(maximumSize: limit)
        for step in 0..<400 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                let size = Int.random(in: 0...limit, using: &random)
                table.setMaximumSize(size)
                naive.setMaximumSize(size)
            case 1:
                table.setMaximumSize(limit)
                naive.setMaximumSize(limit)
            case 2 where step % 3 == 0:
                table.removeAll()
                naive.entries = []
            default:
                let longest = [0, 3, 30, 300, limit + 40].randomElement(using: &random)!
                let name = [UInt8](
                    repeating: UInt8(truncatingIfNeeded: step), count: Int.random(in: 0...longest, using: &random))
                let value = [UInt8](repeating: 0x5A, count: Int.random(in: 0...longest, using: &random))
                let number = table.insert(name: name.span.bytes, value: value.span.bytes)
                naive.insert(name, value)
                #expect((number == nil) == (name.count + value.count + 32 > table.maximumSize))
            }
            expectEqual(table, naive)
        }
    }

    @Test func memoryIsBounded() {
        var table = DynamicTable(maximumSize: 4096)
        let value = [UInt8](repeating: 1, count: 1000)
        for step in 0..<10_000 {
            table.insert(name: value.span.bytes.extracting(0..<step % 1000), value: value.span.bytes)
        }
        #expect(table.allBytes.count <= 16 * 1024)
    }

    @Test func tooLargeAnEntryEmptiesTheTable() {
        var table = DynamicTable(maximumSize: 100)
        let bytes = [UInt8](repeating: 1, count: 69)
        #expect(table.insert(name: bytes.span.bytes.extracting(0..<2), value: bytes.span.bytes.extracting(0..<1)) == 0)
        #expect(table.insert(name: bytes.span.bytes, value: bytes.span.bytes.extracting(0..<0)) == nil)
        #expect(table.count == 0 && table.size == 0)
        #expect(table.insert(name: bytes.span.bytes.extracting(0..<68), value: bytes.span.bytes.extracting(0..<0)) == 1)
        #expect(table.size == 100)
    }
}
