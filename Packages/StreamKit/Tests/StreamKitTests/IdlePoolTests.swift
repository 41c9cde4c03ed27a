import EventLoops
@_spi(Packages) import StreamKit
import Testing

/// Which connection a pool of idle connections returns, and which it closes.
@Suite struct IdlePoolTests {
    final class Connection: IdleConnection {
        let key: String
        let number: Int
        private let closed = Locked(0)

        init(_ key: String, _ number: Int) {
            self.key = key
            self.number = number
        }

        var closings: Int { closed.withLock { $0 } }

        func close() { closed.withLock { $0 += 1 } }
    }

    private func pool(perKey: Int = 2, total: Int = 3) -> IdlePool<Connection> {
        IdlePool(perKey: perKey, total: total, idle: .seconds(60))
    }

    @Test func theConnectionUsedLastIsTakenFirst() {
        let pool = pool()
        for connection in [Connection("a", 1), Connection("b", 2), Connection("a", 3)] { pool.put(connection) }
        let taken = ["a", "a", "a", "b"].map { key in
            pool.take(key, isUsable: { _ in true }, dispose: { _ in })?.number
        }
        #expect(taken == [3, 1, nil, 2] && pool.count == 0)
    }

    @Test func aConnectionIsTakenByACondition() {
        let pool = pool()
        for connection in [Connection("a", 1), Connection("b", 2), Connection("a", 3)] { pool.put(connection) }
        let taken = [1, 2, 2].map { number in
            pool.take(where: { $0.number == number }, isUsable: { _ in true }, dispose: { _ in })?.key
        }
        #expect(taken == ["a", "b", nil] && pool.count == 1)
    }

    @Test func theOldestBeyondALimitIsClosed() {
        let pool = pool()
        let all = ["a", "a", "a", "b", "b"].enumerated().map { Connection($1, $0) }
        all.forEach(pool.put)
        // The third of "a" closes the first; the second of "b" is the fourth in total and closes the second of "a".
        #expect(all.map(\.closings) == [1, 1, 0, 0, 0] && pool.count == 3)
    }

    @Test func aPoolWithoutRoomKeepsNothing() {
        for pool in [pool(perKey: 0), pool(perKey: -1, total: -1)] {
            let connection = Connection("a", 1)
            pool.put(connection)
            #expect(connection.closings == 1 && pool.count == 0)
        }
    }

    @Test func unusableAndExpiredConnectionsAreDisposedOf() {
        let pool = pool()
        let (usable, dead) = (Connection("a", 1), Connection("a", 2))
        pool.put(usable)
        pool.put(dead)
        var disposed: [Int] = []
        let taken = pool.take("a", isUsable: { $0 !== dead }, dispose: { disposed.append($0.number) })
        #expect(taken === usable && disposed == [2])
        pool.put(usable)
        let later = pool.take(
            "a", at: .now + .seconds(61), isUsable: { _ in true }, dispose: { disposed.append($0.number) })
        #expect(later == nil && disposed == [2, 1] && usable.closings == 0)
    }

    @Test func connectionsAreRemovedByACondition() {
        let pool = pool()
        let all = [Connection("a", 1), Connection("b", 2), Connection("a", 3)]
        all.forEach(pool.put)
        #expect(pool.removeAll { $0.key == "a" }.map(\.number) == [1, 3])
        #expect(pool.count == 1 && all.allSatisfy { $0.closings == 0 })
    }

    @Test func connectionsAreClosedAfterTheIdleTime() async {
        let pool = IdlePool<Connection>(perKey: 1, total: 1, idle: .milliseconds(1))
        let connection = Connection("a", 1)
        pool.put(connection)
        while connection.closings == 0, !Task.isCancelled { await Task.yield() }
        #expect(pool.count == 0)
    }

    @Test func releasingThePoolClosesItsConnections() {
        let connection = Connection("a", 1)
        pool().put(connection)
        #expect(connection.closings == 1)
    }
}
