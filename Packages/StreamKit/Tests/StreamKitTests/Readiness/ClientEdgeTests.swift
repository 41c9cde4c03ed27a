import EventLoops
import Glibc
import Testing

@testable import StreamKit

/// No client misses an event, in whatever order it is set, scheduled, polled and used beside reads.
@Suite(.timeLimit(.minutes(5))) struct ClientEdgeTests {
    /// Without a report, the client would wait forever.
    @Test func aStreamThatCannotBeWatchedFails() async throws {
        let loop = try await EventLoop.ended()
        var descriptors: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &descriptors) == 0)
        defer { close(descriptors[1]) }
        let pair = StreamPair(descriptor: descriptors[0], ownership: .owned, loop: loop)
        try pair.open()
        let target = SteppedTarget()
        let events = Locked<[StreamEvent]>([])
        pair.input.setClient([.hasBytesAvailable, .errorOccurred]) { _, event in events.withLock { $0.append(event) } }
        pair.input.schedule(on: target)
        while target.turn() {}
        #expect(events.withLock { $0 } == [.errorOccurred])
        #expect(pair.input.error?.isPOSIX(ESHUTDOWN) == true)
        pair.close()
    }

    /// Another thread closes the stream while its client looks: the look fails, the stream has not. Otherwise the client would receive
    /// `errorOccurred` from a stream without an error.
    @Test(arguments: [EBADF, nil]) func aCloseDuringALookIsNoFailure(number: CInt?) throws {
        let source = ScriptedSource()
        let stream = ReadStream(transport: source)
        try stream.open()
        source.failReading(number.map { StreamError(posix: $0) } ?? .closed)
        source.interrupt(at: .look) { stream.close() }
        #expect(stream.side.facts == .init(hasOpened: true, hasFailed: false, readiness: .notYet))
        #expect(stream.status == .closed && stream.error == nil)
    }

    enum Operation: CaseIterable {
        case setFirst, setSecond, removeClient, schedule, unschedule, arrive, harvest, poll, read, turn
    }

    /// A stream with up to two clients on a target that the test drives.
    private final class Scene: Sendable {
        let source = ScriptedSource()
        let stream: ReadStream
        let target = SteppedTarget()
        let notified = Locked<[Int]>([])
        /// The current client, and whether it is scheduled.
        let expected = Locked<(client: Int?, isScheduled: Bool)>((nil, false))

        init() throws {
            stream = ReadStream(transport: source)
            try stream.open()
        }

        func perform(_ operation: Operation) {
            switch operation {
            case .setFirst: set(1)
            case .setSecond: set(2)
            case .removeClient:
                expected.withLock { $0.client = nil }
                stream.setClient([], nil)
            case .schedule:
                expected.withLock { $0.isScheduled = true }
                stream.schedule(on: target)
            case .unschedule:
                expected.withLock { $0.isScheduled = false }
                stream.unschedule(from: target)
            case .arrive: source.arrive(1)
            case .harvest: source.harvest()
            case .poll: _ = stream.hasBytesAvailable
            case .read: _ = read()
            case .turn: target.turn()
            }
        }

        private func set(_ number: Int) {
            expected.withLock { $0.client = number }
            stream.setClient(.hasBytesAvailable) { [self] _, _ in notified.withLock { $0.append(number) } }
        }

        func read() -> Int? {
            var buffer = [UInt8](repeating: 0, count: 100)
            return (try? stream.tryRead(into: &buffer)) ?? nil
        }

        /// Consumes everything, then lets one byte arrive: exactly the current client must be notified of it.
        ///
        /// A read arms the client, so there is none if there are no bytes.
        func notifiesExactlyTheCurrentClient() -> Bool {
            while target.turn() || (source.hasBytes && read() != nil) {}
            notified.withLock { $0 = [] }
            source.arrive(1)
            source.harvest()
            while target.turn() {}
            let expected = expected.withLock { $0 }
            return notified.withLock { $0 } == (expected.isScheduled ? expected.client.map { [$0] } ?? [] : [])
        }
    }

    @Test func currentClientIsNotifiedInAnyOrder() throws {
        let all = Operation.allCases
        for first in all {
            for second in all {
                for third in all {
                    let scene = try Scene()
                    scene.perform(.setFirst)
                    scene.perform(.schedule)
                    for operation in [first, second, third] { scene.perform(operation) }
                    #expect(scene.notifiesExactlyTheCurrentClient(), "\(first), \(second), \(third)")
                    scene.stream.close()
                }
            }
        }
    }

    /// Each operation in the middle of each other one, at each of its sites.
    @Test(arguments: ScriptedSource.Site.allCases)
    func currentClientIsNotifiedDespiteInterleaving(site: ScriptedSource.Site) throws {
        let all = Operation.allCases
        for before in all {
            for operation in all {
                for between in all {
                    let scene = try Scene()
                    scene.perform(.setFirst)
                    scene.perform(.schedule)
                    scene.perform(before)
                    scene.source.interrupt(at: site) { [scene] in scene.perform(between) }
                    scene.perform(operation)
                    scene.source.interrupt(at: site) {}
                    #expect(scene.notifiesExactlyTheCurrentClient(), "\(before), then \(between) within \(operation)")
                    scene.stream.close()
                }
            }
        }
    }

    /// While a client is removed or unscheduled, another finds the watcher still parked, and relies on it.
    @Test(
        arguments: [
            (.removeClient, .setSecond), (.removeClient, .setFirst), (.unschedule, .schedule),
            (.unschedule, .setSecond),
        ] as [(Operation, Operation)])
    func clientSetDuringWithdrawalIsNotified(_ withdrawal: Operation, _ between: Operation) throws {
        let scene = try Scene()
        scene.perform(.setFirst)
        scene.perform(.schedule)
        while scene.target.turn() {}
        scene.target.interruptCancelling { [scene] in
            scene.perform(between)
            if withdrawal == .unschedule { scene.perform(.schedule) }
        }
        scene.perform(withdrawal)
        #expect(scene.notifiesExactlyTheCurrentClient())
        scene.stream.close()
    }

    /// The client is removed or unscheduled just before it parks its watcher. No watcher stays at the wait point.
    @Test(arguments: [ScriptedSource.Site.place, .parking], [.removeClient, .unschedule] as [Operation])
    func aClientThatLeavesWhileItParksLeavesNoWatcher(_ site: ScriptedSource.Site, _ leaving: Operation) throws {
        let scene = try Scene()
        scene.perform(.schedule)
        scene.source.interrupt(at: site) { [scene] in scene.perform(leaving) }
        scene.perform(.setFirst)
        let watcher = Watcher()
        #expect(scene.source.waitPoint.watch(.reader, for: .readable, with: watcher) == nil, "the slot is free")
        scene.source.waitPoint.unwatch(.reader, watcher)
        scene.stream.close()
    }

    @Test func pollingDoesNotHideBytes() throws {
        let scene = try Scene()
        scene.perform(.setFirst)
        scene.perform(.schedule)
        while scene.target.turn() {}
        scene.source.arrive(1)
        #expect(scene.stream.hasBytesAvailable)
        scene.source.harvest()  // finds the descriptor empty
        while scene.target.turn() {}
        #expect(scene.notified.withLock { $0 } == [1])
        scene.stream.close()
    }

    /// A call has found nothing, and is about to wait, when a client looks: that moves the bytes out of the kernel, before
    /// the loop has seen them.
    @Test func lookingDoesNotHideBytesFromACall() async throws {
        let source = ScriptedSource()
        let stream = ReadStream(transport: source)
        let connection = stream.connection
        try stream.open()
        while await source.waitPoint.readerWait(for: .readable, until: .now) == .ready {}
        try connection.enter(.reader)
        source.arrive(1)
        #expect(StreamSide(connection, .reader).facts.readiness == .ready)
        source.harvest()  // finds the descriptor empty
        #expect(await source.waitPoint.readerWait(for: .readable, until: .now + .seconds(50)) == .ready)
        connection.leave(.reader)
        stream.close()
    }

    @Test func clientSetAfterCloseIsReleased() {
        final class Info: Sendable {}
        let stream = ReadStream(transport: ScriptedSource())
        stream.close()
        weak var kept: Info?
        do {
            let info = Info()
            kept = info
            let client = StreamClient(stream.side, wanted: .all) { [info] _ in
                withExtendedLifetime(info) {}
            }
            // As if closing came between the check of the half and this.
            stream.side.setClient(client)
        }
        #expect(kept == nil && stream.side.client == nil)
    }

    @Test func turnHasAnEventBudget() throws {
        let source = ScriptedSource()
        source.makeEndless()
        let stream = ReadStream(transport: source)
        let target = SteppedTarget()
        let count = Locked(0)
        stream.setClient(.hasBytesAvailable) { stream, _ in
            var buffer: [UInt8] = [0]
            _ = try? stream.tryRead(into: &buffer)
            // Without a budget it would never end.
            if count.withLock({ count in
                count += 1
                return count >= 10 * EventPump.eventsPerTurn
            }) {
                stream.close()
            }
        }
        stream.schedule(on: target)
        try stream.open()
        #expect(target.turn())
        #expect(count.withLock { $0 } == EventPump.eventsPerTurn)
        #expect(target.turn(), "the rest comes in the next turn")
        #expect(count.withLock { $0 } == 2 * EventPump.eventsPerTurn)
        stream.close()
    }
}
