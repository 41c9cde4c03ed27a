import DNSWire
import Testing

@testable import ServiceDiscovery

/// The changes that wait for a reader, by number and by memory.
@Suite struct ChangeQueueTests {
    private let name = DNSName("a.local")!

    private func change(_ number: UInt8, isAddition: Bool = true, size: Int = 8_000) -> RecordChange {
        let record = DNSRecord(
            name, timeToLive: 9, .other(.init(rawValue: 10), [UInt8](repeating: number, count: size)))
        return isAddition ? .added(record, interface: 1) : .removed(record, interface: 1)
    }

    /// Large records that come and go while the reader does not read.
    @Test func unreadChangesUseLimitedMemory() {
        let limit = WaitingLimit(changes: 65_536, bytes: 100_000)
        var queue = ChangeQueue<RecordChange>(limit: limit)
        var most = 0
        for number in 0..<10_000 {
            queue.append(change(UInt8(number / 2 % 256), isAddition: number % 2 == 0))
            most = max(most, queue.bytes)
        }
        #expect(most <= limit.bytes && most > limit.bytes - 8_200)
        var count = 0
        while let change = queue.take() {
            #expect(change.isAddition == (count % 2 == 0))
            count += 1
        }
        #expect(count == queue.count + count && queue.bytes == 0)
    }

    /// Records that exist are kept, however large they are: the cache bounds them. The room grows with them, so that they are not
    /// compacted with each change.
    @Test func changesOfRecordsThatExistStay() {
        var queue = ChangeQueue<RecordChange>(limit: WaitingLimit(changes: 4, bytes: 10_000))
        for number in UInt8(0)..<100 { queue.append(change(number)) }
        #expect(queue.count == 100 && queue.bytes == 100 * change(0).memory)
        // What the reader knows is reported as gone.
        #expect(queue.take() == change(0) && queue.bytes == 99 * change(0).memory)
        queue.append(change(0, isAddition: false))
        for number in UInt8(1)..<100 { queue.append(change(number, isAddition: false)) }
        for number in UInt8(100)..<200 { queue.append(change(number)) }
        var rest: [RecordChange] = []
        while let change = queue.take() { rest.append(change) }
        #expect(rest.contains(change(0, isAddition: false)) && rest.last == change(199) && queue.bytes == 0)
    }
}
