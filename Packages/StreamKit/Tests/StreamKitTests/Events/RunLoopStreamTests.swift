import EventLoops
import Foundation
import RunLoopDelivery
import StreamKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct RunLoopStreamTests {
    // Parity: SK-073, SK-074, SK-075, SK-076
    @Test("SK-073…SK-076: events come on the scheduled run loop's thread, even without references")
    func eventsOnTheLoop() async throws {
        let events = try await onThread {
            let events = Locked<[(StreamEvent, Bool)]>([])
            let thread = pthread_self()
            func prepare() throws {
                let stream = ReadStream(bytes: Array("abc".utf8))
                stream.schedule(on: .currentRunLoop)
                stream.setClient(.all) { stream, event in
                    events.withLock { $0.append((event, pthread_self() == thread)) }
                    if event == .hasBytesAvailable { _ = try? stream.read(upTo: 2) }
                    if event == .endEncountered { stream.close() }
                }
                try stream.open()
                // Events never come inside a call of the user.
                if !events.withLock({ $0.isEmpty }) { events.withLock { $0.append((.errorOccurred, false)) } }
            }
            try prepare()
            while events.withLock({ $0.last?.0 }) != .endEncountered {
                _ = RunLoop.current.run(mode: .default, before: .distantFuture)
            }
            return events.withLock { $0.map { "\($0.0) \($0.1)" } }
        }
        #expect(
            events == [
                "openCompleted true", "hasBytesAvailable true", "hasBytesAvailable true", "endEncountered true",
            ])
    }

    // Parity: SK-074
    @Test("SK-074: closed or unscheduled, in any order, twice or never scheduled: no event follows")
    func teardownInAnyOrder() async throws {
        try await onThread {
            for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2, 1, 0]] {
                let stream = ReadStream(bytes: [1])
                let count = Locked(0)
                stream.setClient(.all) { _, _ in count.withLock { $0 += 1 } }
                stream.schedule(on: .currentRunLoop)
                try stream.open()
                for step in order {
                    switch step {
                    case 0: stream.close()
                    case 1: stream.unschedule(from: .currentRunLoop)
                    default: stream.setClient([], nil)
                    }
                }
                _ = RunLoop.current.run(mode: .default, before: Date())
                #expect(count.withLock { $0 } == 0)
            }
        }
    }
}
