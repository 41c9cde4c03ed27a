import EventLoops
import FoundationEssentials
import HTTPStreamTesting
import Testing

/// The events of a URL over several connections, with a clock that the test advances.
@Suite(.timeLimit(.minutes(5))) struct EventSourceTests {
    private let server = TestServer()
    private let clock = ManualClock()
    private let url = URL(string: "https://www.example.org/events")!

    private func answer(_ text: String, fields: HTTPFields = ["Content-Type": "text/event-stream"]) throws {
        try server.enqueue(.ok, fields: fields, text: text)
    }

    private func source(_ change: (inout EventSource.Options) -> Void = { _ in }) -> EventSource {
        var options = EventSource.Options()
        change(&options)
        return HTTPSession(server.configuration(clock: clock)).events(from: url, options)
    }

    @Test func theEventsOfSeveralConnections() async throws {
        try answer("id: 1\ndata: one\n\n")
        try answer("retry: 250\ndata: two\n\nid: 3\ndata: three\n\ndata: incomplete")
        var lost = try HTTPResponse(status: .ok)
        lost.fields = ["Content-Type": "text/event-stream"]
        lost.body = Array("data: lost\n\n".utf8)
        server.enqueue(.cutOff(lost, after: 0))
        try answer("data: four\n\n")
        try server.enqueue(.noContent)
        let pauses = Locked<[Duration]>([])
        let events = Task {
            var events: [String] = []
            let source = source {
                $0.onDisconnect = { _, pause in pauses.withLock { $0.append(pause) } }
            }
            for try await event in source { events.append(event.data) }
            return events
        }
        for _ in 0..<4 {
            await clock.waitForPause()
            clock.advance(by: try #require(pauses.withLock { $0.last }))
        }
        #expect(try await events.value == ["one", "two", "three", "four"])
        let found = pauses.withLock { $0 }
        try #require(found.count >= 4)
        #expect([found[0], found[1], found[3]] == [.seconds(3), .milliseconds(250), .milliseconds(250)])
        #expect((Duration.milliseconds(500)...(.seconds(1))).contains(found[2]))
        #expect(server.requests.map { $0.fields["Last-Event-ID"] } == [nil, "1", "3", "3", "3"])
        let accepted = server.requests.map { $0.fields[.accept] }
        #expect(accepted == Array(repeating: "text/event-stream", count: 5))
    }

    /// The events of one read are as many as a server likes. Other work of the loop does not wait for all of them.
    @Test func manyEventsOfOneReadShareTheLoop() async throws {
        let loop = EventLoop(name: "events")
        defer { loop.shutdown() }
        try answer("data: one\n\ndata: two\n\n")
        let session = HTTPSession(server.configuration(clock: clock), loop: loop)
        let hasRun = try await withNetworkExecutor(loop) {
            var events = session.events(from: url).makeAsyncIterator()
            _ = try await events.next()
            let other = OneShot<Void>()
            Task(executorPreference: loop) { other.provide(()) }
            while !loop.isShareSpent {}  // ends with the budget
            _ = try await events.next()
            return other.value != nil
        }
        #expect(hasRun)
    }

    @Test func aResponseWithoutEventsIsAnError() async throws {
        try server.enqueue(.internalServerError, fields: ["Content-Type": "text/event-stream"])
        let source = source()
        var iterator = source.makeAsyncIterator()
        await #expect(throws: StreamError(posix: 71)) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
        #expect(server.requests.count == 1)
    }

    @Test func aCancelledTaskEndsThePause() async throws {
        try answer("data: one\n\n")
        let task = Task { for try await _ in source() {} }
        await clock.waitForPause()
        task.cancel()
        await #expect(throws: StreamError.cancelled) { try await task.value }
    }

    /// A stream of one event, which continues until the client closes its connection.
    private func endlessAnswer(_ closed: OneShot<Void>) -> TestServer.Answer {
        .handler { exchange in
            var response = try HTTPResponse(status: .ok)
            response.fields = ["Content-Type": "text/event-stream"]
            try await exchange.begin(response)
            try await exchange.write(Array("data: one\n\n".utf8))
            while (try? await exchange.write(Array(":\n".utf8))) != nil, !Task.isCancelled { await Task.yield() }
            closed.provide(())
        }
    }

    @Test func aCancelledTaskEndsTheWaitForAnEvent() async throws {
        let (begun, closed) = (OneShot<Void>(), OneShot<Void>())
        server.enqueue(endlessAnswer(closed))
        let task = Task { for try await _ in source() { begun.provide(()) } }
        try await begun.value()
        task.cancel()
        await #expect(throws: StreamError.cancelled) { try await task.value }
        try await closed.value()
    }

    @Test func leavingTheLoopClosesTheConnection() async throws {
        let closed = OneShot<Void>()
        server.enqueue(endlessAnswer(closed))
        for try await event in source() {
            #expect(event.data == "one")
            break
        }
        try await closed.value()
    }

    /// Each connection sends the request as it is; the total time limit of the session does not apply.
    @Test func requestsOfTheirOwn() async throws {
        try answer("data: one\n\n")
        try server.enqueue(.noContent)
        var configuration = server.configuration(clock: clock)
        configuration.options.totalTimeout = .seconds(1)
        var request = try HTTPRequest(method: .post, url: url)
        try request.fields.set("Bearer x", for: .authorization)
        request.body = Array("{}".utf8)
        let events = Task { [configuration, request] in
            var count = 0
            for try await _ in HTTPSession(configuration).events(for: request) { count += 1 }
            return count
        }
        await clock.waitForPause()
        clock.advance(by: .seconds(3))
        #expect(try await events.value == 1)
        #expect(server.requests.map(\.message.body) == [request.body, request.body])
        #expect(server.requests.map { $0.fields[.authorization] } == ["Bearer x", "Bearer x"])
    }

    @Test func anIdentifierThatNoFieldCanCarryIsIgnored() async throws {
        try answer("id: a\u{7f}\ndata: one\n\n")
        try server.enqueue(.noContent)
        let task = Task { for try await _ in source() {} }
        await clock.waitForPause()
        clock.advance(by: .seconds(3))
        try await task.value
        #expect(server.requests.count == 2 && !server.requests[1].fields.contains("Last-Event-ID"))
    }
}
