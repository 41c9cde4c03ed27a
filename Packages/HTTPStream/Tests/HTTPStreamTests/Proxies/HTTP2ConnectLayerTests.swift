import EventLoops
import Glibc
import HTTP2
import StreamKit
import Testing

@testable import HTTPStream

/// The layer of a tunnel over a transport that does what a test says: its timer, and what it does when it is closed.
@Suite(.timeLimit(.minutes(5))) struct HTTP2ConnectLayerTests {
    /// The layer below: a connection of which each read returns one piece.
    private final class Lower: StreamTransport {
        private struct State {
            var pieces: [[UInt8]]
            var hasEnded = false
            var isBlocked: Bool
            var written: [UInt8] = []
            var reads = 0
            var hasFinished = false
            var isClosed = false
        }

        let waitPoint: WaitPoint
        /// Provided once all pieces have been read.
        let isDrained = OneShot<Void>()
        let finished = OneShot<Void>()
        let closed = OneShot<Void>()
        private let state: Locked<State>

        /// - Parameter isBlocked: whether no bytes are taken.
        init(_ pieces: [[UInt8]] = [], isBlocked: Bool = false, loop: EventLoop = .shared) {
            waitPoint = WaitPoint(loop: loop)
            state = Locked(State(pieces: pieces, isBlocked: isBlocked))
        }

        var written: [UInt8] { state.withLock { $0.written } }
        /// The number of reads so far.
        var reads: Int { state.withLock { $0.reads } }
        var isClosed: Bool { state.withLock { $0.isClosed } }
        var hasFinished: Bool { state.withLock { $0.hasFinished } }

        func append(_ piece: [UInt8]) {
            state.withLock { $0.pieces.append(piece) }
            waitPoint.signal(.readable)
        }

        func end() {
            state.withLock { $0.hasEnded = true }
            waitPoint.signal(.readable)
        }

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
            let (piece, isLast, hasEnded) = state.withLock { state in
                state.reads += 1
                let piece = state.pieces.isEmpty ? nil : state.pieces.removeFirst()
                return (piece, state.pieces.isEmpty, state.hasEnded)
            }
            guard let piece else { return hasEnded ? .ended : .wouldBlock(.readable) }
            buffer.withUnsafeMutableBytes { $0.copyBytes(from: piece) }
            if isLast { isDrained.provide(()) }
            return .moved(piece.count)
        }

        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
            state.withLock { state in
                if state.isBlocked { return .wouldBlock(.writable) }
                bytes.withUnsafeBytes { state.written += $0 }
                return .moved(bytes.byteCount)
            }
        }

        func peek() throws(StreamError) -> Attempt {
            state.withLock { state in
                if let piece = state.pieces.first { return .moved(piece.count) }
                return state.hasEnded ? .ended : .wouldBlock(.readable)
            }
        }

        func writability() throws(StreamError) -> Attempt {
            state.withLock { $0.isBlocked ? .wouldBlock(.writable) : .moved(1) }
        }

        func tryFinish() throws(StreamError) -> Attempt {
            state.withLock { $0.hasFinished = true }
            finished.provide(())
            return .ended
        }

        func close() {
            state.withLock { $0.isClosed = true }
            closed.provide(())
        }
    }

    /// A time at which the deadline of the settings has passed.
    private static var longAgo: Moment { .now - .seconds(31) }

    // MARK: The timer

    @Test("the timer ends a tunnel whose proxy does not acknowledge the settings: reader and writer learn of it")
    func settings() async throws {
        var proxy = ScriptedTunnel()
        let connection = HTTP2ConnectConnection(try proxy.core(start: Self.longAgo, acknowledges: false))
        let lower = Lower()
        let pair = StreamPair(transport: HTTP2ConnectLayer(connection, over: lower))
        try pair.open()
        // The first call sets the timer, which fires at once.
        let error = await #expect(throws: StreamError.self) { try await pair.input.read(upTo: 1) }
        #expect(error?.description.contains("SETTINGS_TIMEOUT") == true, "\(String(describing: error))")
        await #expect(throws: StreamError.self) { try await pair.output.writeAll([1]) }
        // The proxy is told: GOAWAY.
        #expect(lower.written.dropFirst(3).first == 7)
        pair.close()
        try await lower.closed.value()
        #expect(!lower.hasFinished)
    }

    @Test("what has arrived before the timer fires counts") func late() async throws {
        var proxy = ScriptedTunnel()
        let connection = HTTP2ConnectConnection(try proxy.core(start: Self.longAgo, acknowledges: false))
        let lower = Lower([ScriptedTunnel.ping, ScriptedTunnel.acknowledgment])
        let layer = HTTP2ConnectLayer(connection, over: lower)
        // It reads nothing, and sets the timer.
        #expect(try layer.tryFlush() == .ended)
        try await lower.isDrained.value()
        let (failure, deadline) = connection.core.withLock { ($0.failure, $0.nextDeadline) }
        #expect(failure == nil && deadline == nil)
        #expect(try layer.write([1, 2]) == .moved(2))
        try proxy.receive(lower.written)
        let received = try proxy.takeBytes()
        #expect(received == [1, 2])
        layer.close()
        lower.end()
    }

    @Test("closing a tunnel cancels its timer") func closedBeforeTheTimer() async throws {
        let loop = EventLoop(name: "tunnel")
        let lower = Lower([ScriptedTunnel.acknowledgment], isBlocked: true, loop: loop)
        var proxy = ScriptedTunnel()
        let connection = HTTP2ConnectConnection(try proxy.core(start: Self.longAgo, acknowledges: false))
        let layer = HTTP2ConnectLayer(connection, over: lower)
        let later = OneShot<Void>()
        loop.execute {
            // The timer is due, and this turn of the loop closes the tunnel.
            _ = try? layer.tryFlush()
            layer.close()
            _ = loop.schedule(at: .now) { later.provide(()) }
        }
        try await later.value()
        #expect(lower.reads == 0 && lower.isClosed)
    }

    // MARK: Reading

    @Test("a call reads four times at most: a proxy can send much that carries nothing")
    func budget() async throws {
        var proxy = ScriptedTunnel()
        let connection = HTTP2ConnectConnection(try proxy.core(start: .now))
        let lower = Lower(Array(repeating: ScriptedTunnel.ping, count: 9) + [try proxy.send([5])])
        let layer = HTTP2ConnectLayer(connection, over: lower)
        #expect(try layer.read() == nil)
        #expect(lower.reads == 4)
        #expect(try layer.read() == nil)
        #expect(lower.reads == 8)
        #expect(try layer.read() == [5])
        layer.close()
        lower.end()
    }

    @Test("a reader goes on after its share of a call without a signal from below") func nextTurn() async throws {
        var proxy = ScriptedTunnel()
        let connection = HTTP2ConnectConnection(try proxy.core(start: .now))
        let lower = Lower(Array(repeating: ScriptedTunnel.ping, count: 9) + [try proxy.send([6], endsHere: true)])
        let input = ReadStream(transport: HTTP2ConnectLayer(connection, over: lower))
        try input.open()
        #expect(try await input.readAll(limit: 10) == [6])
        input.close()
        lower.end()
    }

    // MARK: Closing

    @Test("a closed tunnel sends its end, and reads what the proxy still sends until the proxy ends the connection")
    func linger() async throws {
        var proxy = ScriptedTunnel()
        let connection = HTTP2ConnectConnection(try proxy.core(start: .now))
        let lower = Lower()
        let pair = StreamPair(transport: HTTP2ConnectLayer(connection, over: lower, lingerTime: .seconds(3600)))
        try pair.open()
        try await pair.output.writeAll([1, 2, 3])
        pair.close()
        try await lower.finished.value()
        try proxy.receive(lower.written)
        let received = try proxy.takeBytes()
        #expect(received == [1, 2, 3])
        let stream = proxy.stream
        let kinds = proxy.events.compactMap { event -> String? in
            switch event {
            case .ended(stream): "end"
            case .goAway: "goAway"
            case .reset: "reset"
            default: nil
            }
        }
        #expect(kinds == ["end", "goAway"])
        lower.append(try proxy.send([4, 5], endsHere: true))
        try await lower.isDrained.value()
        #expect(!lower.isClosed)
        lower.end()
        try await lower.closed.value()
    }

    @Test("a silent proxy holds a closed tunnel for a limited time", arguments: [Duration.zero, .milliseconds(1)])
    func silentProxy(_ time: Duration) async throws {
        var proxy = ScriptedTunnel()
        let connection = HTTP2ConnectConnection(try proxy.core(start: .now))
        let lower = Lower()
        let layer = HTTP2ConnectLayer(connection, over: lower, lingerTime: time)
        layer.close()
        try await lower.closed.value()
        #expect(lower.hasFinished)
    }

    @Test("a tunnel whose end cannot be written, or that has failed, is closed at once", arguments: [true, false])
    func closesAtOnce(isBlocked: Bool) throws {
        var proxy = ScriptedTunnel()
        let connection = HTTP2ConnectConnection(try proxy.core(start: .now))
        let stream = proxy.stream
        let lower = Lower(isBlocked ? [] : [HTTP2Script.reset(stream, .connectError)], isBlocked: isBlocked)
        let layer = HTTP2ConnectLayer(connection, over: lower, lingerTime: .seconds(3600))
        if isBlocked {
            // Some output waits already.
            #expect(try layer.write([1]) == .moved(1))
            #expect(try layer.tryFlush() == .wouldBlock(.writable))
            #expect(try layer.tryFinish() == .wouldBlock(.writable))
        } else {
            // The next write fails.
            #expect(try layer.write([1]) == .moved(1))
            #expect(throws: StreamError.self) { try layer.read() }
            #expect(throws: StreamError.self) { try layer.write([1]) }
        }
        layer.close()
        #expect(lower.isClosed && !lower.hasFinished)
    }

    @Test("the end of the bytes waits for credit behind them, and for the layer below") func finish() throws {
        var proxy = ScriptedTunnel { $0.initialStreamWindow = 1024 }
        let connection = HTTP2ConnectConnection(try proxy.core(start: .now))
        let lower = Lower()
        let layer = HTTP2ConnectLayer(connection, over: lower)
        let bytes = [UInt8](repeating: 1, count: 2048)
        #expect(try layer.write(bytes) == .moved(1024))
        #expect(try layer.write(bytes) == .wouldBlock(.readable))
        #expect(try layer.writability() == .wouldBlock(.readable))
        try proxy.receive(lower.written)
        let received = try proxy.takeBytes()
        #expect(received.count == 1024)
        // The credit makes room.
        lower.append(proxy.takeOutput())
        #expect(try layer.writability() == .moved(1))
        #expect(try layer.tryFinish() == .ended)
        let count = lower.written.count
        // Once.
        #expect(try layer.tryFinish() == .ended)
        #expect(lower.written.count == count)
        layer.close()
        lower.end()
    }
}

extension HTTP2ConnectLayer {
    /// Tries to read a byte; nil if there is none yet.
    fileprivate func read() throws(StreamError) -> [UInt8]? {
        var buffer: [UInt8] = [0]
        var span = buffer.mutableSpan
        var memory = span.mutableBytes
        switch try tryRead(into: &memory) {
        case .moved(let count): return Array(buffer[..<count])
        case .ended: return []
        case .wouldBlock: return nil
        }
    }

    fileprivate func write(_ bytes: [UInt8]) throws(StreamError) -> Attempt { try tryWrite(bytes.span.bytes) }
}
