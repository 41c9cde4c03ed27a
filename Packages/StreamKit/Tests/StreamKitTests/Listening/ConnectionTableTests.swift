import EventLoops
import HostResolver
import Testing

@_spi(Packages) @testable import StreamKit

/// Which connection is closed for another client, with the time passed in.
@Suite struct ConnectionTableTests {
    private let start = Moment.now

    private func table(_ maximumPerClient: Int? = nil) -> ConnectionTable<String> {
        ConnectionTable(maximumPerClient: maximumPerClient, minimumWait: .seconds(1))
    }

    private func address(_ text: String) throws -> SocketAddress {
        .ip(try #require(IPAddress(text)), port: 7)
    }

    /// Adds connections; the numbers of those that are refused are 0.
    private func add(_ names: [String], to table: inout ConnectionTable<String>) -> [UInt64] {
        names.enumerated().map { index, name in table.add(name, from: nil, at: 0, now: start + .seconds(index)) ?? 0 }
    }

    private func text(_ room: ConnectionTable<String>.Room) -> String {
        switch room {
        case .close(let connection): "close \(connection)"
        case .wait(let moment): "wait \(start.duration(to: moment))"
        case .none: "none"
        }
    }

    @Test func theLongestWaitEndsFirst() {
        var table = table()
        let numbers = add(["a", "b", "c", "d"], to: &table)
        let changes = [
            table.change(numbers[0], to: .busy, now: start + .seconds(4)),
            table.change(numbers[0], to: .idle, now: start + .seconds(5)),
            table.change(numbers[1], to: .receiving, now: start + .seconds(6)),
            table.change(numbers[2], to: .busy, now: start + .seconds(7)),
        ]
        #expect(changes == [.begun, .begun, .begun, .begun])
        let rooms = (0..<4).map { text(table.makeRoom(at: $0, now: start + .seconds(60))) }
        #expect(rooms == ["close d", "close a", "close b", "none"])
        #expect(table.count == 1)
    }

    @Test func aConnectionHasTimeToBegin() {
        var table = table()
        let numbers = add(["a", "b"], to: &table)
        _ = table.change(numbers[1], to: .busy, now: start)
        let early = text(table.makeRoom(at: 0, now: start))
        // A client that has just been served is worth more than one that has sent nothing.
        let mayBecomeIdle = table.change(numbers[1], to: .idle, now: start + .milliseconds(500))
        #expect(early == "wait 1.0 seconds" && mayBecomeIdle == .begun)
        let late = text(table.makeRoom(now: start + .seconds(1)))
        #expect(late == "close a")
    }

    /// However often and for however long the listener tries, it waits for one moment at a time.
    @Test func aShortageThatLastsNeedsOneTimer() {
        var table = table()
        let numbers = add(["a"], to: &table)
        var timers: [String] = []
        for tenth in 0..<600 {
            let now = start + .milliseconds(tenth * 100)
            // The client asks twice a second, so its waits are short.
            if tenth % 5 == 4 {
                _ = table.change(numbers[0], to: .receiving, now: now)
                _ = table.change(numbers[0], to: .sending, now: now)
            }
            let room = text(table.makeRoom(at: 0, now: now))
            if room != "none" { timers.append(room) }
        }
        #expect(timers.prefix(3) == ["wait 1.0 seconds", "wait 1.9 seconds", "wait 2.9 seconds"])
        #expect(timers.count <= 61 && Set(timers).count == timers.count)
    }

    /// While a connection ends for a client, no other one is closed for it. If its place is not enough, another one is.
    @Test func oneConnectionEndsForEachClient() {
        var table = table()
        let numbers = add(["a", "b", "c"], to: &table)
        let now = start + .seconds(60)
        let rooms = (0..<3).map { _ in text(table.makeRoom(at: 0, now: now)) }
        #expect(rooms == ["close a", "wait 61.0 seconds", "none"])
        table.remove(numbers[0])
        let more = (0..<2).map { _ in text(table.makeRoom(at: 0, now: now)) }
        #expect(more == ["close b", "none"], "the time of b ends at the moment of a")
        table.endDemand(at: 0)
        table.remove(numbers[1])
        let none = text(table.makeRoom(now: now))
        #expect(none == "none" && table.count == 1, "no client waits")
    }

    /// A connection whose handler does not end counts for the minimum wait. Then the next one is closed, and so on.
    @Test func oneThatIsSlowToEndKeepsNoClientWaiting() {
        var table = table()
        let numbers = add(["a", "b", "c"], to: &table)
        _ = table.makeRoom(at: 0, now: start + .seconds(60))
        let rooms = [60, 60.5, 61, 61, 62, 62].map { text(table.makeRoom(now: start + .seconds($0))) }
        #expect(rooms == ["wait 61.0 seconds", "none", "close b", "wait 62.0 seconds", "close c", "wait 63.0 seconds"])
        #expect(table.demands == [0: start + .seconds(60)])
        table.remove(numbers[0])
        let late = text(table.makeRoom(now: start + .seconds(70)))
        #expect(late == "none", "a place is free")
    }

    /// The same for one that must not become idle, and is slow to end by itself.
    @Test func oneThatMustEndButDoesNotKeepsNoClientWaiting() {
        var table = table()
        let numbers = add(["a", "b"], to: &table)
        for number in numbers { _ = table.change(number, to: .busy, now: start) }
        _ = table.makeRoom(at: 0, now: start)
        let ends = table.change(numbers[0], to: .idle, now: start + .seconds(5))
        let idles = table.change(numbers[1], to: .idle, now: start + .seconds(5.5))
        #expect(ends == .endsInCrowd && idles == .begun)
        let rooms = [5.5, 6, 6.5].map { text(table.makeRoom(now: start + .seconds($0))) }
        #expect(rooms == ["wait 6.0 seconds", "wait 6.5 seconds", "close b"])
    }

    /// Without a minimum wait, a connection still has a moment to end.
    @Test func withoutAMinimumNotAllAreClosedAtOnce() {
        var table = ConnectionTable<String>(maximumPerClient: nil, minimumWait: .zero)
        _ = add(["a", "b"], to: &table)
        let rooms = (0..<2).map { _ in text(table.makeRoom(at: 0, now: start + .seconds(60))) }
        #expect(rooms == ["close a", "wait 60.1 seconds"])
    }

    /// Two connections end for the clients of two sockets. The client that comes first keeps its place.
    @Test func aPlaceThatIsFreeIsEnough() {
        var table = table()
        let numbers = add(["a", "b"], to: &table)
        let now = start + .seconds(60)
        let rooms = (0..<2).map { text(table.makeRoom(at: $0, now: now)) }
        #expect(rooms == ["close a", "close b"])
        for number in numbers { table.remove(number) }
        _ = table.add("c", from: nil, at: 0, now: start)
        let early = text(table.makeRoom(now: now))
        #expect(early == "none", "the place of b is free")
        _ = table.add("d", from: nil, at: 0, now: start)
        let late = text(table.makeRoom(now: now))
        #expect(late == "close c", "another client of the first socket has taken it")
    }

    /// Clients whose waits are all short, such as those that ask twice a second, do not keep their places against one that waits.
    @Test func shortWaitsDoNotShutOutAClient() {
        var table = table()
        let numbers = add(["a", "b"], to: &table)
        for number in numbers { _ = table.change(number, to: .busy, now: start + .seconds(2)) }
        _ = table.change(numbers[0], to: .idle, now: start + .seconds(2))
        let room = text(table.makeRoom(at: 0, now: start + .milliseconds(2500)))
        #expect(room == "wait 3.0 seconds")
        var changes: [ConnectionTable<String>.Change] = []
        for (number, time) in [(numbers[1], 3499), (numbers[1], 3500), (numbers[0], 3500)] {
            _ = table.change(number, to: .busy, now: start + .milliseconds(time))
            _ = table.change(numbers[0], to: .receiving, now: start + .milliseconds(time))
            changes.append(table.change(number, to: .idle, now: start + .milliseconds(time)))
        }
        #expect(changes == [.begun, .endsInCrowd, .begun])
    }

    @Test func aConnectionThatIsBeingClosedCannotBegin() {
        var table = table()
        let numbers = add(["a"], to: &table)
        let room = text(table.makeRoom(at: 0, now: start + .seconds(1)))
        let mayBegin = table.change(numbers[0], to: .busy, now: start + .seconds(1))
        #expect(room == "close a" && mayBegin == .ends)
        table.remove(numbers[0])
        #expect(table.count == 0)
    }

    @Test func inACrowdTheNextIdleConnectionEnds() {
        var table = table()
        let numbers = add(["a", "b"], to: &table)
        for number in numbers { _ = table.change(number, to: .busy, now: start) }
        let room = text(table.makeRoom(at: 0, now: start))
        #expect(room == "none" && !table.mayBecomeIdle(now: start))
        let mayBecomeIdle = numbers.map { table.change($0, to: .idle, now: start) }
        #expect(mayBecomeIdle == [.endsInCrowd, .begun], "one of them makes enough room")
    }

    /// No connection waited when the client came: the next one that does ends after the minimum wait, at which room is sought again.
    @Test(arguments: [ServedConnection.Activity.receiving, .sending])
    func inACrowdTheNextWaitEnds(_ activity: ServedConnection.Activity) {
        var table = table()
        let numbers = add(["a", "b"], to: &table)
        for number in numbers { _ = table.change(number, to: .busy, now: start) }
        let room = text(table.makeRoom(at: 0, now: start))
        let change = table.change(numbers[1], to: activity, now: start + .seconds(5))
        #expect(room == "none" && change == .begunInCrowd)
        let later = text(table.makeRoom(at: 0, now: start + .seconds(5)))
        #expect(later == "wait 6.0 seconds")
        let last = text(table.makeRoom(at: 0, now: start + .seconds(6)))
        #expect(last == "close b")
    }

    /// A client that has found room at one socket does not end the wait of one at another socket.
    @Test func eachListeningSocketHasItsWait() {
        var table = table()
        let numbers = add(["a", "b", "c"], to: &table)
        let first = [0, 1].map { text(table.makeRoom(at: $0, now: start + .seconds(1))) }
        #expect(first == ["close a", "wait 2.0 seconds"] && table.demands.keys.sorted() == [0, 1])
        table.remove(numbers[0])
        _ = table.add("d", from: nil, at: 0, now: start + .seconds(1))
        #expect(table.demands.keys.sorted() == [1])
        let again = text(table.makeRoom(now: start + .seconds(2)))
        #expect(again == "close b")
        _ = table.add("e", from: nil, at: 1, now: start + .seconds(2))
        let late = text(table.makeRoom(now: start + .seconds(60)))
        #expect(table.demands.isEmpty && late == "none", "no client waits")
    }

    /// The client of a connection that is refused waits no longer.
    @Test func aRefusedClientDoesNotWait() throws {
        var table = table(1)
        let peer = try address("192.0.2.1")
        _ = table.add("a", from: peer, at: 0, now: start)
        _ = table.makeRoom(at: 0, now: start)
        let refused = table.add("b", from: peer, at: 0, now: start)
        #expect(refused == nil && table.demands.isEmpty)
    }

    @Test func stoppingEndsIdleConnectionsOnly() {
        var table = table()
        let numbers = add(["a", "b", "c"], to: &table)
        _ = table.change(numbers[1], to: .receiving, now: start)
        _ = table.change(numbers[2], to: .busy, now: start)
        let stopped = table.stop().map(\.connection)
        #expect(stopped == ["a"])
        let isIdle = numbers.map { table.removeIdle($0) }
        #expect(isIdle == [true, false, false])
        let changes = [
            table.change(numbers[1], to: .busy, now: start), table.change(numbers[2], to: .idle, now: start),
        ]
        #expect(changes == [.begun, .ends])
        let late = table.add("d", from: nil, at: 0, now: start)
        #expect(late == nil)
    }

    @Test func aClientHasAMaximum() throws {
        var table = table(2)
        let texts = [
            "192.0.2.1", "192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2:1",
            "2001:db8::3", "2001:db8:0:1::1",
        ]
        let numbers = try texts.map { table.add($0, from: try address($0), at: 0, now: start) }
        #expect(numbers.map { $0 != nil } == [true, true, false, false, true, true, true, false, true])
        table.remove(try #require(numbers[0]))
        let later = [
            table.add("again", from: try address("192.0.2.1"), at: 0, now: start),
            table.add("unix", from: nil, at: 0, now: start),
        ]
        #expect(!later.contains(nil))
    }
}
