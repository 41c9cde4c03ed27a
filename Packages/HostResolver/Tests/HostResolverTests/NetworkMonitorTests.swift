import Synchronization
import Testing

@testable import HostResolver

@Suite struct NetworkMonitorTests {
    private let start = ContinuousClock.now

    @Test func combinesChangesInQuickSuccession() {
        var machine = ChangeDebounceMachine(quietTime: .seconds(1), maximumDelay: .seconds(10))
        #expect(machine.deadline == nil && machine.report(now: start) == nil)
        machine.record([], now: start)
        #expect(machine.deadline == nil)
        machine.record(.links, now: start)
        machine.record(.routes, now: start + .milliseconds(900))
        #expect(machine.deadline == start + .milliseconds(1900))
        #expect(machine.report(now: start + .milliseconds(1899)) == nil)
        #expect(machine.report(now: start + .milliseconds(1900)) == [.links, .routes])
        #expect(machine.report(now: start + .seconds(9)) == nil && machine.deadline == nil)
    }

    @Test func reportsContinuousChanges() {
        var machine = ChangeDebounceMachine(quietTime: .seconds(1), maximumDelay: .seconds(5))
        for tenth in 0..<200 { machine.record(.routes, now: start + .milliseconds(tenth * 100)) }
        #expect(machine.deadline == start + .seconds(5) && machine.report(now: start + .seconds(5)) == .routes)
        // The next change has a delay of its own.
        machine.record(.links, now: start + .seconds(20))
        #expect(machine.deadline == start + .seconds(21))
    }

    @Test(
        arguments: [
            (16, NetworkChange.links), (17, .links), (20, .addresses), (21, .addresses), (24, .routes), (25, .routes),
            (99, []),
        ] as [(UInt16, NetworkChange)])
    func classifiesMessages(type: UInt16, change: NetworkChange) {
        #expect(NetworkChange([NetlinkMessage(type: type, flags: 0, sequence: 0, payload: [])]) == change)
    }

    @Test func givesTheFlagsAtOnceAndEndsWithTheMonitor() async throws {
        let monitor = try NetworkMonitor()
        var iterator = monitor.reachability(of: [IPAddress("127.0.0.1")!]).makeAsyncIterator()
        #expect(await iterator.next()?.contains(.isLocalAddress) == true)
        monitor.stop()
        #expect(await iterator.next() == nil)
        var later = monitor.changes().makeAsyncIterator()
        #expect(await later.next() == nil)
    }

    @Test func cancellingEndsTheSequence() async throws {
        let monitor = try NetworkMonitor()
        let task = Task { () -> Int in
            var count = 0
            for await _ in monitor.changes() { count += 1 }
            return count
        }
        task.cancel()
        _ = await task.value
    }

    /// Whatever else changes on this machine meanwhile, `wanted` comes.
    private func next(_ wanted: NetworkChange, _ iterator: inout NetworkChanges.Iterator) async -> Bool {
        while let change = await iterator.next() { if change.isSuperset(of: wanted) { return true } }
        return false
    }

    /// The second one once ended at once if the first one was waiting.
    @Test(.timeLimit(.minutes(5))) func iteratorsOfOneSequenceGetAllChanges() async throws {
        let monitor = try NetworkMonitor()
        let changes = monitor.changes()
        monitor.broadcast.send(.links)
        var (first, second) = (changes.makeAsyncIterator(), changes.makeAsyncIterator())
        #expect(await next(.links, &first))
        monitor.broadcast.send(.routes)
        #expect(await next(.routes, &second))
        #expect(await next(.routes, &first))
    }

    @Test func allSequencesGetAllChangesCombined() async throws {
        let monitor = try NetworkMonitor()
        var (one, other) = (monitor.changes().makeAsyncIterator(), monitor.changes().makeAsyncIterator())
        monitor.broadcast.send(.links)
        monitor.broadcast.send(.routes)
        #expect(await one.next() == [.links, .routes])
        #expect(await other.next() == [.links, .routes])
        monitor.stop()
        #expect(await one.next() == nil)
    }

    @Test func callsOnTheTargetUntilTheSubscriptionEnds() async throws {
        let changes = Locked<[NetworkChange]>([])
        func waitForCalls(_ count: Int) async {
            while changes.withLock({ $0.count }) < count, !Task.isCancelled { await Task.yield() }
        }
        let monitor = Locked<NetworkMonitor?>(try NetworkMonitor())
        weak let weakMonitor = monitor.withLock { $0 }
        let subscription = try #require(weakMonitor).observe(on: .loop(.shared)) { change in
            #expect(EventLoop.shared.isCurrent)
            changes.withLock { $0.append(change) }
        }
        // The subscription keeps the monitor.
        monitor.withLock { $0 = nil }
        weakMonitor?.broadcast.send(.addresses)
        await waitForCalls(1)
        weakMonitor?.broadcast.send(.links)
        await waitForCalls(2)
        #expect(changes.withLock { $0 } == [.addresses, .links])
        subscription.cancel()
        #expect(weakMonitor == nil)
    }

    /// The kernel watches no more descriptors, or the event loop ends. Reading again at once would never end.
    @Test(arguments: [Wake.failed(28), .busy, .closed, .cancelled])
    func aFailedWaitEndsTheWatch(_ wake: Wake) async {
        let waits = Locked(0)
        let watch = NetworkWatch(debounce: ChangeDebounceMachine(quietTime: .zero, maximumDelay: .zero)) {
            .nothing
        } wait: { _ in
            waits.withLock { $0 += 1 }
            return wake
        }
        await watch.run { _ in Issue.record("nothing has changed") }
        #expect(waits.withLock { $0 } == 1)
    }

    @Test func changesArePublishedUntilTheSocketEnds() async {
        let readings = Locked<[NetworkWatch.Reading]>([.overflow, .nothing, .nothing, .end])
        let watch = NetworkWatch(debounce: ChangeDebounceMachine(quietTime: .zero, maximumDelay: .zero)) {
            readings.withLock { $0.removeFirst() }
        } wait: { _ in
            .timedOut
        }
        var changes: [NetworkChange] = []
        await watch.run { changes.append($0) }
        #expect(changes == [.all])
    }
}
