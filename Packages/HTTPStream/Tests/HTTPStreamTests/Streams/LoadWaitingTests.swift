import Foundation
import HTTPMessage
import StreamKit
import Testing

@_spi(Packages) @testable import EventLoops
@testable import HTTPStream

/// A load and its waiters, on a connection whose bytes and edges the test provides.
@Suite(.timeLimit(.minutes(5))) struct LoadWaitingTests {
    /// The connection. Its bytes are there at once; an edge comes only from the test.
    private final class Wire: StreamTransport {
        private struct State {
            var incoming: [UInt8] = []
            var reads = 0
            var isClosed = false
        }

        let waitPoint: WaitPoint
        private let state = Locked(State())
        private let onClose: @Sendable () -> Void

        init(loop: EventLoop, onClose: @escaping @Sendable () -> Void = {}) {
            waitPoint = WaitPoint(loop: loop)
            self.onClose = onClose
        }

        /// The number of attempts to read.
        var reads: Int { state.withLock { $0.reads } }
        var isClosed: Bool { state.withLock { $0.isClosed } }
        /// Whether a call waits.
        var isAwaited: Bool { waitPoint.sides[.reader].call.isParked }

        func arrive(_ bytes: [UInt8]) { state.withLock { $0.incoming += bytes } }

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
            let room = buffer.byteCount
            let bytes = state.withLock { state -> [UInt8] in
                state.reads += 1
                defer { state.incoming.removeFirst(min(room, state.incoming.count)) }
                return Array(state.incoming.prefix(room))
            }
            if bytes.isEmpty { return .wouldBlock(.readable) }
            buffer.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
            return .moved(bytes.count)
        }

        func peek() throws(StreamError) -> Attempt {
            let count = state.withLock { $0.incoming.count }
            return count == 0 ? .wouldBlock(.readable) : .moved(count)
        }

        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .moved(bytes.byteCount) }
        func writability() throws(StreamError) -> Attempt { .moved(1) }
        func close() {
            state.withLock { $0.isClosed = true }
            onClose()
        }
    }

    private final class Observer: Watcher, @unchecked Sendable {
        // Unchecked only because the superclass is: the properties are constants.
        let hasFired = OneShot<Bool>()
        private let perform: @Sendable () -> Void

        init(_ perform: @escaping @Sendable () -> Void = {}) { self.perform = perform }

        override func fire() {
            perform()
            hasFired.provide(true)
        }
    }

    /// A load that has sent its request on the wire, which was in its pool.
    private struct Scene: Sendable {
        let loop = EventLoop(name: "load")
        let wire: Wire
        let pool: HTTPConnectionPool
        let exchange: LoadTransport

        /// - Parameter connection: a connection to use instead of the wire.
        init(
            decodes: Bool = false, opens: Bool = true, on connection: Socket? = nil,
            pool: HTTPConnectionPool = HTTPConnectionPool()
        ) throws {
            self.pool = pool
            let url = try #require(URL(string: "http://example.org/"))
            wire = Wire(loop: loop)
            let pair = try connection?.makeStreams() ?? StreamPair(transport: wire)
            try pair.open()
            let key = HTTPConnectionKey(try HTTPOrigin(loading: url), StreamProperties(), loop: loop)
            pool.put(HTTPConnection(pair: pair, key: key, limits: .default))
            var options = HTTPOptions()
            options.keepsConnection = true
            options.pool = pool
            options.decodesContent = decodes
            exchange = LoadTransport(
                try HTTPRequest(method: .get, url: url), body: nil, LoadSettings(options), loop: loop)
            guard opens else { return }
            #expect(try exchange.tryOpen() == .opened)
            #expect(try read() == nil && pool.idleCount == 0)
        }

        /// What a read without waiting returns: nil if it would block, nothing at the end.
        func read() throws(StreamError) -> [UInt8]? {
            var buffer = [UInt8](repeating: 0, count: 4096)
            var span = buffer.mutableSpan
            var bytes = span.mutableBytes
            return switch try exchange.tryRead(into: &bytes) {
            case .moved(let count): Array(buffer[..<count])
            case .ended: []
            case .wouldBlock: nil
            }
        }

        func wait(_ observer: Observer, by poller: DescriptorPoller? = nil) {
            while let wake = exchange.waitPoint.watch(.reader, for: .readable, with: observer, by: poller) {
                #expect(wake == .ready)
            }
        }

        func end() {
            exchange.close()
            pool.drain()
            loop.shutdown()
        }
    }

    /// Longer than anything here takes; the reason of a failure is then a thread that hangs.
    private static var failureTime: Moment { .now + .seconds(50) }

    private static let kept = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let closed = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

    /// The rest of an exchange takes 176 bytes. Objects of more than 1032 bytes do not fit the cache of glibc's allocator, which costs
    /// each request 300 instructions.
    @Test func anExchangeFitsTheAllocatorsCache() {
        #expect(MemoryLayout<HTTPLoad>.size <= 1032 - 176)
    }

    /// The response to a request that was sent just now cannot have arrived: a task on the loop waits without a read.
    @Test func aTaskOnTheLoopWaitsAtOnce() async throws {
        let scene = try Scene(opens: false)
        let stream = ReadStream(transport: scene.exchange)
        let read = Task(executorPreference: scene.loop) {
            try stream.open()
            let reads = scene.wire.reads
            return (reads, try await stream.read(upTo: 10))
        }
        let limit = Self.failureTime
        while !scene.exchange.sides[.reader].call.isParked, .now < limit, !Task.isCancelled { await Task.yield() }
        let reads = scene.wire.reads
        scene.wire.arrive(Array(Self.kept.utf8))
        scene.wire.waitPoint.signal(.readable)
        let (readsBefore, body) = try await read.value
        #expect(reads == readsBefore && body == Array("ok".utf8))
        scene.end()
    }

    /// Another thread may end the load while one waits for its input.
    @Test func aThreadKeepsTheInputThatItWasLent() async throws {
        let scene = try Scene()
        let lent = try #require(scene.exchange.withLoad { load, _ in load.lendConnection() })
        let wait = OneShot<StreamError?>()
        Thread.detachNewThread { wait.provide(lent.input.wait(fills: lent.fills)) }
        scene.exchange.close()
        #expect(try await wait.value(until: Self.failureTime) == .closed)
        #expect(lent.input.wait(fills: lent.fills) == .closed)
        scene.end()
    }

    /// Closing a connection signals the waiters, and an observer may use the load at once.
    @Test(arguments: [closed, "no HTTP at all\r\n\r\n"])
    func aConnectionIsClosedWithoutTheLock(_ answer: String) async throws {
        let scene = try Scene()
        let observer = Observer { [exchange = scene.exchange] in
            _ = exchange.property(named: StreamProperty<HTTPResponse>.httpResponse.name)
        }
        scene.wait(observer)
        scene.wire.arrive(Array(answer.utf8))
        let isOver = OneShot<Bool>()
        Thread.detachNewThread {
            while let bytes = try? scene.read(), !bytes.isEmpty {}
            isOver.provide(true)
        }
        #expect(try await isOver.value(until: Self.failureTime))
        #expect(scene.wire.isClosed && observer.hasFired.value == true)
        scene.end()
    }

    /// An observer waits for a load, which another caller ends before the loop has seen the edge.
    @Test func aConnectionThatIsKeptHasNoWaiter() throws {
        let scene = try Scene()
        let observer = Observer()
        scene.wait(observer)
        scene.wire.arrive(Array(Self.kept.utf8))
        #expect(try scene.read() == Array("ok".utf8))
        #expect(try scene.read() == [])
        #expect(scene.pool.idleCount == 1 && observer.hasFired.value == true)
        // The slot is free for the next load on the connection.
        #expect(scene.wire.waitPoint.watch(.reader, for: .readable, with: Watcher()) != .busy)
        scene.end()
    }

    /// A thread takes the load's watcher at an edge, and is held up before it fires it. Meanwhile the load waits again, and registers
    /// anew. The late call belongs to the earlier registration: the new one ends with the load, before the connection is kept.
    @Test(arguments: [false, true]) func aLateCallOfAnEarlierRegistrationLeavesNoWatcher(waitsAgain: Bool) throws {
        let scene = try Scene()
        scene.wait(Observer())
        #expect(scene.wire.waitPoint.isRegistered(.reader, scene.exchange))
        scene.exchange.fire()
        if waitsAgain { scene.wait(Observer()) }
        scene.wire.arrive(Array(Self.kept.utf8))
        #expect(try scene.read() == Array("ok".utf8))
        #expect(try scene.read() == [])
        #expect(scene.pool.idleCount == 1 && !scene.wire.waitPoint.isRegistered(.reader, scene.exchange))
        #expect(scene.wire.waitPoint.watch(.reader, for: .readable, with: Watcher()) != .busy)
        scene.end()
    }

    /// The pool closes another connection as soon as it has the kept one. The observer has been withdrawn from that by then.
    @Test func aConnectionReturnsToItsPoolWithoutAWaiter() throws {
        let scene = try Scene(pool: HTTPConnectionPool(limits: .init(perOrigin: 1)))
        let wake = OneShot<Wake?>()
        let kept = scene.wire.waitPoint
        let other = Wire(loop: scene.loop) { wake.provide(kept.watch(.reader, for: .readable, with: Watcher())) }
        let pair = StreamPair(transport: other)
        try pair.open()
        let origin = try HTTPOrigin(loading: #require(URL(string: "http://example.org/")))
        let key = HTTPConnectionKey(origin, StreamProperties(), loop: scene.loop)
        scene.pool.put(HTTPConnection(pair: pair, key: key, limits: .default))
        scene.wait(Observer())
        scene.wire.arrive(Array(Self.kept.utf8))
        #expect(try scene.read() == Array("ok".utf8))
        #expect(other.isClosed && !scene.wire.isClosed && scene.pool.idleCount == 1)
        let found = try #require(wake.value)
        #expect(found != .busy)
        scene.end()
    }

    /// The response to a request that was sent just now cannot have arrived: a thread with a time limit waits without a read.
    @Test func aThreadWithATimeLimitWaitsAtOnce() async throws {
        let scene = try Scene(opens: false)
        let stream = ReadStream(transport: scene.exchange)
        try stream.set(.http(\.responseTimeout), to: .seconds(60))
        try stream.open()
        let reads = scene.wire.reads
        let body = OneShot<[UInt8]>()
        Thread.detachNewThread { body.provide((try? stream.read(upTo: 10)) ?? []) }
        let limit = Self.failureTime
        while !scene.wire.isAwaited, .now < limit, !Task.isCancelled { await Task.yield() }
        #expect(scene.wire.reads == reads)
        scene.wire.arrive(Array(Self.kept.utf8))
        scene.wire.waitPoint.signal(.readable)
        #expect(try await body.value(until: Self.failureTime) == Array("ok".utf8))
        scene.end()
    }

    /// A thread waits for the response, beside an observer and a caller that polls: it sleeps, and no other call reads.
    @Test func aThreadThatWaitsSleepsBesideAnObserver() async throws {
        let scene = try Scene()
        let observer = Observer()
        scene.wait(observer)
        let answer = OneShot<[UInt8]>()
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 100)
            var span = buffer.mutableSpan
            var bytes = span.mutableBytes
            let attempt = try? scene.exchange.read(into: &bytes)
            guard case .moved(let count)? = attempt else { return }
            answer.provide(Array(buffer[..<count]))
        }
        let limit = Self.failureTime
        while !scene.wire.isAwaited, .now < limit, !Task.isCancelled { await Task.yield() }
        try #require(scene.wire.isAwaited)
        let reads = scene.wire.reads
        let other = Observer()
        for _ in 0..<100 {
            #expect(try scene.exchange.peek() == .wouldBlock(.readable))
            _ = scene.exchange.waitPoint.watch(.reader, for: .readable, with: other)
        }
        #expect(scene.wire.reads == reads && scene.wire.isAwaited)
        scene.wire.arrive(Array(Self.kept.utf8))
        scene.wire.waitPoint.signal(.readable)
        #expect(try await answer.value(until: Self.failureTime) == Array("ok".utf8))
        scene.end()
    }

    /// The thread of a run loop receives the response itself: the event loop may be busy.
    @Test func thePollerOfAnObserverWatchesTheConnection() async throws {
        let poller = try #require(DescriptorPoller())
        let (near, far) = try Socket.pair()
        let scene = try Scene(on: near)
        let (isHeld, isReleased) = (OneShot<Bool>(), OneShot<Bool>())
        scene.loop.execute {
            isHeld.provide(true)
            _ = try? isReleased.value(until: Self.failureTime)
        }
        #expect(try await isHeld.value(until: Self.failureTime))
        let observer = Observer()
        scene.wait(observer, by: poller)
        poller.poll()
        #expect(observer.hasFired.value == nil)
        try await far.sendAll(Array(Self.kept.utf8))
        poller.poll()
        #expect(observer.hasFired.value == true)
        #expect(try scene.read() == Array("ok".utf8))
        isReleased.provide(true)
        scene.end()
    }

    // MARK: The budget of a turn

    /// Coded data that decodes to nothing, followed by a little that decodes to "done".
    private static func emptyData(_ coding: String) -> [UInt8] {
        let (empty, done): ([UInt8], [UInt8]) =
            coding == "gzip"
            ? (
                [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                [
                    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 0x4b, 0xc9, 0xcf, 0x4b, 5, 0, 0xab, 0xe0, 0x2d, 0x10, 4, 0,
                    0, 0,
                ]
            ) : ([0, 0, 0, 0xff, 0xff], [0x4b, 0xc9, 0xcf, 0x4b, 5, 0])
        return Array(repeatElement(empty, count: 4 * HTTP1Exchange.bytesPerTurn / empty.count).joined()) + done
    }

    /// All bytes are there, and yet a step ends; a waiter is signalled in the loop's next turn, without an edge.
    @Test(arguments: ["gzip", "deflate"])
    func dataThatDecodesToNothingEndsTheTurn(_ coding: String) async throws {
        let scene = try Scene(decodes: true)
        let body = Self.emptyData(coding)
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n"
        scene.wire.arrive(Array(head.utf8) + body)
        var turns = 0
        var text: [UInt8]?
        while text == nil {
            text = try scene.read()
            if text != nil { break }
            turns += 1
            let observer = Observer()
            scene.wait(observer)
            #expect(try await observer.hasFired.value(until: Self.failureTime))
        }
        #expect(text == Array("done".utf8) && turns >= body.count / HTTP1Exchange.bytesPerTurn - 1)
        scene.end()
    }

    @Test("SK-039: a client that is scheduled after the load has failed receives the error")
    func aLateClientReceivesTheError() async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let port = try #require(listener.localAddress?.port)
        listener.invalidate()
        let stream = ReadStream(
            request: try HTTPRequest(method: .get, url: #require(URL(string: "http://127.0.0.1:\(port)/"))))
        // The refusal may be known at once, or later.
        try? stream.open()
        await #expect(throws: StreamError(posix: ECONNREFUSED)) { try await stream.opened() }
        let events = Mailbox<StreamEvent>(limit: 4)
        stream.setClient(.all) { _, event in events.put(event) }
        stream.schedule(on: .loop(.shared))
        #expect(try await events.next(until: .now + .seconds(30)) == .errorOccurred)
        stream.close()
    }
}
