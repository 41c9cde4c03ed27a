import EventLoops
import HTTP2
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// The server against clients of HTTP/2 that send exactly this.
@Suite(.timeLimit(.minutes(5))) struct HTTP2ServerTests {
    // MARK: Messages

    @Test("a handler sees the head, the body and the trailers of a request, and its client those of the response")
    func messages() async throws {
        let seen = Locked<[HTTPRequest]>([])
        try await HTTP2Client.serving { exchange in
            seen.withLock { $0.append(exchange.request) }
            let body = try await exchange.body()
            var response = try HTTPResponse(status: .created)
            try response.fields.set("\(exchange.trailers["X-Sum"] ?? "none")", for: "X-Seen")
            try response.fields.set("close", for: .connection)
            try await exchange.begin(response)
            try await exchange.write(body + body)
            try await exchange.finish(trailers: HTTPFields(["X-Length": "\(2 * body.count)"]))
        } during: { client in
            let stream = try await client.request(.post, "/a?b", endsHere: false)
            try await client.run { $0.events.contains(.settings) }
            try await client.send(Array("abc".utf8), on: stream, endsHere: false)
            try await client.change { try $0.sendTrailers(["X-Sum": "6"], on: stream, now: .zero) }
            try await client.run(toEndOf: stream)
            let response = try #require(client.response(stream))
            #expect(response.status == .created && response.fields["X-Seen"] == "6")
            #expect(response.fields.contains(.date) && response.fields[.connection] == nil)
            #expect(client.text(stream) == "abcabc" && client.events.contains(.trailers(stream, ["X-Length": "6"])))
        }
        let request = try #require(seen.withLock { $0 }.first)
        #expect(request.version == .http20 && request.method == .post && request.target.description == "/a?b")
        #expect(request.authority == "localhost" && request.isPersistent)
    }

    @Test(
        "responses without content end with their heads",
        arguments: [(HTTPMethod.head, HTTPStatus.ok), (.get, .noContent), (.get, .notModified)])
    func withoutContent(_ method: HTTPMethod, _ status: HTTPStatus) async throws {
        try await HTTP2Client.serving { exchange in
            try await exchange.respond(status, body: method == .head ? [1, 2, 3] : [])
        } during: { client in
            let stream = try await client.request(method)
            try await client.run(toEndOf: stream)
            let response = try #require(client.response(stream))
            #expect(response.status == status && client.failure(stream) == nil && client.text(stream) == "")
            #expect(response.fields[.contentLength] == (method == .head ? "3" : nil))
        }
    }

    @Test("requests have a task each: one that waits holds up no other one")
    func sideBySide() async throws {
        let mayEnd = OneShot<Void>()
        try await HTTP2Client.serving { exchange in
            if exchange.request.target.path == "/first" { try await mayEnd.value() }
            try await exchange.respond(.ok, body: Array(exchange.request.target.description.utf8))
        } during: { client in
            let first = try await client.request(.get, "/first")
            let second = try await client.request(.get, "/second")
            try await client.run(toEndOf: second)
            #expect(client.text(second) == "/second" && client.response(first) == nil)
            mayEnd.provide(())
            try await client.run(toEndOf: first)
            #expect(client.text(first) == "/first")
        }
    }

    @Test("a client that waits for 100 (Continue) receives it when the handler reads the body")
    func expectation() async throws {
        try await HTTP2Client.serving { exchange in
            if exchange.request.target.path == "/unread" { return try await exchange.respond(.ok) }
            try await exchange.respond(.ok, body: try await exchange.body())
        } during: { client in
            let unread = try await client.request(.put, "/unread", fields: ["Expect": "100-continue"], endsHere: false)
            try await client.run(toEndOf: unread)
            #expect(client.response(unread)?.status == .ok)
            #expect(!client.events.contains { if case .interim = $0 { true } else { false } })
            let stream = try await client.request(.put, fields: ["Expect": "100-continue"], endsHere: false)
            try await client.run { $0.events.contains { if case .interim(stream, _) = $0 { true } else { false } } }
            try await client.send([65], on: stream)
            try await client.run(toEndOf: stream)
            #expect(client.text(stream) == "A")
            let other = try await client.request(.put, fields: ["Expect": "magic"], endsHere: false)
            try await client.run(toEndOf: other)
            #expect(client.response(other)?.status == 417)
        }
    }

    @Test("an answer before the end of the request stops the upload without an error")
    func earlyAnswer() async throws {
        try await HTTP2Client.serving { try await $0.respond(.forbidden) } during: { client in
            let stream = try await client.request(.put, endsHere: false)
            try await client.run { $0.hasEnded(stream) && $0.events.contains { Self.stopsSending($0, stream) } }
            #expect(client.response(stream)?.status == .forbidden && client.failure(stream) == nil)
        }
    }

    private static func stopsSending(_ event: HTTP2Event, _ stream: StreamID) -> Bool {
        if case .sendingStopped(stream, let failure) = event { failure.code == .noError } else { false }
    }

    @Test("a large response waits for the credit of its client, and holds up no other one")
    func credit() async throws {
        let size = 3 << 20
        try await HTTP2Client.serving { exchange in
            let isLarge = exchange.request.target.path == "/large"
            try await exchange.respond(.ok, body: [UInt8](repeating: 65, count: isLarge ? size : 10))
        } during: { client in
            client.reads = false
            let large = try await client.request(.get, "/large")
            try await client.run { $0.events.contains(.readable(large)) }
            let small = try await client.request(.get, "/small")
            try await client.run(toEndOf: small)
            #expect(!client.hasEnded(large))
            client.reads = true
            try client.read(large)
            try await client.flush()
            try await client.run(toEndOf: large)
            #expect(client.bodies[large]?.count == size)
        }
    }

    // MARK: Failures

    @Test("an error of a handler is a 500, or the reset of a response that has begun; other streams go on")
    func errors() async throws {
        struct Failure: Error {}
        let errors = Locked(0)
        try await HTTP2Client.serving { exchange in
            switch exchange.request.target.path {
            case "/before": throw Failure()
            case "/after":
                try await exchange.begin(HTTPResponse(status: .ok))
                try await exchange.write([65])
                throw Failure()
            case "/nothing": return
            default: try await exchange.respond(.ok)
            }
        } configuring: {
            $0.onError = { _ in errors.withLock { $0 += 1 } }
        } during: { client in
            let before = try await client.request(.get, "/before")
            let after = try await client.request(.get, "/after")
            let nothing = try await client.request(.get, "/nothing")
            let good = try await client.request(.get, "/good")
            try await client.run(toEndOf: before, after, nothing, good)
            #expect(client.response(before)?.status == 500 && client.response(nothing)?.status == 500)
            #expect(client.failure(after)?.code == .internalError && client.text(after) == "A")
            #expect(client.response(good)?.status == .ok && client.goAways.isEmpty)
        }
        #expect(errors.withLock { $0 } == 2)
    }

    @Test("a request that the client resets cancels its handler, and no other one; the end of the connection cancels all")
    func cancellation() async throws {
        let (began, cancelled) = (OneShot<Void>(), OneShot<Void>())
        let states = Locked<[String: Bool]>([:])
        try await HTTP2Client.serving { exchange in
            let path = exchange.request.target.path ?? ""
            if path == "/second" { began.provide(()) }
            await exchange.closed()
            states.withLock { $0[path] = Task.isCancelled }
            if path == "/first" { cancelled.provide(()) }
        } during: { client in
            let first = try await client.request(.get, "/first")
            _ = try await client.request(.get, "/second")
            try await began.value()
            try await client.change { $0.close(first, now: .zero) }
            try await cancelled.value()
            #expect(states.withLock { $0 } == ["/first": true])
        }
        #expect(states.withLock { $0 } == ["/first": true, "/second": true])
    }

    @Test("a body that is longer than the limit, announced or not, is a 413")
    func tooLong() async throws {
        try await HTTP2Client.serving { exchange in
            try await exchange.respond(.ok, body: try await exchange.body())
        } configuring: {
            $0.limits.bodyLength = 3
        } during: { client in
            let announced = try await client.request(.put, fields: ["Content-Length": "4"], endsHere: false)
            try await client.run(toEndOf: announced)
            #expect(client.response(announced)?.status == 413)
            let sent = try await client.request(.put, endsHere: false)
            try await client.send([1, 2, 3, 4], on: sent)
            try await client.run(toEndOf: sent)
            #expect(client.response(sent)?.status == 413)
        }
    }

    @Test(
        "requests that no handler sees",
        arguments: [
            ("localhost", "/\(String(repeating: "a", count: 9000))", HTTPStatus(414)),
            ("other.example", "/", HTTPStatus(421)),
        ])
    func refused(_ host: String, _ target: String, _ status: HTTPStatus) async throws {
        let records = Locked<[HTTPStatus?]>([])
        try await HTTP2Client.serving { _ in
            Issue.record("a handler was called")
        } configuring: {
            $0.hosts = .local
            $0.onResponse = { record in records.withLock { $0.append(record.status) } }
        } during: { client in
            var head = try HTTPRequest(method: .get, target: target)
            try head.fields.set(host, for: .host)
            var stream: StreamID?
            try await client.change { machine in
                stream = try machine.request(HTTP2Request(head, scheme: "http"), endsHere: true, now: .zero)
            }
            let refused = try #require(stream)
            try await client.run(toEndOf: refused)
            #expect(client.response(refused)?.status == status)
        }
        #expect(records.withLock { $0 } == [status])
    }

    @Test("the observer gets the facts of each exchange")
    func records() async throws {
        let records = Locked<[HTTPServer.Record]>([])
        try await HTTP2Client.serving { exchange in
            try await exchange.respond(.ok, body: [1, 2, 3])
        } configuring: {
            $0.onResponse = { record in records.withLock { $0.append(record) } }
        } during: { client in
            let stream = try await client.request(.get, "/a")
            try await client.run(toEndOf: stream)
        }
        let record = try #require(records.withLock { $0 }.first)
        #expect(record.status == .ok && record.bodyLength == 3 && record.isComplete && record.duration != nil)
        #expect(record.request?.target.path == "/a")
    }

    @Test("HTTP/2 has no switch of protocols")
    func upgrade() async throws {
        try await HTTP2Client.serving { exchange in
            await #expect(throws: StreamError.self) { _ = try await exchange.switchProtocols(to: "websocket") }
            try await exchange.respond(.ok)
        } during: { client in
            let stream = try await client.request()
            try await client.run(toEndOf: stream)
            #expect(client.response(stream)?.status == .ok)
        }
    }

    // MARK: Limits

    @Test("a client whose body does not come gets a 408; one that takes no response loses its stream")
    func slowClients() async throws {
        try await HTTP2Client.serving { exchange in
            if exchange.request.method == .put { _ = try await exchange.body() }
            try await exchange.respond(.ok, body: [UInt8](repeating: 65, count: 1 << 20))
        } configuring: {
            $0.bodyTimeout = .milliseconds(20)
            $0.writeTimeout = .milliseconds(20)
        } during: { client in
            let slow = try await client.request(.put, endsHere: false)
            try await client.run(toEndOf: slow)
            #expect(client.response(slow)?.status == .requestTimeout)
            client.reads = false
            let unread = try await client.request()
            try await client.run(toEndOf: unread)
            #expect(client.failure(unread) != nil)
        }
    }

    @Test("beyond the maximum of streams, requests are refused, and the client may send them again")
    func maximumStreams() async throws {
        let mayEnd = OneShot<Void>()
        try await HTTP2Client.serving { exchange in
            try await mayEnd.value()
            try await exchange.respond(.ok)
        } configuring: {
            $0.maximumStreamsPerConnection = 1
        } during: { client in
            // Before the SETTINGS of the server, a client may assume more.
            let first = try await client.request()
            let second = try await client.request()
            try await client.run(toEndOf: second)
            #expect(client.failure(second)?.processing == .notProcessed)
            mayEnd.provide(())
            try await client.run(toEndOf: first)
            #expect(client.response(first)?.status == .ok)
        }
    }

    @Test("requests that are reset at once end the connection, before many handlers have begun")
    func rapidReset() async throws {
        let begun = Locked(0)
        try await HTTP2Client.serving { _ in
            begun.withLock { $0 += 1 }
            try await Task.sleep(for: .seconds(3600))
        } during: { client in
            try await client.run { $0.events.contains(.settings) }
            for _ in 0..<1000 where !client.hasEnded {
                guard let stream = try? await client.request() else { break }
                try? await client.change { $0.close(stream, now: .zero) }
            }
            try await client.runToEnd()
            #expect(client.goAways.last?.code == .enhanceYourCalm)
        }
        #expect(begun.withLock { $0 } <= 400)
    }

    @Test("a long-lived exchange beyond the maximum gets a 503")
    func longLived() async throws {
        try await HTTP2Client.serving { exchange in
            try exchange.declareLongLived()
            Issue.record("permitted")
        } configuring: {
            $0.maximumLongLivedConnections = 0
        } during: { client in
            let stream = try await client.request()
            try await client.run(toEndOf: stream)
            #expect(client.response(stream)?.status == .serviceUnavailable)
        }
    }

    // MARK: The life of a connection

    @Test("an idle connection ends with GOAWAY")
    func idle() async throws {
        try await HTTP2Client.serving {
            try await $0.respond(.ok)
        } configuring: {
            $0.idleTimeout = .milliseconds(20)
        } during: { client in
            let stream = try await client.request()
            try await client.runToEnd()
            #expect(client.response(stream)?.status == .ok)
            #expect(client.goAways.map(\.lastStream) == [.highest, stream] && client.goAways.allSatisfy { $0.code == .noError })
        }
    }

    @Test("a server that keeps no connections ends each after its first request")
    func unkept() async throws {
        try await HTTP2Client.serving {
            try await $0.respond(.ok)
        } configuring: {
            $0.keepsConnections = false
        } during: { client in
            let stream = try await client.request()
            try await client.runToEnd()
            #expect(client.response(stream)?.status == .ok && client.goAways.last?.lastStream == stream)
        }
    }

    @Test("a client that breaks the protocol is told why")
    func violation() async throws {
        try await HTTP2Client.serving { _ in } during: { client in
            try await client.run { $0.events.contains(.settings) }
            // DATA on an idle stream.
            try await client.pair.output.writeAll([0, 0, 1, 0, 0, 0, 0, 0, 9, 65])
            try await client.runToEnd()
            #expect(client.goAways.last?.code == .protocolError)
        }
    }
}
