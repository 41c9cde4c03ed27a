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

    /// What existed at once in the past gives later changes no room: neither when all was read, nor when little is left.
    @Test(arguments: [0, 1]) func theRoomFallsWithWhatWaits(remaining: Int) {
        let limit = WaitingLimit(changes: 65_536, bytes: 10_000)
        let size = change(0).memory
        var queue = ChangeQueue<RecordChange>(limit: limit)
        for number in UInt8(0)..<100 { queue.append(change(number)) }
        while queue.count > remaining { _ = queue.take() }
        var most = 0
        for number in 0..<100 {
            queue.append(change(200, isAddition: number % 2 == 0))
            most = max(most, queue.bytes)
        }
        // Twice what exists at once.
        #expect(most == 2 * (1 + remaining) * size)
    }

    /// The number of changes has the same rule.
    @Test func theNumberFallsWithWhatWaits() {
        var queue = ChangeQueue<RecordChange>(limit: WaitingLimit(changes: 4, bytes: 100_000))
        for number in UInt8(0)..<100 { queue.append(change(number, size: 1)) }
        while queue.take() != nil {}
        var most = 0
        for number in 0..<100 {
            queue.append(change(200, isAddition: number % 2 == 0, size: 1))
            most = max(most, queue.count)
        }
        #expect(most == 4)
    }

    /// A change that was taken is released, as its memory is not counted any more.
    @Test func changesThatWereTakenAreReleased() {
        var queue = ChangeQueue<SharedChange>(limit: WaitingLimit(changes: 100, bytes: 1_000))
        var content: SharedChange.Content? = SharedChange.Content()
        weak let first = content
        queue.append(SharedChange(subject: 0, content: content!))
        content = nil
        for number in 1..<10 { queue.append(SharedChange(subject: number, content: SharedChange.Content())) }
        #expect(first != nil && queue.take()?.subject == 0)
        #expect(first == nil && queue.count == 9 && queue.bytes == 9)
    }
}

/// A change whose content shows whether it is referenced.
private struct SharedChange: WaitingChange {
    final class Content: Sendable {}

    let subject: Int
    let content: Content
    var isAddition: Bool { true }
    var memory: Int { 1 }
}
