@_spi(Packages) import EventLoops
import FoundationEssentials
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// Loads that begin while a connection is being opened.
@Suite(.timeLimit(.minutes(5))) struct HTTPDialTests {
    private func stream(_ pool: HTTPConnectionPool, _ change: (inout HTTPOptions) -> Void = { _ in }) throws
        -> ReadStream
    {
        var options = HTTPOptions.userAgent
        options.versions = .http2
        options.pool = pool
        change(&options)
        let url = try #require(URL(string: "http://www.example.org/"))
        return try ReadStream(request: HTTPRequest(method: .get, url: url), options: options)
    }

    /// A connection that does not open, and fails when the test says so.
    private final class SlowTransport: StreamTransport {
        let waitPoint: WaitPoint
        private let failure: Locked<StreamError?> = Locked(nil)

        init(_ loop: EventLoop) { waitPoint = WaitPoint(loop: loop) }

        func fail(_ error: StreamError) {
            failure.withLock { $0 = error }
            waitPoint.signal([.readable, .writable])
        }

        func tryOpen() throws(StreamError) -> OpenAttempt {
            if let failure = failure.withLock({ $0 }) { throw failure }
            return .wouldBlock([.readable, .writable])
        }

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .wouldBlock(.readable) }
        func peek() throws(StreamError) -> Attempt { .wouldBlock(.readable) }
        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .wouldBlock(.writable) }
        func writability() throws(StreamError) -> Attempt { .wouldBlock(.writable) }
        func close() { waitPoint.close() }
    }

    /// A watcher that stayed at the connection would make its users look at it again and again.
    @Test("a dial that has ended watches its connection no more") func watching() async throws {
        let loop = EventLoop(name: "dial")
        defer { loop.shutdown() }
        let pair = StreamPair(transport: SlowTransport(loop))
        try pair.open()
        defer { pair.close() }
        let dial = HTTPDial(pair, makeLink: { _ in nil }, onEnd: { _ in })
        let point = pair.output.waitPoint
        func turn() async { await withCheckedContinuation { next in loop.execute { next.resume() } } }
        #expect(dial.outcome(orSignal: WaitPoint(loop: loop)) == nil)
        await turn()
        #expect(point.isRegistered(.writer, dial))
        dial.settle()
        #expect(!point.isRegistered(.writer, dial))
        // An edge that another thread has taken before may arrive late, while the first load completes the opening.
        dial.fire()
        await turn()
        #expect(!point.isRegistered(.writer, dial))
    }

    @Test(
        "a load that waits for another one's connection has its own time limit, and goes on alone when that one fails")
    func waiting() async throws {
        let made = MadeTransports()
        let pool = HTTPConnectionPool { _, loop in StreamPair(transport: made.add(SlowTransport(loop))) }
        let first = try stream(pool)
        try first.open()
        let opening = Task { () async -> StreamError? in
            do throws(StreamError) { try await first.opened() } catch { return error }
            return nil
        }
        while made.all.isEmpty, !Task.isCancelled { await Task.yield() }
        let hasty = try stream(pool) { $0.totalTimeout = .milliseconds(1) }
        try hasty.open()
        await #expect(throws: StreamError.timedOut) { try await hasty.opened() }
        #expect(made.all.count == 1)
        // Connecting has a limit of its own, after which the load tries alone.
        let impatient = try stream(pool) { $0.connection[.openTimeout] = .milliseconds(1) }
        try impatient.open()
        await #expect(throws: StreamError.timedOut) { try await impatient.opened() }
        #expect(made.all.count == 2)

        let second = try stream(pool)
        try second.open()
        let waiting = Task { () async -> StreamError? in
            do throws(StreamError) { try await second.opened() } catch { return error }
            return nil
        }
        while second.status != .opening, !Task.isCancelled { await Task.yield() }
        made.all[0].fail(StreamError(posix: 111))
        #expect(await opening.value?.isPOSIX(111) == true)
        while made.all.count < 3, !Task.isCancelled { await Task.yield() }
        made.all[2].fail(StreamError(posix: 113))
        #expect(await waiting.value?.isPOSIX(113) == true)
    }

    @Test("a load that waits for another one's connection opens its own if that one is given up")
    func abandoned() async throws {
        let made = MadeTransports()
        let pool = HTTPConnectionPool { _, loop in StreamPair(transport: made.add(SlowTransport(loop))) }
        let first = try stream(pool)
        try first.open()
        #expect(made.all.count == 1)
        let second = try stream(pool)
        try second.open()
        // It waits.
        #expect(made.all.count == 1 && second.status == .opening)
        let waiting = Task { () async -> StreamError? in
            do throws(StreamError) { try await second.opened() } catch { return error }
            return nil
        }
        first.close()
        while made.all.count < 2, !Task.isCancelled { await Task.yield() }
        made.all[1].fail(StreamError(posix: 113))
        #expect(await waiting.value?.isPOSIX(113) == true)
        // The next load waits for neither.
        let third = try stream(pool)
        try third.open()
        #expect(made.all.count == 3)
        third.close()
    }

    private final class MadeTransports: Sendable {
        private let transports = Locked<[SlowTransport]>([])

        var all: [SlowTransport] { transports.withLock { $0 } }

        func add(_ transport: SlowTransport) -> SlowTransport {
            transports.withLock { $0.append(transport) }
            return transport
        }
    }
}
