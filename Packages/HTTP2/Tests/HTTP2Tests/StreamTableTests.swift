import HTTP2Testing
import Testing

@testable import HTTP2

struct StreamTableTests {
    @Test(arguments: 1...4) func findsWhatIsThere(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var table = StreamTable()
        var model: Set<UInt32> = []
        var next: UInt32 = 1
        for round in 0..<2000 {
            if round % 3 != 2 || model.isEmpty {
                let index = table.insert(next)
                #expect(table[index].id == StreamID(next))
                model.insert(next)
                next += 2
            } else if let id = model.sorted().randomElement(using: &random), let index = table.index(of: StreamID(id)) {
                table.remove(index)
                model.remove(id)
                #expect(table.index(of: StreamID(id)) == nil)
            }
            if model.count > 120 {
                for id in model.prefix(100) {
                    if let index = table.index(of: StreamID(id)) { table.remove(index) }
                    model.remove(id)
                }
            }
            #expect(table.count == model.count)
            if round % 50 == 0 {
                for id in stride(from: UInt32(1), to: next, by: 2) {
                    let index = table.index(of: StreamID(id))
                    #expect((index != nil) == model.contains(id))
                    if let index { #expect(table[index].id == StreamID(id)) }
                }
                #expect(Set(table.indices.map { table[$0].id.rawValue }) == model)
            }
        }
    }
}

struct StreamIndexMapTests {
    /// A client chooses its identifiers: those that differ in their high bits alone spread as well.
    @Test(arguments: [(2, 200), (4, 200), (512, 200), (16_384, 135), (65_536, 200)] as [(UInt32, Int)])
    func identifiersSpread(step: UInt32, count: Int) {
        var map = StreamIndexMap()
        let streams = (0..<200 as Range<UInt32>).map { StreamID(1 + step * $0) }
        for (index, stream) in streams.enumerated() { map.insert(stream, index: index) }
        #expect(Set(streams.map { map.firstBucket(of: $0) }).count == count)
        for (index, stream) in streams.enumerated() { #expect(map.index(of: stream) == index) }
    }

    /// With many streams, no two of which have the same bucket, all buckets are used.
    @Test func manyIdentifiersSpread() {
        var map = StreamIndexMap()
        let streams = (0..<60_000 as Range<UInt32>).map { StreamID(1 + 2 * $0) }
        for (index, stream) in streams.enumerated() { map.insert(stream, index: index) }
        #expect(Set(streams.map { map.firstBucket(of: $0) }).count == 60_000)
    }
}

extension StreamTable {
    fileprivate mutating func insert(_ id: UInt32) -> Int {
        insert(
            StreamID(id), ReceiveWindow(size: 1), SendWindow(size: 1), incoming: .tunnel, outgoing: .tunnel, now: .zero)
    }
}
