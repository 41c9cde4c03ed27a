import EventLoops
import FoundationEssentials
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// Server-sent events as a client receives them (WHATWG HTML §9.2).
@Suite(.timeLimit(.minutes(5))) struct ServerSentEventTests {
    /// A stream and its events.
    struct Sample: Sendable, CustomTestStringConvertible {
        let text: String
        let events: [ServerSentEvent]
        var testDescription: String { text.debugDescription }

        init(_ text: String, _ events: ServerSentEvent...) {
            self.text = text
            self.events = events
        }
    }

    /// The events of one read are as many as a server likes. Other work of the loop does not wait for all of them.
    @Test func manyEventsOfOneReadShareTheLoop() async throws {
        let loop = EventLoop(name: "events")
        defer { loop.shutdown() }
        let event = Array("data\n\n".utf8)
        let all = ReadStream.chunkSize / event.count
        let count = try await withNetworkExecutor(loop) { () async throws(StreamError) in
            let stream = ReadStream(bytes: Array(repeatElement(event, count: all).joined()), loop: loop)
            try stream.open()
            defer { stream.close() }
            var events = stream.serverSentEvents().makeAsyncIterator()
            _ = try await events.next()
            let other = OneShot<Void>()
            Task(executorPreference: loop) { other.provide(()) }
            var count = 1
            while other.value == nil, try await events.next() != nil { count += 1 }
            return count
        }
        #expect(count < all)
    }

    static let samples = [
        Sample("data: a\n\n", ServerSentEvent("a")),
        Sample("data: a\r\n\r\n", ServerSentEvent("a")),
        Sample("data: a\r\r", ServerSentEvent("a")),
        Sample("data: a\rdata: b\r\ndata: c\n\r\n", ServerSentEvent("a\nb\nc")),
        // The examples of §9.2.6.
        Sample("data: YHOO\ndata: +2\ndata: 10\n\n", ServerSentEvent("YHOO\n+2\n10")),
        Sample(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
            ServerSentEvent("first event", id: "1"), ServerSentEvent("second event")),
        Sample("data\n\ndata\ndata\n\ndata:", ServerSentEvent(""), ServerSentEvent("\n")),
        Sample("data:test\n\ndata: test\n\n", ServerSentEvent("test"), ServerSentEvent("test")),
        // A byte order mark is allowed once.
        Sample("\u{feff}data: a\n\n", ServerSentEvent("a")),
        Sample("\u{feff}\ndata: a\n\n", ServerSentEvent("a")),
        Sample("\u{feff}\u{feff}data: a\n\ndata: b\n\n", ServerSentEvent("b")),
        // Types.
        Sample("event: tick\ndata: a\n\ndata: b\n\n", ServerSentEvent("a", event: "tick"), ServerSentEvent("b")),
        Sample("event: tick\n\ndata: a\n\n", ServerSentEvent("a")),
        Sample("event: tick\nevent:\ndata: a\n\n", ServerSentEvent("a")),
        // Identifiers.
        Sample("id: 7\ndata: a\n\ndata: b\n\n", ServerSentEvent("a", id: "7"), ServerSentEvent("b", id: "7")),
        Sample("id: 7\n\ndata: a\n\n", ServerSentEvent("a", id: "7")),
        Sample("id: 7\ndata: a\n\nid: 8\0\ndata: b\n\n", ServerSentEvent("a", id: "7"), ServerSentEvent("b", id: "7")),
        // Times.
        Sample(
            "retry: 2500\ndata: a\n\ndata: b\n\n", ServerSentEvent("a", retry: .milliseconds(2500)),
            ServerSentEvent("b")),
        Sample("retry: 10\n\ndata: a\n\n", ServerSentEvent("a", retry: .milliseconds(10))),
        Sample("retry: 1.5\nretry: -1\nretry:\nretry: ١\ndata: a\n\n", ServerSentEvent("a")),
        Sample("retry: 99999999999999999999\ndata: a\n\n", ServerSentEvent("a", retry: .milliseconds(Int64.max))),
        // Other lines.
        Sample(":\n: data: a\ndatax: b\nDATA: c\n data: d\nx\ndata: e:f\n\n", ServerSentEvent("e:f")),
        Sample("\n\n\n"), Sample(""), Sample("data: a\n"), Sample("data: a"), Sample("event: x\nid: 1\n\n"),
        Sample("data: é\u{301}\u{1f600}\n\n", ServerSentEvent("é\u{301}\u{1f600}")),
    ]

    /// The events of a stream that arrives in these pieces.
    private func events(_ pieces: [[UInt8]], limit: Int = 1 << 20) throws(StreamError) -> [ServerSentEvent] {
        var parser = ServerSentEventParser(maximumEventLength: limit)
        var found: [ServerSentEvent] = []
        for piece in pieces {
            parser.append(piece)
            while let event = try parser.next() { found.append(event) }
        }
        return found
    }

    @Test("whole, cut at each place, and byte by byte", arguments: samples)
    func parses(_ sample: Sample) throws {
        let bytes = Array(sample.text.utf8)
        #expect(try events([bytes]) == sample.events)
        #expect(try events(bytes.map { [$0] }) == sample.events)
        for place in bytes.indices {
            #expect(try events([Array(bytes[..<place]), Array(bytes[place...])]) == sample.events)
        }
    }

    @Test func anEventIsReturnedBeforeTheLineFeedThatMayFollow() throws {
        var parser = ServerSentEventParser()
        parser.append(Array("data: a\r\n\r".utf8))
        #expect(try parser.next() == ServerSentEvent("a"))
        parser.append(Array("\ndata: b\n\n".utf8))
        #expect(try parser.next() == ServerSentEvent("b"))
        #expect(try parser.next() == nil)
    }

    @Test func theStateForReconnecting() throws {
        var parser = ServerSentEventParser(lastEventID: "6")
        parser.append(Array("retry: 100\n\ndata: a\n\nid: 7\n".utf8))
        #expect(try parser.next() == ServerSentEvent("a", id: "6", retry: .milliseconds(100)))
        // An identifier counts once its event is complete.
        #expect(try parser.next() == nil && parser.lastEventID == "6")
        #expect(parser.reconnectionTime == .milliseconds(100))
        parser.append(Array("\n".utf8))
        #expect(try parser.next() == nil && parser.lastEventID == "7")
    }

    @Test("an event beyond the limit is an error that lasts", arguments: ["data: ", ":", "x"])
    func limit(_ beginning: String) throws {
        let fits = beginning + String(repeating: "a", count: 30 - beginning.utf8.count)
        #expect(throws: Never.self) { try events([Array("\(fits)\n\n\(fits)\n\n".utf8)], limit: 30) }
        for pieces in [[Array((fits + "aa").utf8)], Array((fits + "aa").utf8).map { [$0] }] {
            #expect(throws: StreamError(posix: 90)) { try events(pieces, limit: 29) }
        }
        let lines = String(repeating: "data: 12\n", count: 10)
        #expect(throws: StreamError(posix: 90)) { try events([Array(lines.utf8)], limit: 30) }
        var parser = ServerSentEventParser(maximumEventLength: 4)
        parser.append(Array("data: a\n\n".utf8))
        for _ in 0..<2 {
            #expect(throws: StreamError(posix: 90)) { try parser.next() }
            #expect(parser.keptCount == 0)
            parser.append(Array("data: b\n\n".utf8))
        }
        #expect(parser.keptCount == 0)
    }

    @Test func whatAServerSendsIsWhatAClientReceives() throws {
        let sent = [
            ServerSentEvent("a\n\n b", event: "tick", id: "7", retry: .milliseconds(20)), ServerSentEvent("", id: "8"),
            try ServerSentEvent(json: ["a": 1], id: "9"),
        ]
        #expect(try events([sent.flatMap { try $0.serialized() }]) == sent)
        #expect(try sent[2].decode([String: Int].self) == ["a": 1])
    }

    // MARK: Streams

    /// The events of a response of a scripted server, and the error at their end.
    private func load(_ response: String) async throws -> ([ServerSentEvent], StreamError?) {
        let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        let running = Task {
            try await listener.run { client in
                _ = try? await client.input.read(upTo: 8192)
                for byte in response.utf8 { try? await client.output.writeAll([byte]) }
            }
        }
        let url = try #require(URL(string: "http://127.0.0.1:\(listener.port ?? 0)/events"))
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        let stream = try await HTTPSession(configuration).open(try HTTPRequest(method: .get, url: url))
        var events: [ServerSentEvent] = []
        var failure: StreamError?
        do throws(StreamError) {
            for try await event in stream.serverSentEvents(limit: 100) { events.append(event) }
        } catch {
            failure = error
        }
        stream.close()
        listener.stop()
        try await running.value
        return (events, failure)
    }

    @Test func theEventsOfAResponse() async throws {
        let (events, failure) = try await load(
            "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream ; charset=utf-8\r\n\r\n"
                + "id: 1\ndata: one\r\n\r\ndata: two\n\ndata: incomplete\n")
        #expect(events == [ServerSentEvent("one", id: "1"), ServerSentEvent("two", id: "1")] && failure == nil)
    }

    @Test(
        "a response without events is an error, except 204",
        arguments: [
            ("200 OK\r\nContent-Type: text/html", true), ("200 OK", true),
            ("500 No\r\nContent-Type: text/event-stream", true), ("204 No Content", false),
        ])
    func noEvents(_ head: String, _ fails: Bool) async throws {
        let length = fails ? "\r\nContent-Length: 9\r\n\r\ndata: a\n\n" : "\r\n\r\n"
        let (events, failure) = try await load("HTTP/1.1 \(head)\(length)")
        #expect(events.isEmpty && failure?.isPOSIX(71) == (fails ? true : nil))
    }

    @Test func anEventTooLongEndsTheSequence() async throws {
        let (events, failure) = try await load(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\ndata: "
                + String(repeating: "b", count: 200) + "\n\n")
        #expect(events == [ServerSentEvent("a")] && failure == StreamError(posix: 90))
    }
}
