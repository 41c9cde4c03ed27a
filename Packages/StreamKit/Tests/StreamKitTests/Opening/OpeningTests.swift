import Foundation
import Glibc
import HostResolver
import HostResolverTesting
import StreamKitTesting
import Synchronization
import Testing

@testable import EventLoops
@testable import StreamKit

/// A stream is opened by a blocking thread or by the loop, may pass from one to the other, and can be closed at any
/// time.
@Suite(.timeLimit(.minutes(5))) struct OpeningTests {
    /// A blocking call that waits for the stream to open.
    enum Call: CaseIterable {
        case openedInput
        case openedOutput
        case read
        case write

        @available(*, noasync)
        func make(on pair: StreamPair) throws {
            switch self {
            case .openedInput: try pair.input.opened()
            case .openedOutput: try pair.output.opened()
            case .read: _ = try pair.input.read(upTo: 1)
            case .write: try pair.output.writeAll([1])
            }
        }
    }

    private let resolver = ScriptedResolver()

    private func properties(_ change: (inout StreamProperties) -> Void = { _ in }) -> StreamProperties {
        var properties = StreamProperties()
        properties[.resolver] = resolver
        change(&properties)
        return properties
    }

    private func error(of call: Call, on pair: StreamPair) async throws -> StreamError {
        try await StreamKitTests.error { try await onThread { try call.make(on: pair) } }
    }

    /// The end of the first step of opening, which another thread takes.
    enum Beginning: CaseIterable {
        case opens, continues, fails, isClosed
    }

    /// One thread begins to open the stream, which may take long. Calls that wait for the stream meanwhile sleep.
    @Test(arguments: Beginning.allCases, [false, true])
    func callsSleepWhileAnotherThreadBeginsToOpen(_ ending: Beginning, isBlocking: Bool) async throws {
        let (hasBegun, mayGoOn) = (OneShot<Bool>(), OneShot<Bool>())
        let limit = Moment.now + .seconds(50)
        let source = ScriptedSource()
        source.makeEndless()
        let connection = Connection(.transport, point: WaitPoint()) { (_) throws(StreamError) in
            hasBegun.provide(true)
            _ = try? mayGoOn.value(until: limit)
            switch ending {
            case .opens, .isClosed: return .opened(source)
            case .continues: return .continues(TransportOpening(of: source, half: .reader, securedBy: nil))
            case .fails: throw StreamError(posix: ECONNREFUSED)
            }
        }
        let pair = StreamPair(connection)
        Thread.detachNewThread { try? pair.input.open() }
        #expect(try await hasBegun.value(until: limit))
        try pair.output.open()
        let opened = Task { () async -> StreamError? in
            do {
                if isBlocking {
                    try await onThread { try Call.openedInput.make(on: pair) }
                } else {
                    try await pair.input.opened()
                }
                return nil
            } catch {
                return error as? StreamError
            }
        }
        let finished = Task { () async -> StreamError? in
            do throws(StreamError) {
                try await pair.output.finish()
                return nil
            } catch {
                return error
            }
        }
        func isAsleep() -> Bool {
            guard let point = connection.withDetails({ $0.openingPoint?.point }) else { return false }
            return point.sides.reader.call.isParked && point.sides.writer.call.isParked
        }
        while !isAsleep(), .now < limit, !Task.isCancelled { await Task.yield() }
        #expect(isAsleep())
        if ending == .isClosed { pair.close() }
        if ending != .isClosed { mayGoOn.provide(true) }
        let errors = [await opened.value, await finished.value]
        mayGoOn.provide(true)
        switch ending {
        case .opens, .continues: #expect(errors == [nil, nil])
        case .fails: #expect(errors.allSatisfy { $0?.isPOSIX(ECONNREFUSED) == true })
        case .isClosed: #expect(errors == [StreamError.closed, StreamError.closed])
        }
        pair.close()
    }

    @Test("a scheduled client lets the loop open the stream at once; without one, a thread has the time to take over")
    func scheduledClients() throws {
        let queue = DispatchQueue(label: "client")
        // Its thread cannot take the opening over before the test has looked, however busy the machine is.
        let loop = StuckLoop()
        defer { loop.free() }
        resolver.script("pending.test", [])  // no answer: the opening lasts until the end of the test
        for order in 0..<3 {
            let pair = StreamPair(host: "pending.test", port: 80, properties: properties(), loop: loop.loop)
            if order > 0 { pair.input.setClient(.all) { _, _ in } }
            if order == 1 { pair.input.schedule(on: .queue(queue)) }
            try pair.input.open()
            let opening = try #require(pair.input.connection.opening)
            #expect(opening.isLoopRequested.load(ordering: .relaxed) == (order == 1))
            pair.input.schedule(on: .queue(queue))
            #expect(opening.isLoopRequested.load(ordering: .relaxed) == (order > 0))
            pair.input.close()
            pair.output.close()
        }
    }

    // MARK: A thread

    @Test("a blocking thread opens the stream itself, while the loop's thread is stuck")
    func withoutTheLoop() async throws {
        let loop = StuckLoop()
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let port = try #require(listener.address.port)
        let refusing: SocketAddress = .ip(IPAddress("127.0.0.2")!, port: port)
        let unix = try Listener(.unix(UnixSocketAddress(abstractName: "sk-\(UUID().uuidString)")))
        let pairs = [
            StreamPair(host: "127.0.0.1", port: port, loop: loop.loop),
            StreamPair(addresses: [refusing, listener.address], name: nil, loop: loop.loop),
            StreamPair(address: unix.address, loop: loop.loop),
            StreamPair(transport: TestTransport.over(StreamPair(address: listener.address, loop: loop.loop))),
            StreamPair(
                transport: TestTransport.fragmenting(
                    TestTransport.over(
                        StreamPair(addresses: [refusing, listener.address], name: nil, loop: loop.loop)),
                    pieceSize: 1)),
        ]
        for pair in pairs {
            try pair.open()
            try await onThread { try pair.output.writeAll([1, 2, 3]) }
            #expect(pair.input.status == .open)
            pair.close()
        }
        loop.free()
    }

    @Test("the report is the same for thread and loop", arguments: [true, false])
    func report(_ isBlocking: Bool) async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let port = try #require(listener.address.port)
        resolver.script("www.example.org", addresses: ["127.0.0.2", "127.0.0.1"])
        let pair = StreamPair(host: "www.example.org", port: port, properties: properties())
        try pair.open()
        if isBlocking { try await onThread { try pair.input.opened() } } else { try await pair.input.opened() }
        let steps = pair.report.steps
        #expect(
            steps.map(\.kind) == [
                .lookup("www.example.org"), .connect(.ip(IPAddress("127.0.0.2")!, port: port)),
                .connect(listener.address),
            ])
        #expect(
            steps.map(\.outcome) == [
                .succeeded("2 addresses"), .failed(StreamError(posix: ECONNREFUSED)), .succeeded("connected"),
            ])
        #expect(steps.allSatisfy { $0.time != nil })
    }

    @Test("an address that does not answer is overtaken while a thread blocks")
    func blackHoleThenGood() async throws {
        let hole = try await BlackHole()
        let listener = try Listener(.ip(IPAddress("127.0.0.2")!, port: try #require(hole.address.port)))
        let pair = StreamPair(
            addresses: [hole.address, listener.address], name: nil,
            properties: properties { $0[.attemptDelay] = .milliseconds(1) })
        try pair.open()
        try await onThread { try pair.output.writeAll([1]) }
        #expect(pair[.remoteAddress] == listener.address)
        #expect(pair.report.steps.map(\.outcome) == [.abandoned, .succeeded("connected")])
    }

    @Test("the open limit holds while a thread blocks", arguments: [0, 1, 2])
    func limit(_ addresses: Int) async throws {
        let hole = try await BlackHole()
        resolver.script("slow.example.org", [])
        let properties = properties { $0[.openTimeout] = .milliseconds(1) }
        let pair =
            addresses == 0
            ? StreamPair(host: "slow.example.org", port: 1, properties: properties)
            : StreamPair(
                addresses: Array(repeating: hole.address, count: addresses), name: nil, properties: properties)
        try pair.open()
        #expect(try await error(of: .read, on: pair) == .timedOut)
        #expect(pair.input.status == .error && pair.output.status == .error)
        #expect(pair.report.steps.allSatisfy { $0.time != nil })
    }

    @Test("closing from another thread ends a blocked call at once", arguments: Call.allCases)
    func closeFromAnotherThread(_ call: Call) async throws {
        let hole = try await BlackHole()
        resolver.script("slow.example.org", [.batch(["127.0.0.1"])])
        let port = try #require(hole.address.port)
        for pair in [
            StreamPair(address: hole.address), StreamPair(addresses: [hole.address, hole.address], name: nil),
            StreamPair(host: "slow.example.org", port: port, properties: properties()),
        ] {
            try pair.open()
            async let error = error(of: call, on: pair)
            while pair.report.steps.isEmpty, !Task.isCancelled { await Task.yield() }
            pair.close()
            #expect(try await error == .closed)
            // A thread that is within a step ends it when its call returns.
            while pair.report.steps.contains(where: { $0.time == nil }), !Task.isCancelled { await Task.yield() }
            #expect(pair.report.steps.map(\.outcome).allSatisfy { $0 == .abandoned }, "\(pair.report)")
        }
    }

    @Test("two threads that block on the two halves both return", arguments: 0..<20)
    func twoThreads(_ round: Int) async throws {
        let latch = ScriptedOpeningTransport()
        let pair = StreamPair(transport: latch)
        try pair.open()
        async let reading: Void = onThread { try pair.input.opened() }
        async let writing: Void = onThread { try pair.output.opened() }
        while latch.tries < 1 + round % 2, !Task.isCancelled { await Task.yield() }
        latch.open()
        try await reading
        try await writing
        #expect(pair.input.status == .open && pair.output.status == .open)
    }

    @Test("a thread blocks while a task waits on the other half", arguments: 0..<20)
    func threadAndTask(_ round: Int) async throws {
        let latch = ScriptedOpeningTransport()
        let pair = StreamPair(transport: latch)
        try pair.open()
        async let reading: Void = onThread { try pair.input.opened() }
        async let writing: Void = pair.output.writeAll([1])
        while latch.tries < 1 + round % 2, !Task.isCancelled { await Task.yield() }
        latch.open()
        try await reading
        try await writing
    }

    // MARK: From one to the other

    @Test("when the deadline of the opening thread passes, the loop continues")
    func deadlinePasses() async throws {
        let latch = ScriptedOpeningTransport()
        let pair = StreamPair(transport: latch)
        try pair.input.set(.readTimeout, to: .milliseconds(1))
        try pair.open()
        #expect(try await error(of: .read, on: pair) == .timedOut)
        #expect(pair.input.status == .opening)
        latch.open()
        while pair.input.status == .opening, !Task.isCancelled { await Task.yield() }
        #expect(pair.input.status == .open)
    }

    @Test("when the half of the opening thread is closed, the other half still opens", arguments: [true, false])
    func halfIsClosed(_ waits: Bool) async throws {
        let latch = ScriptedOpeningTransport()
        let pair = StreamPair(transport: latch)
        try pair.open()
        async let error = error(of: .read, on: pair)
        while latch.tries < 2, !Task.isCancelled { await Task.yield() }
        let writing = waits ? Task { try await pair.output.opened() } : nil
        pair.input.close()
        #expect(try await error == .closed)
        latch.open()
        try await writing?.value
        while pair.output.status == .opening, !Task.isCancelled { await Task.yield() }
        #expect(pair.output.status == .open)
    }

    @Test("a thread takes over an opening that the loop has begun")
    func takesOver() async throws {
        let loop = StuckLoop(isFree: true)
        let latch = ScriptedOpeningTransport(loop: loop.loop)
        let pair = StreamPair(transport: latch)
        try pair.open()
        let waiting = Task { try await pair.output.opened() }
        while latch.tries < 2, !Task.isCancelled { await Task.yield() }
        loop.hold()
        async let opened: Void = onThread { try pair.input.opened() }
        latch.open()
        try await opened
        loop.free()
        try await waiting.value
    }

    @Test("opening proceeds while nothing waits")
    func withoutWaiters() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let pair = StreamPair(address: listener.address)
        try pair.open()
        while pair.input.status == .opening, !Task.isCancelled { await Task.yield() }
        #expect(pair.input.status == .open)
    }

    @Test("a layer notices that the streams below have opened", arguments: [true, false])
    func layers(_ isOnLoop: Bool) async throws {
        let listener = try Listener(.unix(UnixSocketAddress(abstractName: "sk-\(UUID().uuidString)")), backlog: 128)
        for _ in 0..<100 {
            let pair = StreamPair(transport: TestTransport.over(StreamPair(address: listener.address)))
            let open = { @Sendable () async throws in
                try pair.open()
                try await pair.input.opened()
                try await pair.output.writeAll([1])
            }
            if isOnLoop { try await withNetworkExecutor { try await open() } } else { try await open() }
            pair.close()
        }
    }
}

