import EventLoops
import FoundationEssentials
import HTTP2
import HTTPMessage
import HTTPStreamTesting
import StreamKit
import StreamKitTesting
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

    @Test("a client that accepts no heads of this size is a client that has gone, and no error of the handler's")
    func smallHeads() async throws {
        let errors = Locked(0)
        let records = Locked<[HTTPServer.Record]>([])
        var limits = HTTP2Limits()
        limits.fieldSection.listSize = 1
        try await HTTP2Client.serving(
            answering: { exchange in
                let error = await #expect(throws: StreamError.self) { try await exchange.respond(.ok) }
                #expect((error?.underlying as? HTTP2Error)?.fault == .peer)
                throw StreamError.closed
            },
            configuring: { configuration in
                configuration.onError = { _ in errors.withLock { $0 += 1 } }
                configuration.onResponse = { record in records.withLock { $0.append(record) } }
            }, limits: limits
        ) { client in
            let stream = try await client.request()
            try await client.run(toEndOf: stream)
            #expect(client.response(stream) == nil && client.failure(stream)?.code == .cancel)
        }
        #expect(errors.withLock { $0 } == 0)
        let record = try #require(records.withLock { $0 }.first)
        #expect(record.status == nil && !record.isComplete)
    }

    @Test("a head that HTTP/2 cannot carry does not begin the response")
    func unsendableHeads() async throws {
        try await HTTP2Client.serving { exchange in
            let error = await #expect(throws: StreamError.self) {
                try await exchange.respond(.ok, fields: HTTPFields(["TE": "gzip"]))
            }
            #expect(error?.code == 22)
            if exchange.request.target.path == "/again" { try await exchange.respond(.created) }
        } during: { client in
            for (target, status) in [("/again", 201), ("/", 500)] {
                let stream = try await client.request(.get, target)
                try await client.run(toEndOf: stream)
                #expect(client.response(stream)?.status.code == status && client.failure(stream) == nil)
            }
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
        try await HTTP2Client.serving {
            try await $0.respond(.forbidden)
        } during: { client in
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

    @Test(
        "a request that the client resets cancels its handler, and no other one; the end of the connection cancels all")
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

    @Test("a request that offers no other protocol cannot switch")
    func upgrade() async throws {
        try await HTTP2Client.serving { exchange in
            let error = await #expect(throws: StreamError.self) {
                _ = try await exchange.switchProtocols(to: "websocket")
            }
            #expect(error?.isPOSIX(22) == true)  // EINVAL
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

    @Test(
        "a response waits on while its client reads others: a share of their bytes counts as its own",
        arguments: [true, false])
    func share(_ readsOthers: Bool) async throws {
        let (mayWrite, hasRead, waitsOn) = (OneShot<Void>(), OneShot<Void>(), OneShot<Bool>())
        try await HTTP2Client.serving { exchange in
            try await exchange.begin(HTTPResponse(status: .ok))
            guard let carrier = exchange.carrier as? HTTP2ServerCarrier, exchange.request.target.path == "/waiting"
            else {
                try await mayWrite.value()
                try await exchange.write([UInt8](repeating: 65, count: 100))
                return await exchange.closed()
            }
            do throws(StreamError) {
                try await carrier.waitToSend { _ async throws(StreamError) in
                    if readsOthers {
                        mayWrite.provide(())
                        _ = try? await hasRead.value()
                    }
                    throw .timedOut
                }
                waitsOn.provide(true)
            } catch {
                waitsOn.provide(error != .timedOut)
            }
        } during: { client in
            let other = try await client.request(.get, "/other")
            // Both heads have been written before the wait begins.
            try await client.run { $0.response(other) != nil }
            _ = try await client.request(.get, "/waiting")
            if readsOthers { try await client.run { $0.text(other).count == 100 } }
            hasRead.provide(())
            #expect(try await waitsOn.value() == readsOthers)
            mayWrite.provide(())
        }
    }

    @Test("a client that reads nothing at all loses its connection, and not only its requests")
    func noReader() async throws {
        var configuration = HTTPServer.Configuration.patient
        configuration.acceptsPriorKnowledge = true
        configuration.writeTimeout = .milliseconds(20)
        let (near, far) = try Socket.pair()
        let (pair, server) = (try near.makeStreams(), try far.makeStreams())
        for pair in [pair, server] { try pair.open() }
        let running = Task(executorPreference: server.input.waitPoint.loop) { [configuration] in
            await HTTPServer.serve(server, configuration) { exchange in
                try await exchange.respond(.ok, body: [UInt8](repeating: 65, count: 4 << 20))
            }
        }
        let client = HTTP2Client(pair)
        // In one write: the server may close the connection as soon as it has waited for its client.
        try await client.change { machine in
            for _ in 0..<50 {
                var head = try HTTPRequest(method: .get, target: "/")
                try head.fields.set("localhost", for: .host)
                _ = try machine.request(HTTP2Request(head, scheme: "http"), endsHere: true, now: .zero)
            }
        }
        await running.value
        pair.close()
        server.close()
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

    @Test("the long-lived exchanges of a connection count as one")
    func longLivedTogether() async throws {
        try await HTTP2Client.serving { exchange in
            try exchange.declareLongLived()
            try await exchange.begin(HTTPResponse(status: .ok))
            await exchange.closed()
        } configuring: {
            $0.maximumLongLivedConnections = 1
        } during: { client in
            let (first, second) = (try await client.request(), try await client.request())
            try await client.run { $0.response(first) != nil && $0.response(second) != nil }
            #expect(client.response(first)?.status == .ok && client.response(second)?.status == .ok)
        }
    }

    @Test("trailers that cannot be sent leave the response to be ended without them")
    func forbiddenTrailers() async throws {
        try await HTTP2Client.serving { exchange in
            try await exchange.begin(HTTPResponse(status: .ok))
            try await exchange.write([65])
            await #expect(throws: StreamError.self) { try await exchange.finish(trailers: ["Content-Length": "1"]) }
        } during: { client in
            let stream = try await client.request()
            try await client.run(toEndOf: stream)
            #expect(client.text(stream) == "A" && client.failure(stream) == nil)
        }
        let text = try await HTTPServer.serving(
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            answering: { exchange in
                try await exchange.begin(HTTPResponse(status: .ok))
                try await exchange.write([65])
                await #expect(throws: StreamError.self) { try await exchange.finish(trailers: ["Content-Length": "1"]) }
            },
            during: { pair in String(decoding: try await pair.input.readAll(limit: 4096), as: UTF8.self) })
        #expect(text.hasSuffix("1\r\nA\r\n0\r\n\r\n"))
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
            #expect(client.goAways.last?.lastStream == stream && client.goAways.last?.code == .noError)
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

    @Test(
        "a server that stops still answers the requests on their way, and ends each connection with its last response")
    func stop() async throws {
        let (began, mayEnd) = (OneShot<Void>(), OneShot<Void>())
        let (server, running) = try Self.run { configuration in
            configuration.acceptsPriorKnowledge = true
        } answering: { exchange in
            if exchange.request.target.path == "/slow" {
                began.provide(())
                try await mayEnd.value()
            }
            try await exchange.respond(.ok)
        }
        let (busy, idle) = (try Self.client(of: server), try Self.client(of: server))
        let slow = try await busy.request(.get, "/slow")
        let first = try await idle.request()
        try await idle.run(toEndOf: first)
        try await began.value()
        server.stop()
        // The client has not heard of the end yet.
        let late = try await busy.request(.get, "/late")
        try await busy.run(toEndOf: late)
        #expect(busy.response(late)?.status == .ok && busy.response(slow) == nil)
        mayEnd.provide(())
        try await busy.runToEnd()
        #expect(busy.response(slow)?.status == .ok && busy.goAways.last?.lastStream == late)
        try await idle.runToEnd()
        #expect(idle.goAways.last?.lastStream == first && idle.goAways.last?.code == .noError)
        for client in [busy, idle] { client.pair.close() }
        try await running.value
        #expect(busy.failure(slow) == nil)
    }

    @Test("the end of the grace cancels the handlers that are left")
    func grace() async throws {
        let began = OneShot<Void>()
        let (server, running) = try Self.run { configuration in
            configuration.acceptsPriorKnowledge = true
        } answering: { exchange in
            began.provide(())
            await exchange.serverStopping()
            await exchange.closed()
            #expect(Task.isCancelled)
        }
        let client = try Self.client(of: server)
        _ = try await client.request()
        try await began.value()
        server.stop(within: .milliseconds(20))
        try await running.value
    }

    @Test(
        "a connection without TLS begins with either version where prior knowledge is accepted",
        arguments: [(true, 1), (true, 1000), (false, 1000)])
    func priorKnowledge(_ isHTTP2: Bool, _ piece: Int) async throws {
        let (server, running) = try Self.run {
            $0.acceptsPriorKnowledge = true
        } answering: { exchange in
            try await exchange.respond(.ok)
        }
        let client = try Self.client(of: server)
        var machine = HTTP2ClientMachine(now: .zero)
        var head = try HTTPRequest(method: .get, target: "/")
        try head.fields.set("localhost", for: .host)
        _ = try machine.request(HTTP2Request(head, scheme: "http"), endsHere: true, now: .zero)
        var bytes = Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        if isHTTP2 { bytes = machine.withOutput { bytes in bytes.withUnsafeBytes { Array($0) } } }
        while !bytes.isEmpty {
            try await client.pair.output.writeAll(Array(bytes.prefix(piece)))
            bytes.removeFirst(min(piece, bytes.count))
        }
        let answer = try await client.pair.input.read(upTo: 8)
        #expect(answer.starts(with: Array("HTTP/1.1".utf8)) != isHTTP2)
        client.pair.close()
        server.stop(within: Duration.zero)
        try await running.value
    }

    @Test(
        "what the server offers and serves over TLS",
        arguments: [
            (HTTPVersions.automatic, HTTPVersions.automatic, HTTPVersion.http20), (.automatic, .http1, .http11),
            (.http1, .automatic, .http11), (.http2, .automatic, .http20),
        ])
    func negotiation(server versions: HTTPVersions, client: HTTPVersions, version: HTTPVersion) async throws {
        let (server, running) = try Self.run { configuration in
            configuration.versions = versions
            configuration.connections.tls = try TestIdentity.server()
        } answering: { exchange in
            try await exchange.respond(.ok, body: try await exchange.body())
        }
        var configuration = HTTPSession.Configuration()
        configuration.options.tls = try TestIdentity.trusted()
        configuration.options.versions = client
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        let session = HTTPSession(configuration)
        let port = try #require(server.port)
        let url = try #require(URL(string: "https://127.0.0.1:\(port)/"))
        let body = [UInt8](repeating: 65, count: 1 << 20)
        let response = try await session.load(
            HTTPRequest(method: .put, url: url), body: .bytes(body), limit: 2 << 20)
        #expect(response.version == version && response.body == body)
        server.stop(within: .zero)
        try await running.value
    }

    @Test(
        "with TLS 1.2, HTTP/2 is served over suites with keys of their own and authenticated encryption only",
        arguments: [
            ("ECDHE-ECDSA-AES128-GCM-SHA256", true), ("ECDHE-ECDSA-CHACHA20-POLY1305", true),
            ("ECDHE-ECDSA-AES128-SHA", false), ("ECDHE-ECDSA-AES128-SHA256", false),
        ])
    func cipherSuites(_ suite: String, _ isServed: Bool) async throws {
        let (server, running) = try Self.run { configuration in
            var tls = try TestIdentity.server()
            tls.maximumVersion = .tls12
            tls.cipherList = suite
            configuration.connections.tls = tls
        } answering: { exchange in
            #expect(isServed)
            try await exchange.respond(.ok)
        }
        var tls = try TestIdentity.trusted()
        tls.applicationProtocols = ["h2"]
        let pair = StreamPair(host: "127.0.0.1", port: try #require(server.port))
        try pair.set(.tls, to: tls)
        try pair.open()
        let client = HTTP2Client(pair)
        let stream = try await client.request()
        try await client.run { $0.hasEnded(stream) }
        #expect((client.response(stream)?.status == .ok) == isServed)
        #expect(client.goAways.last?.code == (isServed ? nil : .inadequateSecurity))
        pair.close()
        server.stop(within: .zero)
        try await running.value
    }

    @Test(
        "suites of TLS that may carry HTTP/2 (RFC 9113 §9.2.2)",
        arguments: [
            (TLSVersion.tls13, "TLS_AES_128_GCM_SHA256", true),
            (.tls12, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", true),
            (.tls12, "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256", true),
            (.tls12, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", true),
            (.tls12, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", false),
            (.tls12, "TLS_RSA_WITH_AES_128_GCM_SHA256", false), (.tls12, "TLS_PSK_WITH_AES_128_GCM_SHA256", false),
            (.tls12, "unknown", false),
        ])
    func adequacy(_ version: TLSVersion, _ cipher: String, _ isAdequate: Bool) {
        #expect(TLSInformation.isAdequateForHTTP2(version, cipher: cipher) == isAdequate)
    }

    @Test("an upload and a download beyond all windows", arguments: [false, true], [0, 10, 100_000, 3 << 20])
    func echo(_ isSecure: Bool, _ size: Int) async throws {
        let (server, running) = try Self.run { configuration in
            configuration.versions = .http2
            configuration.limits.bodyLength = 4 << 20
            if isSecure { configuration.connections.tls = try TestIdentity.server() }
        } answering: { exchange in
            if exchange.request.target.path == "/whole" {
                return try await exchange.respond(.ok, body: try await exchange.body())
            }
            var piece = try await exchange.readBody()
            try await exchange.begin(HTTPResponse(status: .ok))
            while !piece.isEmpty {
                try await exchange.write(piece)
                piece = try await exchange.readBody()
            }
        }
        var configuration = HTTPSession.Configuration()
        configuration.options.versions = .http2
        configuration.options.tls = try TestIdentity.trusted()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        let session = HTTPSession(configuration)
        let port = try #require(server.port)
        let body = [UInt8](repeating: 65, count: size)
        for path in ["whole", "piecewise"] {
            let url = try #require(URL(string: "\(isSecure ? "https" : "http")://127.0.0.1:\(port)/\(path)"))
            let response = try await session.load(
                HTTPRequest(method: .put, url: url), body: .bytes(body), limit: 4 << 20)
            #expect(response.version == .http20 && response.body == body)
        }
        server.stop(within: Duration.zero)
        try await running.value
    }

    @Test("settings that contradict each other are refused")
    func contradictions() throws {
        /// Whether a server refuses the default configuration with these changes.
        func isRefused(_ change: (inout HTTPServer.Configuration) throws -> Void) throws -> Bool {
            var configuration = HTTPServer.Configuration()
            try change(&configuration)
            do throws(StreamError) {
                _ = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
            } catch {
                return error.isPOSIX(22)  // EINVAL
            }
            return false
        }
        func tls(offering protocols: [String]) throws -> TLSConfiguration {
            var tls = try TestIdentity.server()
            tls.applicationProtocols = protocols
            return tls
        }
        #expect(
            try isRefused {
                $0.versions = .http1
                $0.acceptsPriorKnowledge = true
            })
        #expect(
            try isRefused {
                $0.connections.tls = try TestIdentity.server()
                $0.acceptsPriorKnowledge = true
            })
        #expect(
            try isRefused {
                $0.versions = .http1
                $0.connections.tls = try tls(offering: ["h2"])
            })
        #expect(
            try isRefused {
                $0.versions = .http2
                $0.connections.tls = try tls(offering: ["http/1.1"])
            })
        for number in [0, -1, 16_385] { #expect(try isRefused { $0.maximumStreamsPerConnection = number }) }
        for number in [1, 16_384] { #expect(try !isRefused { $0.maximumStreamsPerConnection = number }) }
    }

    private static func run(
        _ change: (inout HTTPServer.Configuration) throws -> Void, answering handler: @escaping HTTPServer.Handler
    ) throws -> (HTTPServer, Task<Void, any Error>) {
        var configuration = HTTPServer.Configuration.patient
        configuration.hosts = .any
        try change(&configuration)
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        return (server, Task { try await server.run(handler) })
    }

    private static func client(of server: HTTPServer) throws -> HTTP2Client {
        let pair = StreamPair(address: .ip(.v4(.loopback), port: try #require(server.port)))
        try pair.open()
        return HTTP2Client(pair)
    }

    @Test("a client that breaks the protocol is told why")
    func violation() async throws {
        try await HTTP2Client.serving { _ in
        } during: { client in
            try await client.run { $0.events.contains(.settings) }
            // DATA on an idle stream.
            try await client.pair.output.writeAll([0, 0, 1, 0, 0, 0, 0, 0, 9, 65])
            try await client.runToEnd()
            #expect(client.goAways.last?.code == .protocolError)
        }
    }
}
