import EventLoops
import FoundationEssentials
import HTTP2
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// Loads over HTTP/2: what they send, and what their callers see.
@Suite(.timeLimit(.minutes(5))) struct HTTP2LoadTests {
    private func readToEnd(_ stream: ReadStream) async throws -> [UInt8] {
        try stream.open()
        defer { stream.close() }
        return try await stream.readAll(limit: 1 << 26)
    }

    // MARK: Messages

    @Test("the head, interim responses, the body and trailers of a response; the request as it was sent")
    func messages() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            guard case .request(let stream, _) = event else { return nil }
            for status in [HTTPStatus.earlyHints, .ok] {
                try machine.respond(stream, with: try HTTPResponse(status: status), endsHere: false, now: .zero)
            }
            _ = try machine.send(Array("body".utf8).span.bytes, on: stream, endsHere: false, now: .zero)
            try machine.sendTrailers(HTTPFields(["X-Sum": "4"]), on: stream, now: .zero)
            machine.close(stream, now: .zero)
            return nil
        }
        let stream = try server.stream(.get, "/a?b=c")
        #expect(try await readToEnd(stream) == Array("body".utf8))
        let response = try #require(stream[.httpResponse])
        #expect(response.status == .ok && response.version == .http20)
        #expect(stream[.httpInterimResponses]?.map(\.status) == [.earlyHints])
        #expect(stream[.httpTrailers]?["X-Sum"] == "4")
        let sent = try #require(server.requests.first?.request)
        #expect(sent.scheme == "http" && sent.head.method == .get && sent.head.fields[.host] == "www.example.org")
        #expect(sent.head.target.description == "/a?b=c" && sent.head.fields[.connection] == nil)
        let final = try #require(stream[.httpFinalRequest])
        #expect(final.fields[.userAgent] == sent.head.fields[.userAgent] && final.fields[.connection] == nil)
        let steps = try #require(stream[.report]?.steps)
        try #require(steps.count == 2)
        #expect(steps[0].outcome == .succeeded("HTTP/2.0 200 OK"))
        guard case .stream(1, let connection, others: 0) = steps[1].kind else {
            Issue.record("\(steps)")
            return
        }
        #expect(steps[1].description.hasPrefix("stream 1 on connection \(connection) (h2), 0 others  "))
        let next = try server.stream()
        _ = try await readToEnd(next)
        #expect(next[.report]?.steps.map(\.kind).last == .stream(3, connection: connection, others: 0))
    }

    @Test(
        "responses without content",
        arguments: [(HTTPMethod.head, HTTPStatus.ok), (.get, .noContent), (.get, .notModified)])
    func withoutContent(method: HTTPMethod, status: HTTPStatus) async throws {
        let server = HTTP2Peer { (machine, event, _) in
            // The length that a response to GET would have (RFC 9110 §8.6).
            let fields: HTTPFields = status == .noContent ? [:] : ["Content-Length": "7"]
            if case .request(let stream, _) = event { try machine.answer(stream, status, fields: fields) }
            return nil
        }
        let stream = try server.stream(method)
        #expect(try await readToEnd(stream).isEmpty)
        #expect(stream[.httpResponse]?.status == status)
    }

    @Test("a coded body is decoded")
    func codedBody() async throws {
        let plain = Array("hello, hello, hello!".utf8)
        let coded = ContentDecoderTests.gzip
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, _) = event {
                try machine.answer(stream, fields: HTTPFields(["Content-Encoding": "gzip"]), body: coded)
            }
            return nil
        }
        #expect(try await readToEnd(server.stream()) == plain)
        let raw = try server.stream { $0.decodesContent = false }
        #expect(try await readToEnd(raw) == coded)
    }

    // MARK: Bodies of requests

    @Test(
        "bodies of requests: none, small, larger than the windows, and from a stream of unknown length",
        arguments: [0, 5, 300_000])
    func uploads(count: Int) async throws {
        let server = HTTP2Peer()
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let bodies: [HTTPBody] = [
            .bytes(bytes), .stream(length: nil) { ReadStream(bytes: bytes) },
            .stream(length: Int64(count)) { ReadStream(bytes: bytes) },
        ]
        for (index, body) in bodies.enumerated() {
            let stream = try server.stream(.post, body: body)
            _ = try await readToEnd(stream)
            #expect(stream[.httpResponse]?.status == .ok && stream[.httpBodyBytesSent] == Int64(count))
            #expect(server.bodies[StreamID(UInt32(2 * index + 1))] ?? [] == bytes)
            let fields = try #require(server.requests.dropFirst(index).first).request.head.fields
            #expect(fields[.contentLength] == (index == 1 ? nil : "\(count)"))
            #expect(fields[.transferEncoding] == nil)
        }
        #expect(server.connectionCount == 1)
    }

    @Test("a body that waits for 100 (Continue) is sent after it, and not at all after a refusal")
    func expectation() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            switch event {
            case .request(let stream, let request):
                if request.head.target.path == "/refused" {
                    try machine.answer(stream, .forbidden)
                } else {
                    try machine.respond(stream, with: try HTTPResponse(status: .continue), endsHere: false, now: .zero)
                }
            case .ended(let stream): try machine.answer(stream)
            default: break
            }
            return nil
        }
        for (path, status, isSent) in [("/", HTTPStatus.ok, true), ("/refused", .forbidden, false)] {
            let url = try #require(URL(string: "http://www.example.org\(path)"))
            var request = try HTTPRequest(method: .put, url: url)
            try request.fields.set("100-continue", for: .expect)
            var options = server.options()
            options.continueTimeout = .seconds(300)
            let stream = try ReadStream(request: request, body: .bytes([1, 2, 3]), options: options)
            _ = try await readToEnd(stream)
            #expect(stream[.httpResponse]?.status == status)
            #expect(stream[.httpBodyBytesSent] == (isSent ? 3 : 0))
        }
        #expect(server.bodies[StreamID(1)] == [1, 2, 3] && server.bodies[StreamID(3)] == nil)
    }

    @Test("a server that answers early and does not want the rest of the body is obeyed")
    func earlyAnswer() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            // RST_STREAM with NO_ERROR follows the response.
            if case .request(let stream, _) = event { try machine.answer(stream, .contentTooLarge) }
            return nil
        }
        let body = HTTPBody.bytes([UInt8](repeating: 1, count: 1 << 20))
        let stream = try server.stream(.post, body: body)
        _ = try await readToEnd(stream)
        #expect(stream[.httpResponse]?.status == .contentTooLarge)
        #expect((stream[.httpBodyBytesSent] ?? 0) < 1 << 20)
    }

    // MARK: One connection for many

    @Test("loads that begin together share one connection, over several styles of waiting")
    func sharing() async throws {
        let server = HTTP2Peer()
        let count = try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<40 {
                group.addTask {
                    let stream = try server.stream(.get, "/\(index)")
                    try stream.open()
                    defer { stream.close() }
                    switch index % 3 {
                    case 0: #expect(try await stream.readAll(limit: 10).isEmpty)
                    case 1:
                        let body = try await onThread { try stream.readAll(limit: 10) }
                        #expect(body.isEmpty)
                    default:
                        var buffer = [UInt8](repeating: 0, count: 10)
                        while try stream.tryRead(into: &buffer) != 0, !Task.isCancelled {
                            await Task.yield()
                        }
                    }
                    #expect(stream[.httpResponse]?.status == .ok)
                }
            }
            try await group.waitForAll()
            return server.connectionCount
        }
        #expect(count == 1)
        #expect(Set(server.requests.compactMap(\.request.head.target.path)) == Set((0..<40).map { "/\($0)" }))
        #expect(server.pool.idleCount == 1)
    }

    @Test("the session's limit of connections is no limit of loads that share one")
    func connectionLimit() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, let request) = event, request.head.target.path != "/silent" {
                try machine.answer(stream)
            }
            return nil
        }
        let session = server.session { $0.maximumConnectionsPerOrigin = 1 }
        let url = try #require(URL(string: "http://www.example.org/"))
        let silent = Task { try await session.get(url.appending(path: "silent")) }
        while server.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        #expect(try await session.get(url).status == .ok)
        silent.cancel()
        await #expect(throws: StreamError.cancelled) { try await silent.value }
    }

    @Test("loads beyond the server's limit of streams wait for one that ends")
    func streamLimit() async throws {
        var limits = HTTP2Limits()
        limits.maximumConcurrentStreams = 2
        let most = Locked(0)
        let server = HTTP2Peer(limits: limits) { (machine, event, _) in
            if case .ended(let stream) = event {
                most.withLock { $0 = max($0, machine.openStreams) }
                try machine.answer(stream, body: [1])
            }
            return nil
        }
        _ = try await readToEnd(server.stream())  // the limit is known now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let body = try await readToEnd(server.stream())
                    #expect(body == [1])
                }
            }
            try await group.waitForAll()
        }
        #expect(server.connectionCount == 1 && server.requests.count == 21)
        #expect(most.withLock { $0 } <= 2)
    }

    @Test("a response that is not read holds up no other one")
    func unreadResponse() async throws {
        let body = [UInt8](repeating: 7, count: 3 << 20)
        let server = HTTP2Peer { (machine, event, _) in
            guard case .request(let stream, _) = event else { return nil }
            try machine.respond(stream, with: try HTTPResponse(status: .ok), endsHere: false, now: .zero)
            return .send(body, on: stream)
        }
        let unread = try server.stream()
        try unread.open()
        #expect(try await unread.response().status == .ok)
        #expect(try await readToEnd(server.stream()) == body)
        #expect(try await unread.readAll(limit: body.count) == body)
        unread.close()
        #expect(server.connectionCount == 1)
    }

    // MARK: The end of a load and of the connection

    @Test("closing a stream resets it, and the connection serves the next one")
    func closing() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, let request) = event, request.head.target.path != "/silent" {
                try machine.answer(stream)
            }
            return nil
        }
        let silent = try server.stream(.get, "/silent")
        try silent.open()
        try await silent.opened()
        while server.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        silent.close()
        #expect(try await readToEnd(server.stream()).isEmpty)
        #expect(server.connectionCount == 1)
        let code = server.events.compactMap { event -> ErrorCode? in
            if case .reset(StreamID(1), let failure) = event { failure.code } else { nil }
        }
        #expect(code == [.cancel])
    }

    @Test("the time limit of the response head, after which the connection serves the next load")
    func responseTimeout() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, let request) = event, request.head.target.path != "/silent" {
                try machine.answer(stream)
            }
            return nil
        }
        let silent = try server.stream(.get, "/silent") { $0.responseTimeout = .milliseconds(1) }
        await #expect(throws: StreamError.timedOut) { _ = try await readToEnd(silent) }
        #expect(try await readToEnd(server.stream()).isEmpty)
        #expect(server.connectionCount == 1)
    }

    @Test("a stream without a kept connection has one of its own, which ends with it")
    func ownConnection() async throws {
        let server = HTTP2Peer()
        for _ in 0..<3 { _ = try await readToEnd(server.stream { $0.keepsConnection = false }) }
        #expect(server.connectionCount == 3)
        while server.endedCount < 3, !Task.isCancelled { await Task.yield() }
        #expect(server.pool.idleCount == 0)
    }

    @Test("a drained pool ends its connections: idle ones at once, others with their last stream")
    func drain() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, let request) = event, request.head.target.path == "/" {
                try machine.answer(stream)
            }
            if case .request(let stream, let request) = event, request.head.target.path == "/wakes" {
                try machine.answer(StreamID(1), body: [9])
                try machine.answer(stream)
            }
            return nil
        }
        let first = try server.stream(.get, "/waits")
        try first.open()
        try await first.opened()
        let second = try server.stream(.get, "/wakes")
        while server.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        try second.open()
        try await second.opened()
        server.pool.drain()
        #expect(try await first.readAll(limit: 10) == [9])
        first.close()
        second.close()
        while server.endedCount < 1, !Task.isCancelled { await Task.yield() }
        // The next load has a new connection.
        _ = try await readToEnd(server.stream())
        #expect(server.connectionCount == 2 && server.pool.idleCount == 1)
        server.pool.drain()
        while server.endedCount < 2, !Task.isCancelled { await Task.yield() }
    }

    @Test("a connection without requests ends after the idle time of the pool")
    func idleTime() async throws {
        let server = HTTP2Peer(idleTime: .milliseconds(1))
        _ = try await readToEnd(server.stream())
        while server.endedCount < 1, !Task.isCancelled { await Task.yield() }
        #expect(server.pool.idleCount == 0)
        _ = try await readToEnd(server.stream())
        #expect(server.connectionCount == 2)
    }

    @Test("the limits of a load are those of its connection, which loads with other limits do not share")
    func limits() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, _) = event {
                try machine.answer(stream, fields: HTTPFields(["X-Long": String(repeating: "x", count: 20_000)]))
            }
            return nil
        }
        #expect(try await readToEnd(server.stream()).isEmpty)
        let strict = try server.stream { $0.limits.headLength = 100 }
        await #expect(throws: StreamError.self) { _ = try await readToEnd(strict) }
        #expect(try await readToEnd(server.stream()).isEmpty)
        #expect(server.connectionCount == 2)
        // Values beyond those of HTTP/2 are as large as it permits.
        let endless = try server.stream {
            $0.limits.headLength = .max
            $0.limits.fieldCount = .max
        }
        #expect(try await readToEnd(endless).isEmpty)
    }

    @Test("bytes are available exactly while a read would return some")
    func availability() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            guard case .request(let stream, let request) = event else { return nil }
            if request.head.target.path == "/wakes" {
                _ = try machine.send(([2] as [UInt8]).span.bytes, on: StreamID(1), endsHere: true, now: .zero)
                try machine.answer(stream)
                return nil
            }
            try machine.respond(stream, with: try HTTPResponse(status: .ok), endsHere: false, now: .zero)
            _ = try machine.send(([1] as [UInt8]).span.bytes, on: stream, endsHere: false, now: .zero)
            return nil
        }
        let slow = try server.stream()
        try slow.open()
        defer { slow.close() }
        #expect(try await slow.read(upTo: 10) == [1])
        var buffer: [UInt8] = [0]
        #expect(!slow.hasBytesAvailable)
        #expect(try slow.tryRead(into: &buffer) == nil)
        _ = try await readToEnd(server.stream(.get, "/wakes"))
        try await slow.ready()
        #expect(slow.hasBytesAvailable)
        #expect(try slow.tryRead(into: &buffer) == 1 && buffer == [2])
        // All has arrived: the stream is given up before the caller reads the end.
        #expect(server.pool.idleCount == 1)
    }

    @Test("no request follows one that the server has left without a sign of life")
    func silence() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, let request) = event, request.head.target.path != "/silent" {
                try machine.answer(stream)
            }
            return nil
        }
        let url = try #require(URL(string: "http://www.example.org/"))
        let key = HTTPConnectionKey(try HTTPOrigin(url), StreamProperties(), loop: .shared)
        let connect = try #require(server.pool.connect)
        let pair = connect(try HTTPOrigin(url), .shared)
        try pair.open()
        try await pair.output.opened()
        let drained = OneShot<Void>()
        let link = HTTP2ClientLink(pair, key: key, limits: .default, idleTimeout: .seconds(60), silenceTimeout: .zero) {
            _ in
            drained.provide(())
        }
        func send(_ path: String) throws -> HTTP2ClientStream {
            let stream = HTTP2ClientStream(waitingAt: WaitPoint())
            var head = try HTTPRequest(method: .get, target: #require(RequestTarget(path)))
            try head.fields.set("www.example.org", for: .host)
            try link.send(HTTP2Request(head, scheme: "http"), endsHere: true, as: stream)
            return stream
        }
        let answered = try send("/")
        while link.withStream(answered, { !$0.hasEnded }), !Task.isCancelled { await Task.yield() }
        link.close(answered)
        #expect(link.isShareable)
        let silent = try send("/silent")
        while server.requests.count < 2, !Task.isCancelled { await Task.yield() }
        link.close(silent)
        #expect(!link.isShareable)
        try await drained.value()
    }

    @Test("a connection without messages has no memory for its input")
    func unusedMemory() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, _) = event {
                try machine.respond(stream, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
            }
            return nil
        }
        let stream = try server.stream()
        try stream.open()
        _ = try await stream.response()
        let link = try server.link()
        func turn() async { await withCheckedContinuation { next in link.loop.execute { next.resume() } } }
        await turn()
        #expect(link.inputSize > 0)
        stream.close()
        await turn()
        #expect(link.isIdle && link.inputSize == 0)
    }

    @Test("a pool that keeps no connection keeps none of HTTP/2")
    func noKeptConnection() async throws {
        let server = HTTP2Peer()
        let connect = try #require(server.pool.connect)
        let pool = HTTPConnectionPool(limits: .init(total: 0), connect: connect)
        for _ in 0..<2 { _ = try await readToEnd(server.stream { $0.pool = pool }) }
        #expect(server.connectionCount == 2 && pool.idleCount == 0)
    }
}
