@_spi(Packages) import EventLoops
import Foundation
import Glibc
import HostResolver
import Testing

@testable import StreamKit

/// Waiting calls miss no edge, end when the other half fails, and do not monopolize the loop.
@Suite(.timeLimit(.minutes(5))) struct WaitingCallTests {
    private func tcpPair(loop: EventLoop) async throws -> (near: StreamPair, far: Socket) {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let near = StreamPair(address: try #require(listener.localAddress), loop: loop)
        try near.open()
        let far = try await listener.accept()
        try await near.input.opened()
        return (near, far)
    }

    /// A short read shows that the socket is empty. `ready()` consumes the edge of the next arrival, and a polled read
    /// leaves part of it. An async read must no longer assume that the socket is empty.
    @Test func readFindsBytesAfterAWaitConsumedTheirEdge() async throws {
        let loop = EventLoop(name: "readiness")
        defer { loop.shutdown() }
        let (near, far) = try await tcpPair(loop: loop)
        try await Task(executorPreference: loop) {
            try await far.sendAll([1, 2, 3])
            #expect(try await near.input.read(upTo: 100) == [1, 2, 3])
            async let isReady: Void = near.input.ready()
            while !near.input.connection.point.isInside(.reader), !Task.isCancelled { await Task.yield() }
            try await far.sendAll([UInt8](repeating: 4, count: 20))
            try await isReady
            var buffer = [UInt8](repeating: 0, count: 5)
            #expect(try near.input.tryRead(into: &buffer) == 5)
            #expect(try await near.input.read(into: &buffer) == 5)
        }.value
        near.close()
    }

    /// A read stops in front of urgent data (RFC 9293 §3.8.5). That it was short does not mean that nothing follows.
    @Test func aReadFindsTheBytesAfterUrgentData() async throws {
        let loop = EventLoop(name: "urgent")
        defer { loop.shutdown() }
        let (near, far) = try await tcpPair(loop: loop)
        let reading = Task(executorPreference: loop) {
            var pieces: [[UInt8]] = []
            while pieces.joined().count < 6 { pieces.append(try await near.input.read(upTo: 100)) }
            return pieces
        }
        while !near.input.connection.point.isInside(.reader), !Task.isCancelled { await Task.yield() }
        // The reader waits, and all is there when the loop looks again: one edge.
        let sent = DispatchSemaphore(value: 0)
        await withCheckedContinuation { continuation in
            loop.execute {
                continuation.resume()
                sent.wait()
            }
        }
        try await far.sendAll([1, 2, 3])
        #expect(try far.using { send($0, [99] as [UInt8], 1, Int32(MSG_OOB)) } == 1)
        try await far.sendAll([4, 5, 6])
        sent.signal()
        #expect(try await reading.value == [[1, 2, 3], [4, 5, 6]])
        near.close()
    }

    enum Waiting: CaseIterable { case task, thread, threadInTheKernel }

    /// A failed write ends a waiting read, however it waits.
    @Test(arguments: Waiting.allCases)
    func aFailureOfOneHalfEndsTheOthersCall(_ waiting: Waiting) async throws {
        let failure = StreamError(posix: EIO)
        let source = ScriptedSource()
        let pair: StreamPair
        if waiting == .threadInTheKernel {
            var ends: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
            pair = StreamPair(descriptor: ends[0], ownership: .owned)
        } else {
            pair = StreamPair(transport: source)
        }
        try pair.open()
        let reading = Task {
            switch waiting {
            case .task:
                return await #expect(throws: StreamError.self) { try await pair.input.read(upTo: 1) }
            case .thread, .threadInTheKernel:
                return await withCheckedContinuation { continuation in
                    Thread.detachNewThread {
                        let error = #expect(throws: StreamError.self) { try blockingRead(pair.input) }
                        continuation.resume(returning: error)
                    }
                }
            }
        }
        while !pair.input.connection.point.isInside(.reader), !Task.isCancelled { await Task.yield() }
        if waiting == .threadInTheKernel {
            // No system call fails here, so the failure is injected directly.
            pair.input.connection.failBoth(failure)
        } else {
            source.failWriting(failure)
            await #expect(throws: failure) { try await pair.output.writeAll([1]) }
        }
        #expect(await reading.value == failure)
        #expect(pair.input.status == .error && pair.output.status == .error)
        pair.close()
    }

    @Test func aFlushWaitsUntilTheLayerHoldsNothing() async throws {
        let source = ScriptedSource()
        source.hold()
        let pair = StreamPair(transport: source)
        try pair.open()
        let flushing = Task {
            try await pair.output.flush()
            return try pair.output.tryFlush()
        }
        while !pair.output.connection.point.isInside(.writer), !Task.isCancelled { await Task.yield() }
        source.release()
        #expect(try await flushing.value)
        pair.close()
    }

    @Test func aFlushOfAFailedStreamThrows() async throws {
        let pair = StreamPair(transport: ScriptedSource())
        try pair.open()
        pair.input.connection.failBoth(StreamError(posix: EIO))
        #expect(throws: StreamError(posix: EIO)) { try pair.output.tryFlush() }
        await #expect(throws: StreamError(posix: EIO)) { try await pair.output.flush() }
        pair.close()
    }

    enum Call: CaseIterable { case read, write }

    /// A source that always has bytes and always has room.
    @Test(arguments: Call.allCases)
    func aTaskThatNeverWaitsLetsTheLoopGoOn(_ call: Call) async throws {
        let loop = EventLoop(name: "greedy")
        defer { loop.shutdown() }
        let source = ScriptedSource(loop: loop)
        source.makeEndless()
        let pair = StreamPair(transport: source)
        try pair.open()
        let wasElsewhere = Locked(false)
        let transfers = try await Task(executorPreference: loop) { () async throws -> Int in
            loop.execute { wasElsewhere.withLock { $0 = true } }
            var transfers = 0
            while !wasElsewhere.withLock({ $0 }), transfers < 3 * WaitPoint.transfersPerTurn {
                switch call {
                case .read: _ = try await pair.input.read(upTo: 1)
                case .write: _ = try await pair.output.write([1])
                }
                transfers += 1
            }
            return transfers
        }.value
        #expect(transfers <= WaitPoint.transfersPerTurn + 1)
        pair.close()
    }

    /// A source that never blocks and ends each wait at its point before it begins, as a load that can continue does.
    private final class Ready: StreamTransport {
        private final class Point: WaitPoint, @unchecked Sendable {
            // Unchecked only because the superclass is: it has no state.
            override func callerWillWait(watchedBy poller: DescriptorPoller?) { signal([.readable, .writable]) }
        }

        let waitPoint: WaitPoint
        init(_ loop: EventLoop) { waitPoint = Point(loop: loop) }
        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .moved(buffer.byteCount) }
        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .moved(1) }
        func peek() throws(StreamError) -> Attempt { .moved(1) }
        func writability() throws(StreamError) -> Attempt { .moved(1) }
    }

    /// Other work of the loop runs after each budget, even if the stream's own point has a latched edge.
    @Test(arguments: [(.read, 1, 256), (.read, 65536, 16), (.write, 1, 256)] as [(Call, Int, Int)])
    func aWaitThatWouldEndAtOnceStillLetsTheLoopGoOn(_ call: Call, _ size: Int, _ budget: Int) async throws {
        let loop = EventLoop(name: "ready")
        defer { loop.shutdown() }
        let source = Ready(loop)
        let pair = StreamPair(transport: source)
        try pair.open()
        let longest = try await Task(executorPreference: loop) { () async throws -> Int in
            let others = Locked(0)
            @Sendable func runInEachTurn() {
                let count = others.withLock { count in
                    count += 1
                    return count
                }
                if count < 1000 { loop.execute(runInEachTurn) }
            }
            loop.execute(runInEachTurn)
            var buffer = [UInt8](repeating: 0, count: size)
            var (longest, inARow, seen) = (0, 0, 0)
            for _ in 0..<4 * WaitPoint.transfersPerTurn {
                source.waitPoint.signal([.readable, .writable])
                switch call {
                case .read: _ = try await pair.input.read(into: &buffer)
                case .write: _ = try await pair.output.write(buffer)
                }
                let now = others.withLock { $0 }
                inARow = now == seen ? inARow + 1 : 0
                seen = now
                longest = max(longest, inARow)
            }
            return longest
        }.value
        #expect(longest <= budget)
        pair.close()
    }

    /// A call that moves many bytes counts as many transfers.
    @Test func aLongWriteDoesNotHoldUpTheLoop() async throws {
        let loop = EventLoop(name: "long")
        defer { loop.shutdown() }
        let source = ScriptedSource(loop: loop)
        source.makeEndless()
        let pair = StreamPair(transport: source)
        try pair.open()
        let wasElsewhere = Locked(false)
        try await Task(executorPreference: loop) {
            loop.execute { wasElsewhere.withLock { $0 = true } }
            try await pair.output.writeAll([UInt8](repeating: 0, count: 2 * WaitPoint.transfersPerTurn))
            #expect(wasElsewhere.withLock { $0 })
        }.value
        pair.close()
    }

    @Test func aSocketsCallsHaveABudgetToo() async throws {
        let loop = EventLoop(name: "sockets")
        defer { loop.shutdown() }
        let (left, right) = try Socket.pair(.datagram, loop: loop)
        let isSpent = await Task(executorPreference: loop) {
            (0..<WaitPoint.transfersPerTurn).map { _ in left.beginTransfer(.reader, for: .readable) }
                .firstIndex(of: false)
        }.value
        #expect(try #require(isSpent) < WaitPoint.transfersPerTurn)
        // The wait that follows ends in the next turn.
        try await left.wait(.reader, for: .readable, until: nil)
        right.invalidate()
        left.invalidate()
    }

    /// Another job of the loop runs after each budget, also where an edge is latched each time.
    @Test func aSocketWithALatchedEdgeDoesNotHoldUpTheLoop() async throws {
        let loop = EventLoop(name: "latched")
        defer { loop.shutdown() }
        let (left, right) = try Socket.pair(.datagram, loop: loop)
        let wasElsewhere = Locked(false)
        let transfers = try await Task(executorPreference: loop) { () async throws -> Int in
            loop.execute { wasElsewhere.withLock { $0 = true } }
            var transfers = 0
            while !wasElsewhere.withLock({ $0 }), transfers < 3 * WaitPoint.transfersPerTurn {
                #expect(try right.trySend(([1] as [UInt8]).span.bytes) == 1)
                left.point.signal(.readable)
                _ = try await left.receive(upTo: 1)
                transfers += 1
            }
            return transfers
        }.value
        #expect(transfers <= WaitPoint.transfersPerTurn)
        right.invalidate()
        left.invalidate()
    }

    /// A call is inside the half and has found nothing when the edge reaches the events; then it waits.
    @Test func anAsyncCallOfASocketKeepsItsEdgeBesideEvents() async throws {
        let loop = EventLoop(name: "events")
        defer { loop.shutdown() }
        let (left, right) = try Socket.pair(.datagram, loop: loop)
        try left.setClient([.data]) { _, _ in Issue.record("the call comes first") }
        left.schedule(on: .loop(loop))
        await loop.waitTurns()
        try left.enter(.reader)
        while await waits(left, within: .zero) == false {}  // no edge is latched
        #expect(try right.trySend(([1] as [UInt8]).span.bytes) == 1)
        await loop.waitTurns(3)
        #expect(await waits(left, within: .seconds(50)) == false, "the edge was latched")
        try left.setClient([], nil)
        left.leave(.reader)
        left.invalidate()
        right.invalidate()
    }

    /// True if a wait lasts that long.
    private func waits(_ socket: Socket, within limit: Duration) async -> Bool {
        do throws(StreamError) {
            try await socket.wait(.reader, for: .readable, until: .now + limit)
            return false
        } catch {
            return true
        }
    }

    // MARK: Internal waits

    @Test func aTransportThatDoesNotOpenEndsWithTheLimit() async throws {
        final class Never: StreamTransport {
            let waitPoint = WaitPoint()
            func tryOpen() throws(StreamError) -> OpenAttempt { .wouldBlock(.readable) }
            func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .ended }
            func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }
            func peek() throws(StreamError) -> Attempt { .ended }
            func writability() throws(StreamError) -> Attempt { .ended }
        }
        let pair = StreamPair(transport: Never())
        try pair.set(.openTimeout, to: .milliseconds(1))
        try pair.open()
        let error = await #expect(throws: StreamError.self) { try await pair.input.opened() }
        #expect(error?.isPOSIX(ETIMEDOUT) == true)
        pair.close()
    }
}

