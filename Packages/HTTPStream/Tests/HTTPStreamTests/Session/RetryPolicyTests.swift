import EventLoops
import FoundationEssentials
import Glibc
import HTTPMessage
import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

@Suite(.timeLimit(.minutes(5))) struct RetryPolicyTests {
    private static let now = HTTPDate(secondsSinceEpoch: 1_000_000)

    @Test(
        "delays double up to the longest, between half and the whole",
        arguments: [(0, 0.0, 250), (0, 1, 500), (1, 1, 1000), (3, 1, 4000), (5, 1, 5000), (5, 0, 2500)])
    func delays(_ retries: Int, _ random: Double, _ milliseconds: Int) {
        let policy = RetryPolicy(maximumRetries: 10, maximumDelay: .seconds(5))
        #expect(policy.delay(after: .timedOut, retries: retries, random: random) == .milliseconds(milliseconds))
    }

    @Test func extremeDelaysDoNotTrap() {
        let policy = RetryPolicy(maximumRetries: .max, firstDelay: .seconds(Int64.max), maximumDelay: .seconds(-1))
        #expect(policy.delay(after: .timedOut, retries: 1000, random: 1) == .zero)
        let long = RetryPolicy(
            maximumRetries: .max, firstDelay: .seconds(Int64.max / 4), maximumDelay: .seconds(Int64.max / 2))
        #expect(long.delay(after: .timedOut, retries: 100_000, random: 1) != nil)
    }

    @Test(
        "Retry-After replaces the delay",
        arguments: [
            ("0", 0), ("7", 7), ("30", 30), ("31", nil), ("99999999999999999999", 1),
            (HTTPDate(secondsSinceEpoch: 1_000_012).description, 12),
            (HTTPDate(secondsSinceEpoch: 999_000).description, 0), ("soon", 1), ("-1", 1),
        ] as [(String, Int?)])
    func retryAfter(_ field: String, _ seconds: Int?) throws {
        var response = try HTTPResponse(status: .serviceUnavailable)
        try response.fields.set(field, for: .retryAfter)
        let policy = RetryPolicy(maximumRetries: 3, firstDelay: .seconds(1))
        let delay = policy.delay(after: response, retries: 0, now: Self.now, random: 1)
        #expect(delay == seconds.map { .seconds($0) })
        #expect(policy.delay(after: response, retries: 3, now: Self.now, random: 1) == nil)
    }

    @Test(
        "only failures of the connection are temporary",
        arguments: [
            (StreamError.timedOut, true), (StreamError(posix: ECONNREFUSED), true), (StreamError.cancelled, false),
            (StreamError.closed, false), (StreamError(posix: EMFILE), false), (.connectionLost("early"), true),
            (.badURL("x"), false),
        ])
    func errors(_ error: StreamError, _ isTemporary: Bool) {
        #expect((RetryPolicy(maximumRetries: 1).delay(after: error, retries: 0, random: 1) != nil) == isTemporary)
    }

    @Test func onlyRepeatableRequestsAreSentAgain() throws {
        let policy = RetryPolicy(maximumRetries: 1)
        let url = try #require(URL(string: "http://a/"))
        let once = HTTPBody.stream(once: ReadStream(bytes: [1]))
        for (method, body, expected) in [
            (HTTPMethod.get, nil, true), (.put, HTTPBody.bytes([1]), true), (.put, once, false), (.post, nil, false),
        ] {
            #expect(policy.permits(try HTTPRequest(method: method, url: url), body) == expected)
        }
        #expect(!RetryPolicy.never.permits(try HTTPRequest(method: .get, url: url), nil))
    }

    // MARK: Sessions

    private static let unavailable = "HTTP/1.1 503 X\r\nContent-Length: 2\r\nRetry-After: 0\r\n\r\nno"
    private static let ok = "HTTP/1.1 200 X\r\nContent-Length: 3\r\n\r\nyes"

    private func session(_ policy: RetryPolicy) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        configuration.retries = policy
        return HTTPSession(configuration)
    }

    private func url(_ server: TurnServer) throws -> URL {
        try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
    }

    @Test func aSessionSendsARequestAgain() async throws {
        let server = try TurnServer([Self.unavailable, Self.unavailable, Self.ok])
        let response = try await session(RetryPolicy(maximumRetries: 2)).get(url(server))
        #expect(response.text == "yes" && server.requests.count == 3 && server.connections == 1)
    }

    @Test func theLastResponseIsTheResult() async throws {
        let server = try TurnServer([Self.unavailable, Self.unavailable, Self.ok])
        #expect(try await session(RetryPolicy(maximumRetries: 1)).get(url(server)).text == "no")
        let another = try TurnServer([Self.unavailable, Self.ok])
        #expect(try await session(.never).get(url(another)).text == "no")
    }

    @Test func aRequestWithSideEffectsIsSentOnce() async throws {
        let server = try TurnServer([Self.unavailable, Self.ok])
        let request = try HTTPRequest(method: .post, url: url(server))
        #expect(try await session(RetryPolicy(maximumRetries: 5)).load(request).text == "no")
        #expect(server.requests.count == 1)
    }

    @Test func aRequestWhoseConnectionIsLostIsSentAgain() async throws {
        let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        let connections = Locked(0)
        let running = Task {
            try await listener.run { client in
                // The first response ends in its head.
                let isFirst = connections.withLock { connections in
                    connections += 1
                    return connections == 1
                }
                _ = try? await client.input.read(upTo: 8192)
                try? await client.output.writeAll(Array((isFirst ? "HTTP/1.1 200" : Self.ok).utf8))
            }
        }
        let url = try #require(URL(string: "http://127.0.0.1:\(listener.port ?? 0)/"))
        let policy = RetryPolicy(maximumRetries: 1, firstDelay: .zero)
        #expect(try await session(policy).get(url).text == "yes")
        #expect(connections.withLock { $0 } == 2)
        listener.stop()
        try await running.value
    }

    @Test func aRefusedConnectionIsRetriedUntilTheLimit() async throws {
        let closed = try RefusedPort()
        let streams = Locked(0)
        var configuration = HTTPSession.Configuration()
        configuration.proxies = .direct
        configuration.retries = RetryPolicy(maximumRetries: 2, firstDelay: .zero)
        configuration.onRequest = { _ in streams.withLock { $0 += 1 } }
        let error = await #expect(throws: StreamError.self) {
            _ = try await HTTPSession(configuration).get(#require(URL(string: "http://127.0.0.1:\(closed.port)/")))
        }
        #expect(error?.isPOSIX(ECONNREFUSED) == true && streams.withLock { $0 } == 3)
    }

    @Test func aPauseBeyondTheTimeLimitIsNotBegun() async throws {
        let late = Self.unavailable.replacing("Retry-After: 0", with: "Retry-After: 7200")
        let server = try TurnServer([late, Self.ok])
        let policy = RetryPolicy(maximumRetries: 3, maximumDelay: .seconds(7200))
        let response = try await session(policy).get(url(server), within: .seconds(3600))
        #expect(response.status == .serviceUnavailable)
    }
}
