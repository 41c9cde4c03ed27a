import EventLoops
import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// Which requests are sent again and how often, and which responses are refused.
@Suite(.timeLimit(.minutes(5))) struct RepetitionTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    /// Serves clients on loopback until the test ends.
    private static func listener(_ serve: @escaping @Sendable (StreamPair) async throws -> Void) throws
        -> StreamListener
    {
        let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        Task { try await listener.run { client in try? await serve(client) } }
        return listener
    }

    /// The memory of a head is used again on the same connection: a shorter request contains nothing of a longer one before it.
    @Test func eachRequestSendsItsOwnHead() async throws {
        let server = try TurnServer(Array(repeating: Self.ok, count: 5))
        let pool = HTTPConnectionPool()
        let host = "127.0.0.1:\(server.port)"
        let long = String(repeating: "x", count: 400)
        let paths = ["/\(long)", "/a", "/\(long)\(long)\(long)", "/", "/b?c"]
        for path in paths {
            let url = try #require(URL(string: "http://\(host)\(path)"))
            let stream = ReadStream(request: try HTTPRequest(method: .get, url: url))
            try stream.set(.http(\.keepsConnection), to: true)
            try stream.set(.http(\.pool), to: pool)
            try stream.open()
            let response = try await stream.response()
            #expect(response.url == url)
            #expect(try await stream.read(upTo: 1).isEmpty)
            // The request as sent is prepared again, from the URL.
            #expect(stream[.httpFinalRequest]?.url == url)
            stream.close()
        }
        let fields = "Host: \(host)\r\nUser-Agent: \(RequestPreparation.userAgent)\r\nConnection: keep-alive\r\n\r\n"
        #expect(server.requests == paths.map { "GET \($0) HTTP/1.1\r\n\(fields)" })
        #expect(server.connections == 1)
    }

    @Test("streams that name the same pool share a connection; without a pool, each has its own")
    func namedPools() async throws {
        for (pool, connections) in [(HTTPConnectionPool(), 1), (nil, 4)] {
            let server = try TurnServer(Array(repeating: Self.ok, count: 4))
            let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
            var withFields = try HTTPRequest(method: .get, url: url)
            try withFields.fields.set("1", for: "X-A")
            let streams = [
                try ReadStream(httpURL: url, pool: pool), ReadStream(request: withFields, pool: pool),
                ReadStream(request: try HTTPRequest(method: .post, url: url), body: .bytes([1]), pool: pool),
                ReadStream(request: try HTTPRequest(method: .get, url: url), pool: pool),
            ]
            for stream in streams {
                #expect(stream[.http(\.pool)] === pool ?? .shared && stream[.http(\.keepsConnection)] == (pool != nil))
                try stream.open()
                #expect(try await stream.response().status == .ok)
                #expect(try await stream.read(upTo: 1).isEmpty)
            }
            #expect(server.connections == connections && pool?.idleCount ?? 0 == (pool == nil ? 0 : 1))
            #expect(
                server.requests.map { $0.contains("Connection: keep-alive") } == Array(repeating: pool != nil, count: 4)
            )
        }
        // A property that is set later replaces the parameter.
        let stream = try ReadStream(httpURL: #require(URL(string: "http://127.0.0.1/")), pool: HTTPConnectionPool())
        try stream.set(.http(\.keepsConnection), to: false)
        #expect(stream[.http(\.keepsConnection)] == false)
        #expect(throws: StreamError.self) {
            _ = try ReadStream(httpURL: #require(URL(string: "mailto:a@b")), pool: HTTPConnectionPool())
        }
    }

    /// The server ends the connection after the second request, on which it may have acted (RFC 9110 §9.2.2).
    @Test(
        "a request on a kept connection that ends is sent again only if it is idempotent",
        arguments: [HTTPMethod.get, .post])
    func keptConnections(_ method: HTTPMethod) async throws {
        let requests = Locked(0)
        let listener = try Self.listener { client in
            while try await !client.input.read(upTo: 8192).isEmpty {
                let number = requests.withLock { requests -> Int in
                    requests += 1
                    return requests
                }
                if number == 2 { return }
                try await client.output.writeAll(Array(Self.ok.utf8))
            }
        }
        defer { listener.stop(within: .zero) }
        let url = try #require(URL(string: "http://127.0.0.1:\(listener.port ?? 0)/"))
        let pool = HTTPConnectionPool()
        func load() async throws -> HTTPStatus {
            let stream = ReadStream(request: try HTTPRequest(method: method, url: url))
            defer { stream.close() }
            try stream.set(.http(\.keepsConnection), to: true)
            try stream.set(.http(\.pool), to: pool)
            try stream.open()
            let status = try await stream.response().status
            #expect(try await stream.read(upTo: 1).isEmpty)
            return status
        }
        #expect(try await load() == .ok && pool.idleCount == 1)
        if method == .get {
            #expect(try await load() == .ok)
        } else {
            await #expect(throws: StreamError.self) { try await load() }
        }
        #expect(requests.withLock { $0 } == (method == .get ? 3 : 2))
    }

    /// Closing a connection with bytes that were not read resets it.
    @Test("a request that one proxy has received is not sent to the next") func nextProxy() async throws {
        let first = try Self.listener { client in _ = try await client.input.read(upTo: 1) }
        defer { first.stop(within: .zero) }
        let second = try TurnServer([Self.ok])
        let stream = try ReadStream(httpURL: #require(URL(string: "http://origin.test/")))
        defer { stream.close() }
        let ports = [first.port ?? 0, second.port]
        try stream.set(.proxies, to: ports.map { ProxyRoute(HTTPProxy(host: "127.0.0.1", port: $0)) })
        try stream.open()
        await #expect(throws: StreamError.self) { try await stream.response() }
        #expect(second.requests.isEmpty)
    }

    /// The request is written once the connection is open: only then is its body used.
    @Test func anUnreachableProxyLeavesTheBodyUnused() async throws {
        // No program listens at port 1. A port that was free a moment ago may be another test's now.
        let deadPort: UInt16 = 1
        let server = try TurnServer([Self.ok])
        let request = try HTTPRequest(method: .post, url: #require(URL(string: "http://origin.test/")))
        let stream = ReadStream(
            request: request, body: .stream(once: ReadStream(bytes: [1, 2, 3]), length: 3))
        defer { stream.close() }
        let ports = [deadPort, server.port]
        try stream.set(.proxies, to: ports.map { ProxyRoute(HTTPProxy(host: "127.0.0.1", port: $0)) })
        try stream.open()
        #expect(try await stream.response().status == .ok)
        #expect(server.requests.count == 1 && stream[.httpBodyBytesSent] == 3)
    }

    @Test("a proxy that asks for another login again and again is answered a few times") func proxyLogins() async throws
    {
        let asks =
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Digest realm=r, nonce=n, stale=true\r\nContent-Length: 0\r\n\r\n"
        let server = try TurnServer(Array(repeating: asks, count: 3 * ProxyAccountLogin.maximumRounds) + [Self.ok])
        var proxy = HTTPProxy(host: "127.0.0.1", port: server.port)
        proxy.account = .init(user: "joe", password: Secret("pw"))
        let stream = try ReadStream(httpURL: #require(URL(string: "http://origin.test/")))
        defer { stream.close() }
        try stream.set(.proxies, to: [ProxyRoute(proxy)])
        try stream.open()
        #expect(try await stream.response().status == .proxyAuthenticationRequired)
        #expect(server.requests.count == 1 + ProxyAccountLogin.maximumRounds)
    }

    // MARK: Responses

    @Test(arguments: [0, 1]) func interimResponsesAreCounted(_ surplus: Int) async throws {
        let interim = "HTTP/1.1 103 Early Hints\r\n\r\n"
        let answer = String(repeating: interim, count: HTTPLimits.interimResponses + surplus)
        let server = try TurnServer([answer + Self.ok])
        let stream = try ReadStream(httpURL: #require(URL(string: "http://127.0.0.1:\(server.port)/")))
        defer { stream.close() }
        try stream.open()
        do throws(StreamError) {
            #expect(try await stream.response().status == .ok && surplus == 0)
        } catch {
            #expect(error.sentence.key == "http.interim" && surplus == 1)
        }
    }

    @Test func aProtocolThatWasNotRequestedIsRefused() async throws {
        let server = try TurnServer(["HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\nbytes"])
        let stream = try ReadStream(httpURL: #require(URL(string: "http://127.0.0.1:\(server.port)/")))
        defer { stream.close() }
        try stream.open()
        let error = await #expect(throws: StreamError.self) { try await stream.response() }
        #expect(error?.sentence.key == "http.switched")
    }

    // MARK: Sessions

    private static let asks = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=r\r\nContent-Length: 0\r\n\r\n"

    private static func session(_ change: (inout HTTPSession.Configuration) -> Void) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        change(&configuration)
        return HTTPSession(configuration)
    }

    /// Knows another user at each query.
    private final class ManyUsers: CredentialStore {
        let name = "test"
        let mayBlock = false
        private let count = Locked(0)

        func find(_ query: CredentialQuery) -> Credential? {
            let number = count.withLock { count -> Int in
                count += 1
                return count
            }
            return Credential(user: "u\(number)", password: "p", for: query.space)
        }

        func save(_ credential: Credential) {}
        func remove(_ query: CredentialQuery) -> Int { 0 }
    }

    @Test("a server that refuses each of many users is asked no more often than the policy allows")
    func sessionRounds() async throws {
        let server = try TurnServer(Array(repeating: Self.asks, count: 9) + [Self.ok])
        let session = Self.session {
            $0.policy.limits.roundCount = 3
            $0.stores = CredentialSearchList(origins: [ManyUsers()], proxies: [])
        }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let error = await #expect(throws: StreamError.self) {
            try await session.load(HTTPRequest(method: .get, url: url))
        }
        #expect((error?.underlying as? HTTPAuthError)?.code == .tooManyRounds)
        #expect(server.requests.count == 4)
    }

    @Test("a body that can be sent once, and was, is not sent again with credentials") func spentBody() async throws {
        let server = try TurnServer(["HTTP/1.1 100 Continue\r\n\r\n", Self.asks, Self.ok])
        // The body must not be sent before the server has answered the head.
        let session = Self.session {
            $0.options.continueTimeout = .seconds(60)
        }
        let url = try #require(URL(string: "http://joe:pw@127.0.0.1:\(server.port)/"))
        let body = HTTPBody.stream(once: ReadStream(bytes: [1, 2, 3]), length: 3)
        await #expect(throws: StreamError.bodyNotRepeatable(401)) {
            try await session.load(HTTPRequest(method: .post, url: url), body: body)
        }
        #expect(server.requests.count == 2)
    }

    @Test("a body that a redirect dropped does not prevent a login or another redirect") func droppedBody() async throws
    {
        func redirect(_ status: Int, _ path: String) -> String {
            "HTTP/1.1 \(status) Go\r\nLocation: \(path)\r\nContent-Length: 0\r\n\r\n"
        }
        let server = try TurnServer([
            "HTTP/1.1 100 Continue\r\n\r\n", redirect(303, "/a"), redirect(302, "/b"), Self.asks, Self.ok,
        ])
        let session = Self.session { $0.options.continueTimeout = .seconds(60) }
        let url = try #require(URL(string: "http://joe:pw@127.0.0.1:\(server.port)/"))
        let body = HTTPBody.stream(once: ReadStream(bytes: [1, 2, 3]), length: 3)
        let response = try await session.load(HTTPRequest(method: .post, url: url), body: body)
        #expect(response.status == .ok)
        #expect(server.requests.dropFirst(2).map { $0.prefix(6) } == ["GET /a", "GET /b", "GET /b"])
    }

    @Test("a response's body has at most as many bytes as the caller allows", arguments: [4, 3])
    func bodyTimeout(_ limit: Int) async throws {
        let server = try TurnServer(["HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"])
        let request = try HTTPRequest(
            method: .get, url: #require(URL(string: "http://127.0.0.1:\(server.port)/")))
        do throws(StreamError) {
            let response = try await Self.session { _ in }.load(request, limit: limit)
            #expect(response.body == Array("body".utf8) && limit == 4)
        } catch {
            #expect(error == .bodyTooLong(limit) && limit == 3)
        }
    }
}
