import Testing

@testable import StreamKit

@Suite struct TLSSessionTableTests {
    private typealias Table = TLSSessionTable<Int>

    private func key(_ name: String) -> Table.Key {
        Table.Key(peerName: name, indicatedName: name, scope: .port(443, through: nil))
    }

    @Test func newestFirstAndOnce() {
        var table = Table()
        for session in 1...3 { table.insert(session, isSingleUse: true, lifetime: 100, for: key("a"), now: 0) }
        #expect((1...4).map { _ in table.take(for: key("a"), now: 1) } == [3, 2, 1, nil])
        #expect(table.count == 0)
    }

    @Test func oneThatMayBeReusedStaysUntilItIsRenewed() {
        var table = Table()
        table.insert(1, isSingleUse: false, lifetime: 100, for: key("a"), now: 0)
        #expect(table.take(for: key("a"), now: 1) == 1)
        #expect(table.take(for: key("a"), now: 1) == 1)
        table.insert(2, isSingleUse: false, lifetime: 100, for: key("a"), now: 1)
        #expect(table.take(for: key("a"), now: 1) == 2)
        #expect(table.count == 1)
    }

    @Test func agesAreBounded() {
        var table = Table()
        table.insert(1, isSingleUse: true, lifetime: 100, for: key("a"), now: 0)
        table.insert(2, isSingleUse: true, lifetime: 50, for: key("a"), now: 0)
        #expect(table.take(for: key("a"), now: 50) == 1)
        table.insert(3, isSingleUse: true, lifetime: .max >> 1, for: key("a"), now: 0)
        #expect(table.take(for: key("a"), now: Table.oldest) == nil)
        table.insert(4, isSingleUse: true, lifetime: 0, for: key("a"), now: 0)
        #expect(table.take(for: key("a"), now: Table.oldest - 1) == 4)
    }

    @Test func numbersAreBounded() {
        var table = Table()
        for session in 1...10 { table.insert(session, isSingleUse: true, lifetime: 100, for: key("a"), now: 0) }
        #expect(table.count == Table.mostPerPeer)
        for peer in 0..<Table.mostPeers * 2 {
            _ = table.take(for: key("a"), now: 0)
            table.insert(peer, isSingleUse: true, lifetime: 100, for: key("\(peer)"), now: 0)
            table.insert(peer, isSingleUse: true, lifetime: 100, for: key("a"), now: 0)
        }
        #expect(table.count <= Table.mostPeers * Table.mostPerPeer)
        // The session in use is kept, the oldest idle one is not.
        #expect(table.take(for: key("a"), now: 0) != nil)
        #expect(table.take(for: key("0"), now: 0) == nil)
    }

    @Test func removing() {
        var table = Table()
        table.insert(1, isSingleUse: true, lifetime: 100, for: key("a"), now: 0)
        table.remove(key("a"))
        #expect(table.take(for: key("a"), now: 0) == nil)
    }
}