/// A transport that opens when the test says so, and accepts everything written.
final class ScriptedOpeningTransport: StreamTransport {
    private struct State {
        var isOpen = false
        var tries = 0
    }

    let waitPoint: WaitPoint
    private let state = Locked(State())

    init(loop: EventLoop = .shared) {
        waitPoint = WaitPoint(loop: loop)
    }

    /// The number of attempts to open.
    var tries: Int { state.withLock { $0.tries } }

    func open() {
        state.withLock { $0.isOpen = true }
        waitPoint.signal([.readable, .writable])
    }

    func tryOpen() throws(StreamError) -> OpenAttempt {
        state.withLock { state in
            state.tries += 1
            return state.isOpen ? .opened : .wouldBlock(.readable)
        }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .ended }
    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .moved(bytes.byteCount) }
    func peek() throws(StreamError) -> Attempt { .ended }
    func writability() throws(StreamError) -> Attempt { .moved(1) }
}

/// A private loop whose thread can be blocked: nothing runs on it until it is released.
final class StuckLoop: Sendable {
    let loop = EventLoop(name: "stuck")
    private let key = DispatchSemaphore(value: 0)

    init(isFree: Bool = false) {
        if !isFree { hold() }
    }

    deinit { loop.shutdown() }

    func hold() {
        loop.execute { [key] in key.wait() }
    }

    func free() {
        key.signal()
    }
}
