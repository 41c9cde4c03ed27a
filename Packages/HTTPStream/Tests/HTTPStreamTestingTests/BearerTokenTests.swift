import EventLoops
import FoundationEssentials
import HTTPStream
import HTTPStreamTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct BearerTokenTests {
    private let server = TestServer()
    private let api = "https://api.example/"

    /// The arguments of the closure, in order.
    private final class Calls: Sendable {
        private let list = Locked<[String?]>([])
        var all: [String?] { list.withLock { $0 } }

        /// Returns the number of the call.
        func add(_ refused: String?) -> Int {
            list.withLock {
                $0.append(refused)
                return $0.count
            }
        }
    }

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private func session(
        for origin: String? = nil, _ token: @escaping @Sendable (String?) async throws -> String?
    ) throws -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.bearerTokens = try BearerTokens(for: url(origin ?? api), token: token)
        return HTTPSession(server.configuration(configuration))
    }

    private var sent: [String?] { server.requests.map { $0.fields[.authorization] } }

    @Test func aTokenIsKeptUntilTheServerRefusesIt() async throws {
        let calls = Calls()
        let session = try session { "token\(calls.add($0))" }
        for status in [200, 401, 200, 200] as [HTTPStatus] { try server.enqueue(status, text: "\(status)") }
        for page in ["", "a", "b"] { #expect(try await session.get(url(api + page)).status == .ok) }
        #expect(sent == ["Bearer token1", "Bearer token1", "Bearer token2", "Bearer token2"])
        #expect(calls.all == [nil, "token1"])
        session.forgetCredentials()
        try server.enqueue(.ok)
        #expect(try await session.get(url(api)).status == .ok)
        #expect(sent.last == "Bearer token3" && calls.all.last == .some(nil))
    }

    @Test func aBodyIsSentAgainWithTheNewToken() async throws {
        let calls = Calls()
        let session = try session { "token\(calls.add($0))" }
        try server.enqueue(.unauthorized)
        try server.enqueue(.ok)
        var request = try HTTPRequest(method: .post, url: url(api))
        request.body = Array("order".utf8)
        #expect(try await session.load(request).status == .ok)
        #expect(server.requests.map(\.message.text) == ["order", "order"])
    }

    @Test("a second refusal, no token, and the refused token again leave the 401", arguments: [true, false, nil])
    func theRefusalIsTheResponse(_ isRenewed: Bool?) async throws {
        let calls = Calls()
        let session = try session { refused in
            let number = calls.add(refused)
            return number == 1 || isRenewed == true ? "token\(number)" : isRenewed == nil ? nil : refused
        }
        let count = isRenewed == true ? 2 : 1
        for _ in 0..<count { try server.enqueue(.unauthorized) }
        #expect(try await session.get(url(api)).status == .unauthorized)
        #expect(server.requests.count == count && calls.all == [nil, "token1"])
    }

    @Test func concurrentLoadsShareOneRenewal() async throws {
        let calls = Calls()
        let session = try session { "token\(calls.add($0))" }
        // Both requests have the old token before either is refused.
        let arrived = Locked(0)
        let areBothThere = AsyncSemaphore(0)
        let handler: HTTPServer.Handler = { exchange in
            guard exchange.request.fields[.authorization] == "Bearer token1" else {
                return try await exchange.respond(.ok)
            }
            let count = arrived.withLock {
                $0 += 1
                return $0
            }
            if count == 2 { (0..<2).forEach { _ in areBothThere.signal() } }
            try? await areBothThere.wait()
            try await exchange.respond(.unauthorized)
        }
        for _ in 0..<4 { server.enqueue(.handler(handler)) }
        let url = try url(api)
        async let one = session.get(url)
        async let other = session.get(url)
        #expect(try await [one.status, other.status] == [.ok, .ok])
        #expect(calls.all.count == 2)
    }

    @Test(
        "a token is sent to its origin only, and not after a redirect between origins",
        arguments: [
            ("https://api.example/", "https://other.example/"), ("https://api.example/", "https://api.example:444/"),
            ("https://api.example/", "http://api.example/"), ("https://other.example/", "https://api.example/"),
            ("http://api.example/", "https://api.example/"),
        ])
    func redirects(_ from: String, _ to: String) async throws {
        var configuration = HTTPSession.Configuration()
        configuration.options.crossOrigin.insecureAllowsHTTP = true
        configuration.bearerTokens = try BearerTokens(for: url(api)) { _ in "secret" }
        let session = HTTPSession(server.configuration(configuration))
        try server.enqueue(.found, fields: HTTPFields([("Location", to)]))
        try server.enqueue(.found, fields: HTTPFields([("Location", from + "again")]))
        try server.enqueue(.ok)
        #expect(try await session.get(url(from)).status == .ok)
        #expect(sent == [from == api ? "Bearer secret" : nil, nil, nil])
    }

    @Test func aRedirectWithinTheOriginKeepsTheToken() async throws {
        let session = try session { _ in "secret" }
        try server.enqueue(.found, fields: ["Location": "/b"])
        try server.enqueue(.ok)
        #expect(try await session.get(url(api)).status == .ok)
        #expect(sent == ["Bearer secret", "Bearer secret"])
    }

    @Test func theCallersOwnFieldIsSentAsItIs() async throws {
        let session = try session { _ in "secret" }
        try server.enqueue(.unauthorized)
        let request = try HTTPRequest(method: .get, url: url(api), fields: ["Authorization": "Bearer mine"])
        #expect(try await session.load(request).status == .unauthorized && sent == ["Bearer mine"])
    }

    @Test func theClosureMayUseTheSession() async throws {
        let own = Locked<HTTPSession?>(nil)
        let login = try url(api + "token")
        let session = try session { _ in try await own.withLock { $0 }?.get(login).text }
        own.withLock { $0 = session }
        defer { own.withLock { $0 = nil } }
        try server.enqueue(.ok, text: "fresh")
        try server.enqueue(.ok)
        #expect(try await session.get(url(api)).status == .ok)
        #expect(sent == [nil, "Bearer fresh"])
    }

    /// The closure may depend on another server, which could prolong each load.
    @Test(
        "a load ends at its time limit or when it is cancelled, and a later one has the token",
        arguments: [true, false])
    func aSlowClosure(_ isCancelled: Bool) async throws {
        let calls = Calls()
        let (hasBegun, mayReturn) = (OneShot<Bool>(), AsyncSemaphore(0))
        let session = try session { refused in
            let number = calls.add(refused)
            hasBegun.provide(true)
            try await mayReturn.wait()
            return "token\(number)"
        }
        try server.enqueue(.ok)
        let url = try url(api)
        let load = Task { try await session.get(url, within: isCancelled ? .seconds(3600) : .milliseconds(10)) }
        _ = try await hasBegun.value()
        if isCancelled { load.cancel() }
        let error = await #expect(throws: StreamError.self) { try await load.value }
        #expect(isCancelled ? error == .cancelled : error?.isTimeout == true)
        mayReturn.signal()
        #expect(try await session.get(url).status == .ok)
        #expect(sent == ["Bearer token1"] && calls.all.count == 1)
    }

    @Test func failures() async throws {
        struct Offline: Error {}
        for token in ["", "a b", "a\r\nX: 1", "=a", "é"] {
            let error = await #expect(throws: StreamError.self) { try await session { _ in token }.get(url(api)) }
            #expect(error?.description.contains("bearer token") == true)
        }
        let error = await #expect(throws: StreamError.self) {
            try await session { _ in throw Offline() }.get(url(api))
        }
        #expect(error?.underlying is Offline && server.requests.isEmpty)
        #expect(throws: StreamError.self) { try BearerTokens(for: url("http://api.example/")) { _ in "a" } }
        for own in ["http://127.0.0.1:8080/", "http://[::1]/", "http://localhost/x"] {
            #expect(try BearerTokens(for: url(own)) { _ in "a" }.origin.host.isEmpty == false)
        }
    }
}
