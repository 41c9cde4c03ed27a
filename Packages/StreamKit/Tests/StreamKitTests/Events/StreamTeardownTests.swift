import Dispatch
import EventLoops
import Foundation
import Glibc
import Testing

@testable import StreamKit

/// Scheduled streams that end leave nothing behind.
@Suite(.timeLimit(.minutes(5))) struct StreamTeardownTests {
    /// An object that a client captures; reports its release.
    private final class Info: Sendable {
        let released: @Sendable () -> Void

        init(_ released: @escaping @Sendable () -> Void) {
            self.released = released
        }

        deinit { released() }
    }

    /// The events that release a client's captures.
    enum Ending: CaseIterable {
        case replaced
        case removed
        case closedAndDropped
        case droppedUnopened
        case replacedInItself
        case ended
    }

    // Parity: SK-072
    @Test(
        "SK-072: a client's captures are released when it is replaced or removed, or with the stream",
        arguments: Ending.allCases)
    func capturesAreReleased(ending: Ending) async {
        // The stream is kept except where its release is the subject.
        let kept = Locked<ReadStream?>(nil)
        // Waits until the suite's time limit if the object is not released.
        await withCheckedContinuation { continuation in
            let info = Info { continuation.resume() }
            let stream = ReadStream(bytes: [1, 2, 3])
            stream.setClient(.all) { [info] stream, event in
                withExtendedLifetime(info) {}
                switch (ending, event) {
                case (.replacedInItself, .openCompleted): stream.setClient(.all) { _, _ in }
                case (.ended, .hasBytesAvailable): _ = try? stream.read(upTo: 3)
                case (.ended, .endEncountered): stream.close()
                default: break
                }
            }
            if ending != .droppedUnopened {
                stream.schedule(on: .loop(.shared))
                try? stream.open()
            }
            switch ending {
            case .replaced: stream.setClient(.all) { _, _ in }
            case .removed: stream.setClient([], nil)
            case .closedAndDropped: stream.close()
            case .droppedUnopened, .replacedInItself, .ended: break
            }
            if [.replaced, .replacedInItself, .removed].contains(ending) { kept.withLock { $0 = stream } }
        }
        kept.withLock { $0 }?.close()
    }

    // Parity: SK-072
    @Test("SK-072: a client that stays keeps its captures") func capturesAreKept() async throws {
        let isReleased = Locked(false)
        let stream = ReadStream(bytes: [1])
        do {
            let info = Info { isReleased.withLock { $0 = true } }
            stream.setClient(.all) { [info] _, _ in withExtendedLifetime(info) {} }
        }
        #expect(!isReleased.withLock { $0 })
        stream.setClient([], nil)
        #expect(isReleased.withLock { $0 })
    }

    /// 1000 connections whose streams are torn down inside a callback, in each way, at each event. Runs in a separate
    /// process, so that all descriptors and threads belong to the test.
    // Parity: SK-080
    @Test("SK-080: 1000 teardowns in callbacks leave no descriptor and no thread") func teardownInCallbacks() async {
        await #expect(processExitsWith: .success) {
            let queue = DispatchQueue(label: "teardown")
            /// One connection: its peer writes and closes. The streams have ended when the peer's descriptor reports it.
            func tearDown(_ number: Int) async throws {
                var ends: [Int32] = [-1, -1]
                let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
                guard result == 0 else { exit(3) }
                let target: any DeliveryTarget = number % 2 == 0 ? .queue(queue) : .loop(.shared)
                let moments: [StreamEvent] = [.openCompleted, .hasBytesAvailable, .endEncountered]
                let moment = moments[number / 2 % 3]
                let way = number / 6 % 5
                let peer = StreamPair(descriptor: ends[1], ownership: .owned)
                try peer.open()
                try await peer.output.writeAll([1])
                if moment == .endEncountered { try await peer.output.finish() }
                await withCheckedContinuation { continuation in
                    let pair = StreamPair(descriptor: ends[0], ownership: .owned)
                    pair.output.setClient(.all) { _, _ in }
                    pair.output.schedule(on: target)
                    pair.input.setClient(.all) { stream, event in
                        if event == moment {
                            switch way {
                            case 0: stream.close()
                            case 1: stream.unschedule(from: target)
                            case 2: stream.setClient([], nil)
                            case 3:
                                stream.unschedule(from: target)
                                stream.close()
                                stream.setClient([], nil)
                            default:
                                stream.setClient([], nil)
                                stream.unschedule(from: target)
                                stream.unschedule(from: target)
                                stream.close()
                            }
                            continuation.resume()
                        } else if event == .hasBytesAvailable {
                            _ = try? stream.read(upTo: 10)
                        }
                    }
                    pair.input.schedule(on: target)
                    try? pair.open()
                    pair.output.close()
                    // The last reference except the one that scheduling holds.
                }
                peer.close()
            }
            func threads() -> Int {
                ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []).count
            }
            for number in 0..<60 { try await tearDown(number) }
            let (before, threadsBefore) = (OpenSockets(), threads())
            for number in 0..<1000 { try await tearDown(number) }
            #expect(await before.remain())
            // Dispatch's pools may grow and shrink by a few threads.
            guard threads() < threadsBefore + 20 else { exit(4) }
        }
    }

    // Parity: SK-082
    @Test("SK-082: events come serially on the queue; none follow unscheduling and a barrier")
    func dispatchQueue() async throws {
        let queue = DispatchQueue(label: "events")
        let onQueue = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: onQueue, value: true)
        let pair = StreamPair.bound(bufferSize: 16)
        let events = Locked<[StreamEvent]>([])
        let inside = Locked(0)
        let (recorded, record) = AsyncStream<Void>.makeStream()
        pair.input.setClient(.all) { stream, event in
            let others = inside.withLock { inside in
                defer { inside += 1 }
                return inside
            }
            #expect(others == 0 && DispatchQueue.getSpecific(key: onQueue) == true)
            events.withLock { $0.append(event) }
            if event == .hasBytesAvailable {
                _ = try? stream.read(upTo: 100)
                record.yield()
            }
            inside.withLock { $0 -= 1 }
        }
        pair.input.schedule(on: .queue(queue))
        try pair.open()
        var iterator = recorded.makeAsyncIterator()
        for _ in 0..<100 {
            try await pair.output.writeAll([1, 2, 3])
            await iterator.next()
        }
        #expect(events.withLock { $0.first } == .openCompleted)
        #expect(events.withLock { $0.filter { $0 == .hasBytesAvailable }.count } >= 100)
        pair.input.unschedule(from: .queue(queue))
        await withCheckedContinuation { continuation in queue.async(flags: .barrier) { continuation.resume() } }
        let count = events.withLock { $0.count }
        try await pair.output.writeAll([4])
        pair.output.close()
        // The byte has arrived, and no event is delivered.
        #expect(try await pair.input.readAll(limit: 10) == [4])
        await withCheckedContinuation { continuation in queue.async(flags: .barrier) { continuation.resume() } }
        #expect(events.withLock { $0.count } == count)
        pair.close()
    }

    // Parity: SK-084
    @Test("SK-084: status, properties, clients and scheduling from many threads during transfers")
    func manyThreads() async throws {
        let pair = StreamPair.bound(bufferSize: 64)
        try pair.open()
        let sent = (0..<50_000).map { UInt8(truncatingIfNeeded: $0) }
        let received = try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    let target: any DeliveryTarget = .queue(DispatchQueue(label: "worker \(worker)"))
                    while !Task.isCancelled {
                        _ = (pair.input.status, pair.output.status, pair.input.error, pair.output.error)
                        _ = (pair.input.hasBytesAvailable, pair.output.canAcceptBytes, pair.input.report.steps.count)
                        try pair.set(.readTimeout, to: .seconds(100))
                        _ = (pair[.readTimeout], pair[.nativeDescriptor])
                        pair.input.setClient(.all) { _, _ in }
                        pair.output.setClient([.canAcceptBytes]) { _, _ in }
                        pair.input.schedule(on: target)
                        pair.output.schedule(on: target)
                        await Task.yield()
                        pair.output.unschedule(from: target)
                        pair.input.unschedule(from: target)
                        pair.input.setClient([], nil)
                        pair.output.setClient([], nil)
                    }
                    return nil
                }
            }
            group.addTask {
                try await pair.output.writeAll(sent)
                pair.output.close()
                return nil
            }
            group.addTask { try await pair.input.readAll(limit: 1_000_000) }
            var received: [UInt8]?
            for try await result in group {
                received = received ?? result
                if received != nil { group.cancelAll() }
            }
            return received
        }
        #expect(received == sent)
        pair.close()
    }

    /// The stream below may be closed while the loop begins to watch its descriptor. The wait fails then, and the call reports the
    /// reason.
    @Test func aWaitThatFailsWhileTheStreamIsClosed() throws {
        let (wire, _) = TestWire.pair()
        let stream = ReadStream(transport: wire)
        try stream.open()
        let open = #expect(throws: StreamError.self) { try stream.connection.resume(.failed(EBADF), .reader) }
        #expect(open?.isPOSIX(EBADF) == true)
        stream.close()
        #expect(throws: StreamError.closed) { try stream.connection.resume(.failed(EBADF), .reader) }
    }
}
