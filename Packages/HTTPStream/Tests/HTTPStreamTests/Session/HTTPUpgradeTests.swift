import EventLoops
import FoundationEssentials
import HTTPMessage
import HTTPStreamTesting
import StreamKit
import Testing

@testable import HTTPStream

/// Connections that change to another protocol, on both sides.
@Suite(.timeLimit(.minutes(5))) struct HTTPUpgradeTests {
    /// Runs a server while `body` uses its URL.
    private func serving<Result: Sendable>(
        _ handler: @escaping HTTPServer.Handler, _ body: (URL) async throws -> Result
    ) async throws -> Result {
        let server = try HTTPServer(port: 0, isLocal: true, configuration: .patient)
        let port = try #require(server.port)
        let running = Task { try await server.run(handler) }
        let result: Result
        do {
            result = try await body(try #require(URL(string: "http://127.0.0.1:\(port)/")))
        } catch {
            server.stop(within: .zero)
            throw error
        }
        server.stop(within: .zero)
        try await running.value
        return result
    }

    private func session() -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.proxies = .direct
        configuration.options.pool = HTTPConnectionPool()
        return HTTPSession(configuration)
    }

    /// Switches to "echo", and returns the bytes in upper case.
    @Sendable private static func shout(_ exchange: HTTPServerExchange) async throws {
        var fields = HTTPFields()
        try fields.set("yes", for: "X-Loud")
        let connection = try await exchange.switchProtocols(to: "echo", fields: fields)
        var bytes = connection.received
        while true {
            if !bytes.isEmpty {
                let text = String(decoding: bytes, as: UTF8.self).uppercased()
                try await connection.pair.output.writeAll(Array(text.utf8))
            }
            bytes = try await connection.pair.input.read(upTo: 100)
            if bytes.isEmpty { return }
        }
    }

    @Test func switches() async throws {
        try await serving(Self.shout) { url in
            let session = session()
            let request = try HTTPRequest(method: .get, url: url)
            guard case .switched(let response, let connection) = try await session.upgrade(request, to: "echo") else {
                Issue.record("declined")
                return
            }
            #expect(response.status == .switchingProtocols)
            #expect(response.fields["X-Loud"] == "yes")
            #expect(response.fields[.upgrade] == "echo")
            #expect(connection.received == [])
            for word in ["one", "two"] {
                try await connection.pair.output.writeAll(Array(word.utf8))
                #expect(try await connection.pair.input.read(upTo: 3) == Array(word.uppercased().utf8))
            }
            #expect(session.configuration.options.pool.idleCount == 0)
            try await connection.pair.output.finish()
            #expect(try await connection.pair.input.read(upTo: 3) == [])
            connection.pair.close()
        }
    }

    /// The other protocol notices the end itself: a handler that closes its connection is not cancelled by that.
    @Test func aHandlerOfAnotherProtocolIsNotCancelled() async throws {
        let result = OneShot<Bool>()
        let handler: HTTPServer.Handler = { exchange in
            let connection = try await exchange.switchProtocols(to: "echo")
            while try await !connection.pair.input.read(upTo: 100).isEmpty {}
            connection.pair.close()
            await exchange.closed()
            result.provide(Task.isCancelled)
        }
        try await serving(handler) { url in
            let request = try HTTPRequest(method: .get, url: url)
            guard case .switched(_, let connection) = try await session().upgrade(request, to: "echo") else { return }
            connection.pair.close()
            #expect(try await result.value() == false)
        }
    }

    /// Bytes that follow a head directly belong to the other protocol, on both sides.
    @Test func keepsBytesBehindTheHead() async throws {
        try await serving(Self.shout) { url in
            let pair = StreamPair(host: "127.0.0.1", port: UInt16(try #require(url.port)))
            defer { pair.close() }
            try pair.open()
            let head = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: other, echo\r\n\r\n"
            try await pair.output.writeAll(Array("\(head)hello".utf8))
            try await pair.output.finish()
            let text = String(decoding: try await pair.input.readAll(limit: 1000), as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"))
            #expect(text.hasSuffix("\r\n\r\nHELLO"))
        }
    }

    /// Only the case of ASCII letters is ignored, and no space is left out within a name. The Kelvin sign in lower case is k.
    @Test(arguments: [("spar\u{212A}", false), ("sp ark", false), ("a,\u{301}b, SPARK\t", true)])
    func namesOfProtocols(_ offer: String, _ isOffered: Bool) async throws {
        let handler: HTTPServer.Handler = { exchange in
            if let connection = try? await exchange.switchProtocols(to: "Spark") { return connection.pair.close() }
            try await exchange.respond(.ok)
        }
        try await serving(handler) { url in
            let pair = StreamPair(host: "127.0.0.1", port: UInt16(try #require(url.port)))
            defer { pair.close() }
            try pair.open()
            let head = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close, Upgrade\r\nUpgrade: \(offer)\r\n\r\n"
            try await pair.output.writeAll(Array(head.utf8))
            let text = String(decoding: try await pair.input.readAll(limit: 1000), as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 101 ") == isOffered && text.hasPrefix("HTTP/1.1 200 ") != isOffered)
        }
    }

    /// A server that responds as without the offer: the response is read as usual, and the connection is kept.
    @Test func reportsADeclinedOffer() async throws {
        try await serving { exchange in
            #expect(exchange.request.fields[.upgrade] == "echo")
            try await exchange.respond(.ok, body: Array("no".utf8))
        } _: { url in
            let session = session()
            let request = try HTTPRequest(method: .get, url: url)
            guard case .declined(let response, let stream) = try await session.upgrade(request, to: "echo") else {
                Issue.record("switched")
                return
            }
            #expect(response.status == .ok)
            #expect(try await stream.readAll(limit: 10) == Array("no".utf8))
            #expect(session.configuration.options.pool.idleCount == 1)
        }
    }

    /// A server that switches to another protocol than the one that was offered.
    @Test func refusesAnotherProtocol() async throws {
        let listener = try StreamListener(port: 0, isLocal: true)
        let url = try #require(URL(string: "http://127.0.0.1:\(listener.port ?? 0)/"))
        let running = Task {
            try await listener.run { pair in
                _ = try? await pair.input.read(upTo: 4096)
                let answer = "HTTP/1.1 101 Go\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n"
                try? await pair.output.writeAll(Array(answer.utf8))
                _ = try? await pair.input.read(upTo: 1)
            }
        }
        let offer = try HTTPRequest(method: .get, url: url)
        await #expect(throws: StreamError.self) { _ = try await session().upgrade(offer, to: "echo") }
        listener.stop(within: .zero)
        try await running.value
    }

    /// A request without an offer, one that offers another protocol, and fields that a 101 cannot have.
    @Test func switchesOnlyAsOffered() async throws {
        let errors = Locked<[StreamError]>([])
        try await serving { exchange in
            var length = HTTPFields()
            try length.set("3", for: .contentLength)
            for fields in [HTTPFields(), length] {
                do throws(StreamError) {
                    _ = try await exchange.switchProtocols(to: fields.isEmpty ? "other" : "echo", fields: fields)
                } catch {
                    errors.withLock { $0.append(error) }
                }
            }
            try await exchange.respond(.ok)
        } _: { url in
            let session = session()
            #expect(try await session.get(url).status == .ok)
            guard
                case .declined(_, let stream) = try await session.upgrade(
                    HTTPRequest(method: .get, url: url), to: "echo")
            else {
                Issue.record("switched")
                return
            }
            stream.close()
        }
        #expect(errors.withLock { $0 }.allSatisfy { $0.isPOSIX(22) })
        #expect(errors.withLock { $0.count } == 4)
    }

    /// For an offer, every proxy establishes a tunnel, whatever the scheme.
    @Test func usesTunnels() throws {
        let origin = try HTTPOrigin(try #require(URL(string: "http://example.org/")))
        let routes = [ProxyRoute(HTTPProxy(host: "proxy.example", port: 3128))]
        #expect(HTTPRoute.all(to: origin, through: routes).map(\.proxy?.host) == ["proxy.example"])
        let tunnels = HTTPRoute.all(to: origin, through: routes, inTunnels: true)
        #expect(tunnels.map(\.routes) == [routes])
        #expect(tunnels.map(\.proxy?.host) == [nil])
        var properties = StreamProperties()
        properties[.proxies] = routes
        let plain = HTTPConnectionKey(origin, properties, loop: .shared)
        let tunnelled = HTTPConnectionKey(origin, properties, loop: .shared, isTunnelled: true)
        #expect(plain.origin.host == "proxy.example")
        #expect(tunnelled.origin == origin)
        #expect(plain != tunnelled)
    }
}