/// Reads on the calling thread.
private func blockingRead(_ stream: ReadStream) throws(StreamError) -> Int {
    var buffer: [UInt8] = [0]
    return try stream.read(into: &buffer)
}

/// Transports that wait in the system call.
@Suite struct WaitingTransportTests {
    /// Reveals by its bytes which function read it.
    private final class CallRecorder: StreamTransport {
        let waitPoint = WaitPoint()

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
            buffer.storeBytes(of: UInt8(ascii: "t"), as: UInt8.self)
            return .moved(1)
        }

        func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
            buffer.storeBytes(of: UInt8(ascii: "r"), as: UInt8.self)
            return .moved(1)
        }

        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }
        func peek() throws(StreamError) -> Attempt { .moved(1) }
        func writability() throws(StreamError) -> Attempt { .ended }
    }

    /// Only a blocking read without a limit may wait in the transport.
    @Test func blockingReadsMayWait() throws {
        let stream = ReadStream(transport: CallRecorder())
        try stream.open()
        #expect(try stream.read(upTo: 1) == Array("r".utf8))
        var byte: [UInt8] = [0]
        #expect(try stream.tryRead(into: &byte) == 1)
        #expect(byte == Array("t".utf8))
        try stream.set(.readTimeout, to: .seconds(60))
        #expect(try stream.read(upTo: 1) == Array("t".utf8))
        try stream.set(.readTimeout, to: nil)
        #expect(try stream.read(upTo: 1) == Array("r".utf8))
        stream.close()
    }

    @Test func tasksNeverWaitInTheTransport() async throws {
        let stream = ReadStream(transport: CallRecorder())
        try stream.open()
        #expect(try await stream.read(upTo: 1) == Array("t".utf8))
        stream.close()
    }

    /// Waiting until a socket is readable consumes nothing, reports an end or a failure, and ends when the stream closes.
    @Test(arguments: ["bytes", "end", "closed"])
    func waitingForASocket(_ what: String) async throws {
        var ends: [CInt] = [0, 0]
        #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let pair = StreamPair(descriptor: ends[0], ownership: .owned)
        try pair.open()
        async let waited = onThread { () -> StreamError? in
            do throws(StreamError) {
                try pair.input.ready()
                return nil
            } catch {
                return error
            }
        }
        while pair.input.status != .reading, !Task.isCancelled { await Task.yield() }
        switch what {
        case "bytes": #expect(write(ends[1], "x", 1) == 1)
        case "end": shutdown(ends[1], CInt(SHUT_WR))
        default: pair.close()
        }
        #expect(try await waited == (what == "closed" ? .closed : nil))
        if what != "closed" {
            #expect(try await pair.input.read(upTo: 2) == (what == "bytes" ? Array("x".utf8) : []))
        }
        pair.close()
        close(ends[1])
    }
}
