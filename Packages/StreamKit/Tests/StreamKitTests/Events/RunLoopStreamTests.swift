import CoreFoundation
import EventLoops
import Foundation
import Glibc
import RunLoopDelivery
import StreamKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct RunLoopStreamTests {
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

    private static func socketPair() throws -> (near: Int32, far: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    /// Runs the thread's run loop until the condition holds; false if that took too long.
    @available(*, noasync)
    private static func run(until condition: () -> Bool) -> Bool {
        let end = Date(timeIntervalSinceNow: 60)
        while !condition() {
            if !RunLoop.current.run(mode: .default, before: end), Date() > end { return false }
        }
        return true
    }

    // Parity: SK-073
    @Test("SK-073: a run loop watches its streams and sockets itself, so an event loop that is busy delays no event")
    func theRunLoopWatches() async throws {
        let loop = StuckLoop()
        defer { loop.free() }
        let received = try await onThread {
            let received = Locked<[String]>([])
            let (streams, sockets) = (try Self.socketPair(), try Self.socketPair())
            let (peer, other) = (
                try Socket(descriptor: streams.far, ownership: .owned),
                try Socket(descriptor: sockets.far, ownership: .owned)
            )
            let pair = StreamPair(descriptor: streams.near, ownership: .owned, loop: loop.loop)
            pair.input.setClient(.all) { stream, event in
                guard event == .hasBytesAvailable, let bytes = try? stream.read(upTo: 10) else { return }
                received.withLock { $0.append("stream \(bytes)") }
            }
            pair.input.schedule(on: .currentRunLoop)
            try pair.open()
            let socket = try Socket(descriptor: sockets.near, ownership: .owned, loop: loop.loop)
            try socket.setClient(.data) { _, event in
                if case .data(let message) = event { received.withLock { $0.append("socket \(message.bytes)") } }
            }
            socket.schedule(on: .currentRunLoop)
            for step in [UInt8(1), 2, 3] {
                _ = RunLoop.current.run(mode: .default, before: Date())  // the streams wait
                _ = try peer.send([step])
                guard Self.run(until: { received.withLock { $0.count } == 2 * Int(step) - 1 }) else { break }
                _ = try other.send([step])
                guard Self.run(until: { received.withLock { $0.count } == 2 * Int(step) }) else { break }
            }
            pair.close()
            socket.invalidate()
            peer.invalidate()
            other.invalidate()
            return received.withLock { $0 }
        }
        #expect(received == ["stream [1]", "socket [1]", "stream [2]", "socket [2]", "stream [3]", "socket [3]"])
    }

    /// Another stream keeps the run loop's poller in use.
    @Test(
        "the bytes of a stream or socket without a client or run loop do not wake the run loop",
        arguments: [true, false])
    func nothingWatchesForAClientThatHasLeft(removesClient: Bool) async throws {
        let turns = try await onThread {
            let ends = try (0..<3).map { _ in try Self.socketPair() }
            defer { for end in ends { close(end.far) } }
            let pairs = ends[..<2].map { StreamPair(descriptor: $0.near, ownership: .owned) }
            for pair in pairs {
                pair.input.setClient(.all) { _, _ in }
                pair.output.setClient(.all) { _, _ in }
                pair.input.schedule(on: .currentRunLoop)
                pair.output.schedule(on: .currentRunLoop)
                try pair.open()
            }
            let socket = try Socket(descriptor: ends[2].near, ownership: .owned)
            try socket.setClient(.data) { _, _ in }
            socket.schedule(on: .currentRunLoop)
            defer {
                for pair in pairs { pair.close() }
                socket.invalidate()
            }
            // The edges of the registrations, and the first events.
            func turn() -> Bool { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true) == .handledSource }
            while turn() {}
            let pair = pairs[0]
            if removesClient {
                pair.input.setClient([], nil)
                pair.output.setClient([], nil)
                try socket.setClient([], nil)
            } else {
                pair.input.unschedule(from: .currentRunLoop)
                pair.output.unschedule(from: .currentRunLoop)
                socket.unschedule(from: .currentRunLoop)
            }
            while turn() {}
            return [ends[0], ends[2], ends[1]].map { end in
                var byte: UInt8 = 1
                _ = send(end.far, &byte, 1, 0)
                return turn()
            }
        }
        #expect(turns == [false, false, true])
    }

    // Parity: SK-073
    @Test("SK-073: a call of a task gets its bytes although the run loop on which the stream is scheduled does not run")
    func aCallNeedsNoRunLoop() async throws {
        let ends = try Self.socketPair()
        let pair = StreamPair(descriptor: ends.near, ownership: .owned)
        let hasParked = Locked(false)
        let isFinished = DispatchSemaphore(value: 0)
        async let scheduled: Void = onThread {
            pair.input.setClient(.all) { _, _ in }
            pair.input.schedule(on: .currentRunLoop)
            try pair.open()
            _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 60))
            hasParked.withLock { $0 = true }
            isFinished.wait()
            pair.close()
        }
        while !hasParked.withLock({ $0 }), !Task.isCancelled { await Task.yield() }
        let peer = try Socket(descriptor: ends.far, ownership: .owned)
        async let bytes = pair.input.read(upTo: 10)
        await Task.yield()
        _ = try await peer.send([7])
        #expect(try await bytes == [7])
        isFinished.signal()
        try await scheduled
        peer.invalidate()
    }

    // Parity: SK-075
    @Test(
        "SK-075: with two run loops, an event reaches the one that runs, whichever was added first",
        arguments: [true, false])
    func twoRunLoops(addsTheIdleOneFirst: Bool) async throws {
        let ends = try Self.socketPair()
        let pair = StreamPair(descriptor: ends.near, ownership: .owned)
        let events = Locked<[StreamEvent]>([])
        pair.input.setClient(.all) { stream, event in
            if event == .hasBytesAvailable { _ = try? stream.read(upTo: 10) }
            events.withLock { $0.append(event) }
        }
        let idle = Locked<RunLoopTarget?>(nil)
        let isFinished = DispatchSemaphore(value: 0)
        async let waiting: Void = onThread {
            idle.withLock { $0 = .currentRunLoop }
            isFinished.wait()
        }
        while idle.withLock({ $0 }) == nil, !Task.isCancelled { await Task.yield() }
        let target = try #require(idle.withLock { $0 })
        let isDelivered = try await onThread {
            if addsTheIdleOneFirst { pair.input.schedule(on: target) }
            pair.input.schedule(on: .currentRunLoop)
            try pair.open()
            _ = Self.run { !events.withLock { $0.isEmpty } }
            _ = RunLoop.current.run(mode: .default, before: Date())
            if !addsTheIdleOneFirst { pair.input.schedule(on: target) }
            var byte: UInt8 = 1
            _ = send(ends.far, &byte, 1, 0)
            return Self.run { events.withLock { $0.count } == 2 }
        }
        #expect(isDelivered)
        pair.input.unschedule(from: target)
        isFinished.signal()
        try await waiting
        pair.close()
        close(ends.far)
    }
}
