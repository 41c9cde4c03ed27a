import EventLoops
import FoundationEssentials
import HTTP2
import HTTPMessage
import HTTPStreamTesting
import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

/// Other protocols on streams of HTTP/2 (RFC 8441), the client and the server of this package on one connection.
@Suite(.timeLimit(.minutes(5))) struct HTTP2TunnelTests {
    /// A server, and the pool of sessions that lead to it.
    private final class Served: Sendable {
        let connections = Locked(0)
        let records = Locked<[HTTPServer.Record]>([])
        private let handler: HTTPServer.Handler
        private let maximumLongLived: Int?

        init(maximumLongLived: Int? = nil, _ handler: @escaping HTTPServer.Handler) {
            self.handler = handler
            self.maximumLongLived = maximumLongLived
        }

        func session(_ versions: HTTPVersions) -> HTTPSession {
            HTTP2TunnelTests.session(versions) { [self] server in
                connections.withLock { $0 += 1 }
                var configuration = HTTPServer.Configuration.patient
                configuration.acceptsPriorKnowledge = true
                configuration.maximumLongLivedConnections = maximumLongLived
                configuration.onResponse = { [self] record in records.withLock { $0.append(record) } }
                await HTTPServer.serve(server, configuration, handler)
            }
        }
    }

    private static func request(_ path: String = "/") throws -> HTTPRequest {
        try HTTPRequest(method: .get, url: try #require(URL(string: "http://www.example.org\(path)")))
    }

    /// Returns the bytes of each client to it.
    private static let echo: HTTPServer.Handler = { exchange in
        guard exchange.request.target.path != "/missing" else { return try await exchange.respond(.notFound) }
        guard exchange.request.fields.contains(.upgrade) else { return try await exchange.respond(.ok) }
        #expect(exchange.request.method == .get && exchange.request.fields[.upgrade] == "echo")
        let pair = try await exchange.switchProtocols(to: "echo", fields: ["X-Other": "1"]).pair
        for try await chunk in pair.input.chunks() { try await pair.output.writeAll(chunk) }
        try await pair.output.writeAll("end")
        try await pair.output.finish()
    }

    private func open(_ session: HTTPSession, _ path: String = "/") async throws -> StreamPair {
        let outcome = try await session.upgrade(Self.request(path), to: "echo")
        guard case .switched(let response, let connection) = outcome else { throw StreamError.closed }
        #expect(response.status == .ok && response.version == .http20 && response.fields["X-Other"] == "1")
        #expect(connection.received.isEmpty)
        return connection.pair
    }

    @Test("both sides send more than the windows hold, and each ends its part")
    func transfer() async throws {
        let served = Served(Self.echo)
        let session = served.session(.http2)
        let pair = try await open(session)
        let sent = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) }
        async let writing: Void = {
            try await pair.output.writeAll(sent)
            try await pair.output.finish()
        }()
        let received = try await pair.input.readAll(limit: 4_000_000)
        try await writing
        #expect(received == sent + Array("end".utf8))
        pair.close()
        while served.records.withLock({ $0.isEmpty }), !Task.isCancelled { await Task.yield() }
        let record = try #require(served.records.withLock { $0.first })
        #expect(record.status == .ok && record.isComplete)
        // The connection carries further requests, and further streams of the protocol.
        #expect(try await session.get(#require(Self.request().url)).status == .ok)
        try await open(session).close()
        #expect(served.connections.withLock { $0 } == 1)
    }

    @Test("the protocol shares its connection with requests and with others of its kind")
    func sideBySide() async throws {
        let served = Served(Self.echo)
        let session = served.session(.http2)
        let pairs = [try await open(session), try await open(session), try await open(session)]
        for (number, pair) in pairs.enumerated() { try await pair.output.writeAll("\(number)") }
        #expect(try await session.get(#require(Self.request().url)).status == .ok)
        for (number, pair) in pairs.enumerated().reversed() {
            #expect(try await pair.input.read(upTo: 10) == Array("\(number)".utf8))
            pair.close()
        }
        #expect(served.connections.withLock { $0 } == 1)
    }

    @Test("each stream with another protocol counts as a long-lived connection, and one too many is refused")
    func longLived() async throws {
        let session = Served(maximumLongLived: 2, Self.echo).session(.http2)
        let pairs = [try await open(session), try await open(session)]
        guard case .declined(let response, let stream) = try await session.upgrade(Self.request(), to: "echo") else {
            Issue.record("a third stream was switched")
            return
        }
        #expect(response.status == .serviceUnavailable)
        stream.close()
        // Requests are answered as before.
        #expect(try await session.get(#require(Self.request().url)).status == .ok)
        for pair in pairs { pair.close() }
    }

    @Test("a client that resets its stream lets the handler's reads and writes fail")
    func reset() async throws {
        let failed = OneShot<StreamError?>()
        let served = Served { exchange in
            let pair = try await exchange.switchProtocols(to: "echo", fields: ["X-Other": "1"]).pair
            await exchange.closed()
            do {
                while try await !pair.input.read(upTo: 10).isEmpty {}
                while true { try await pair.output.writeAll([UInt8](repeating: 0, count: 65_536)) }
            } catch {
                failed.provide(error as? StreamError)
            }
        }
        let session = served.session(.http2)
        try await open(session).close()
        #expect(try await failed.value() != nil)
    }

    @Test("a reader that takes nothing lets the writer wait, and one that goes on lets it go on")
    func backPressure() async throws {
        let blocked = OneShot<Int>()
        let served = Served { exchange in
            let pair = try await exchange.switchProtocols(to: "echo", fields: ["X-Other": "1"]).pair
            let piece = [UInt8](repeating: 1, count: 65_536)
            var count = 0
            while let sent = try pair.output.tryWrite(piece.span.bytes) { count += sent }
            #expect(!pair.output.canAcceptBytes)
            blocked.provide(count)
            try await pair.output.writeAll(piece)
            try await pair.output.finish()
        }
        let session = served.session(.http2)
        let pair = try await open(session)
        let count = try await blocked.value()
        #expect(count >= 65_535)
        #expect(try await pair.input.readAll(limit: 1 << 24).count == count + 65_536)
        pair.close()
    }

    @Test("a refusal is a response like others, and a response that would accept the protocol is a 501")
    func refusals() async throws {
        let served = Served { exchange in
            if exchange.request.target.path == "/missing" { return try await exchange.respond(.notFound, body: [65]) }
            let error = await #expect(throws: StreamError.self) {
                _ = try await exchange.switchProtocols(to: "other")
            }
            #expect(error?.isPOSIX(22) == true)
            #expect(try await exchange.body() == [])
            try await exchange.respond(.ok)
        }
        let session = served.session(.http2)
        for (path, status) in [("/missing", HTTPStatus.notFound), ("/", .notImplemented)] {
            let outcome = try await session.upgrade(Self.request(path), to: "echo")
            guard case .declined(let response, let stream) = outcome else {
                Issue.record("switched")
                continue
            }
            #expect(response.status == status)
            stream.close()
        }
    }

    @Test("a session that permits both versions uses a connection of HTTP/2 that it has, and HTTP/1.1 otherwise")
    func automatic() async throws {
        var configuration = HTTPServer.Configuration.patient
        configuration.connections.tls = try TestIdentity.server()
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let running = Task {
            try await server.run { exchange in
                guard exchange.request.fields.contains(.upgrade) else { return try await exchange.respond(.ok) }
                let pair = try await exchange.switchProtocols(to: "echo").pair
                try await pair.output.writeAll("hello")
            }
        }
        var options = HTTPSession.Configuration()
        options.proxies = .direct
        options.options.tls = try TestIdentity.trusted()
        options.options.pool = HTTPConnectionPool()
        let session = HTTPSession(options)
        let port = try #require(server.port)
        let url = try #require(URL(string: "https://127.0.0.1:\(port)/"))
        for version in [HTTPVersion.http11, .http20] {
            let request = try HTTPRequest(method: .get, url: url)
            guard case .switched(let response, let connection) = try await session.upgrade(request, to: "echo") else {
                Issue.record("declined")
                continue
            }
            #expect(response.version == version)
            let rest = try await connection.pair.input.readAll(limit: 10)
            #expect(connection.received + rest == Array("hello".utf8))
            connection.pair.close()
            // Now there is a connection of HTTP/2.
            #expect(try await session.get(url).version == .http20)
        }
        server.stop(within: .zero)
        try await running.value
    }

    @Test("a server that has not announced it gets no such request", arguments: [true, false])
    func notAnnounced(keepsConnection: Bool) async throws {
        let server = HTTP2Peer()
        let session = server.session { $0.options.keepsConnection = keepsConnection }
        let error = await #expect(throws: StreamError.self) {
            _ = try await session.upgrade(Self.request(), to: "echo")
        }
        #expect(error?.description.contains("HTTP/2") == true)
        #expect(server.requests.isEmpty && server.connectionCount == 1)
    }

    @Test("the request on the wire: no Upgrade, no key, and the name of the protocol")
    func wire() async throws {
        let seen = Locked<HTTP2Request?>(nil)
        let session = Self.session { server in
            var machine = HTTP2ServerMachine(allowsConnectProtocol: true, now: .zero)
            while case let bytes = try await server.input.read(upTo: 65536), !bytes.isEmpty {
                try machine.receive(bytes.span.bytes, now: .zero)
                while let event = machine.nextEvent() {
                    guard case .request(let stream, let request) = event else { continue }
                    seen.withLock { $0 = request }
                    try machine.respond(stream, with: HTTPResponse(status: .noContent), endsHere: false, now: .zero)
                    _ = try machine.send(([66] as [UInt8]).span.bytes, on: stream, endsHere: true, now: .zero)
                }
                let output = machine.withOutput { bytes in bytes.withUnsafeBytes { Array($0) } }
                machine.didWrite(output.count)
                try await server.output.writeAll(output)
            }
        }
        var request = try Self.request("/chat?a")
        try request.fields.set("AQIDBAUGBwgJCgsMDQ4PEC==", for: "Sec-WebSocket-Key")
        try request.fields.set("13", for: "Sec-WebSocket-Version")
        guard case .switched(let response, let connection) = try await session.upgrade(request, to: "websocket") else {
            Issue.record("declined")
            return
        }
        #expect(response.status == .noContent)
        #expect(try await connection.pair.input.readAll(limit: 10) == [66])
        connection.pair.close()
        let sent = try #require(seen.withLock { $0 })
        #expect(sent.connectProtocol == "websocket" && sent.scheme == "http")
        #expect(sent.head.target.description == "/chat?a" && sent.head.authority == "www.example.org")
        #expect(sent.head.fields["Sec-WebSocket-Version"] == "13" && !sent.head.fields.contains("Sec-WebSocket-Key"))
        #expect(!sent.head.fields.contains(.upgrade) && !sent.head.fields.contains(.connection))
    }

    /// A session whose connections are served by a closure.
    private static func session(
        _ versions: HTTPVersions = .http2, _ serve: @escaping @Sendable (StreamPair) async throws -> Void
    ) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.proxies = .direct
        configuration.options.versions = versions
        configuration.options.pool = HTTPConnectionPool { _, loop in
            guard let (near, far) = try? Socket.pair(loop: loop), let client = try? near.makeStreams(),
                let server = try? far.makeStreams()
            else { preconditionFailure("there are no descriptors left") }
            Task {
                try? server.open()
                try? await serve(server)
                server.close()
            }
            return client
        }
        return HTTPSession(configuration)
    }
}
