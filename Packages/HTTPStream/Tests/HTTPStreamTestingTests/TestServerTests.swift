import FoundationEssentials
import HTTPServerKit
import HTTPStreamTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct TestServerTests {
    private let server = TestServer()
    private let url = URL(string: "https://www.example.org/page?x=1")!

    @Test func responsesInOrder() async throws {
        try server.enqueue(.ok, fields: ["Content-Type": "text/plain"], text: "one")
        try server.enqueue(.notFound, text: "two")
        let session = HTTPSession(server.configuration())
        #expect(try await session.get(url).text == "one")
        let second = try await session.get(url)
        #expect(second.status == .notFound && second.text == "two")
        let third = try await session.get(url)
        #expect(third.status == .internalServerError && third.text?.contains("no answer for GET \(url)") == true)
        #expect(server.requests.map(\.url) == [url, url, url])
        #expect(server.requests.map(\.connection) == [0, 0, 0] && server.connectionCount == 1)
        #expect(server.requests.first?.fields[.host] == "www.example.org")
    }

    @Test(arguments: ["http://a.example:8080/", "https://[::1]/x", "http://192.0.2.1/"])
    func anyOrigin(_ text: String) async throws {
        try server.enqueue(.ok)
        let url = try #require(URL(string: text))
        #expect(try await HTTPSession(server.configuration()).get(url).status == .ok)
        #expect(server.requests.map(\.url) == [url])
    }

    @Test func bodies() async throws {
        let (up, down) = ([UInt8](repeating: 1, count: 300_000), [UInt8](repeating: 2, count: 500_000))
        var response = try HTTPResponse(status: .ok)
        response.body = down
        server.enqueue(response)
        server.enqueue(response)
        let session = HTTPSession(server.configuration())
        var request = try HTTPRequest(method: .put, url: url)
        request.body = up
        #expect(try await session.load(request).body == down)
        request.body = []
        let stream = HTTPBody.stream(length: nil) { ReadStream(bytes: up) }
        #expect(try await session.load(request, body: stream).body == down)
        #expect(server.requests.map(\.message.body) == [up, up])
    }

    /// The bytes arrive faster than the load can read them, so that no read waits.
    @Test(arguments: [true, false])
    func aCancelledLoadEndsAlthoughBytesAreAvailable(_ isDownload: Bool) async throws {
        var response = try HTTPResponse(status: .ok)
        response.body = [UInt8](repeating: 1, count: 4_000_000)
        server.enqueue(response)
        let session = HTTPSession(server.configuration())
        let request = try HTTPRequest(method: .get, url: url)
        let path = "/tmp/netkit-cancelled-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: path + ".part") }
        let received = Locked<[Int64]>([])
        let progress: @Sendable (HTTPProgress) -> Void = { progress in
            guard progress.received > 0 else { return }
            received.withLock { $0.append(progress.received) }
            withUnsafeCurrentTask { $0?.cancel() }
        }
        // A task of its own, because the test's must not be cancelled.
        let load = Task {
            if isDownload { return try await session.download(request, to: path, progress: progress) }
            return try await session.load(request, progress: progress)
        }
        await #expect(throws: StreamError.cancelled) { try await load.value }
        #expect(received.withLock { $0.count } == 1)
    }

    @Test func redirectsCookiesAndLogins() async throws {
        try server.enqueue(302, fields: ["Location": "https://other.example/next", "Set-Cookie": "a=b"])
        try server.enqueue(.unauthorized, fields: ["WWW-Authenticate": "Basic realm=x"])
        try server.enqueue(.ok, text: "in")
        try server.enqueue(.ok)
        var configuration = HTTPSession.Configuration()
        configuration.prompt = { _ in .init(user: "joe", password: "secret") }
        let session = HTTPSession(server.configuration(configuration))
        #expect(try await session.get(url).text == "in")
        _ = try await session.get(url)
        #expect(
            server.requests.map { $0.url.host() } == [
                "www.example.org", "other.example", "other.example", "www.example.org",
            ])
        #expect(server.requests.map { $0.fields[.cookie] } == [nil, nil, nil, "a=b"])
        #expect(server.requests.dropFirst(2).first?.fields[.authorization]?.hasPrefix("Basic ") == true)
    }

    @Test func failures() async throws {
        var response = try HTTPResponse(status: .ok)
        response.body = Array("complete".utf8)
        server.enqueue(.cutOff(response, after: 3))
        server.enqueue(.disconnection)
        server.enqueue(.silence)
        var impatient = server.configuration()
        impatient.options.responseTimeout = .milliseconds(10)
        for (count, configuration, isTimeout) in [
            (1, server.configuration(), false), (2, server.configuration(), false), (3, impatient, true),
        ] {
            let session = HTTPSession(configuration)
            let error = await #expect(throws: StreamError.self) { try await session.get(url) }
            #expect(error?.isTimeout == isTimeout)
            // The last limit may pass before the server has the request.
            #expect(isTimeout || server.requests.count == count)
        }
    }

    @Test func bodiesThatCannotBeUsedHaveAReason() async throws {
        var response = try HTTPResponse(status: .ok)
        response.body = Array("complete".utf8)
        server.enqueue(.cutOff(response, after: 3))
        try server.enqueue(.ok, fields: ["Content-Encoding": "gzip"], text: "not compressed")
        let session = HTTPSession(server.configuration())
        for reason in [StreamErrorReason.cutShort, .undecodable] {
            let error = await #expect(throws: StreamError.self) { try await session.get(url) }
            #expect(error?.reason == reason)
        }
    }

    /// A whole service, without sockets.
    @Test func router() async throws {
        var router = Router()
        router.get("/users/:id") { call in
            try await call.respond(text: "user \(try call.path.value("id", as: Int.self))")
        }
        let server = TestServer { [router] exchange in try await router.handle(exchange) }
        let session = HTTPSession(server.configuration())
        #expect(try await session.get(#require(URL(string: "http://a.example/users/7"))).text == "user 7")
        #expect(try await session.get(#require(URL(string: "http://a.example/users/x"))).status == .badRequest)
    }

    @Test func retriesWithoutWaiting() async throws {
        // A GET on a kept connection that has ended would be repeated at once.
        try server.enqueue(.serviceUnavailable, fields: ["Retry-After": "20", "Connection": "close"])
        server.enqueue(.disconnection)
        try server.enqueue(.ok, text: "third")
        let clock = ManualClock()
        var configuration = HTTPSession.Configuration()
        configuration.retries = RetryPolicy(maximumRetries: 2)
        let session = HTTPSession(server.configuration(configuration, clock: clock))
        async let page = session.get(url)
        await clock.waitForPause()
        #expect(server.requests.count == 1)
        clock.advance(by: .seconds(19))
        #expect(server.requests.count == 1)
        clock.advance(by: .seconds(1))
        await clock.waitForPause()
        #expect(server.requests.count == 2)
        clock.advance(by: .seconds(60))
        #expect(try await page.text == "third")
    }

    @Test func cancelledPause() async throws {
        try server.enqueue(.serviceUnavailable, fields: ["Retry-After": "20"])
        let clock = ManualClock()
        var configuration = HTTPSession.Configuration()
        configuration.retries = RetryPolicy(maximumRetries: 1)
        let session = HTTPSession(server.configuration(configuration, clock: clock))
        let load = Task { try await session.get(url) }
        await clock.waitForPause()
        load.cancel()
        await #expect(throws: StreamError.cancelled) { try await load.value }
    }

    @Test func cookiesThatExpire() async throws {
        for _ in 0..<3 { try server.enqueue(.ok, fields: ["Set-Cookie": "a=b; Max-Age=60"]) }
        let clock = ManualClock()
        let session = HTTPSession(server.configuration(clock: clock))
        _ = try await session.get(url)
        clock.advance(by: .seconds(59))
        _ = try await session.get(url)
        clock.advance(by: .seconds(61))
        _ = try await session.get(url)
        #expect(server.requests.map { $0.fields[.cookie] } == [nil, "a=b", nil])
        #expect(session.cookies?.all.first?.expiry != nil)
    }
}
