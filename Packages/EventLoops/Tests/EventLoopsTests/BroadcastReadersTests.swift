@_spi(Packages) import EventLoops
import Testing

@Suite struct BroadcastReadersTests {
    private let broadcast = Broadcast<Int> { Mailbox(limit: 64) }

    @Test func eachReaderGetsEachElement() {
        let readers = BroadcastReaders(broadcast)
        broadcast.send(1)
        let (first, second) = (readers.make(), readers.make())
        broadcast.send(2)
        #expect(first.mailbox.takeAll() == [1, 2] && second.mailbox.takeAll() == [2])
    }

    @Test func aLaterReaderGoesOn() {
        let readers = BroadcastReaders(broadcast)
        broadcast.send(1)
        var reader: BroadcastReaders<Int>.Reader? = readers.make()
        #expect(reader?.mailbox.tryNext() == 1)
        reader = nil
        broadcast.send(2)
        #expect(readers.make().mailbox.takeAll() == [2])
    }

    @Test func allEnd() {
        let readers = BroadcastReaders(broadcast)
        let (first, second) = (readers.make(), readers.make())
        broadcast.finish()
        #expect(first.mailbox.isOver && second.mailbox.isOver && readers.make().mailbox.isOver)
    }

    @Test func aSequenceAndItsIteratorsKeepTheOwner() {
        final class Owner: Sendable {}
        var owner: Owner? = Owner()
        weak let kept = owner
        var sequence = owner.map { BroadcastSequence(broadcast, of: $0) }
        owner = nil
        #expect(kept != nil)
        var iterator = sequence?.makeAsyncIterator()
        sequence = nil
        #expect(kept != nil)
        _ = iterator
        iterator = nil
        #expect(kept == nil)
    }
}
