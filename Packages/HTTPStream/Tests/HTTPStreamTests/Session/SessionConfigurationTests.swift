import EventLoops
import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

/// Each field of a session's configuration changes the result of a load.
@Suite(.timeLimit(.minutes(5))) struct SessionConfigurationTests {
    typealias Change = @Sendable (inout HTTPSession.Configuration) -> Void

    /// A field, a load, and its results with the default and with another value.
    struct Row: Sendable, CustomTestStringConvertible {
        let field: String
        /// Loads with a session; the second argument is whether the field was changed.
        let load: @Sendable (HTTPSession, Bool) async throws -> String
        let usual: String
        let changed: String
        /// Set in both configurations, so that the field has an effect.
        var both: Change = { _ in }
        let change: Change

        var testDescription: String { field }
    }

    @Test(arguments: rows)
    func changesTheOutcome(_ row: Row) async throws {
        for (isChanged, expected) in [(false, row.usual), (true, row.changed)] {
            var configuration = HTTPSession.Configuration()
            configuration.options.pool = HTTPConnectionPool()
            row.both(&configuration)
            if isChanged { row.change(&configuration) }
            #expect(try await row.load(HTTPSession(configuration), isChanged) == expected)
        }
    }

    /// No wait that a server can prolong is unlimited by default.
    @Test func waitsHaveLimitsByDefault() {
        let session = HTTPSession.Configuration()
        #expect(session.options.responseTimeout == .seconds(75) && session.readTimeout == .seconds(75))
        #expect(session.bodyTimeout == .seconds(600) && session.options.discardTimeout == .seconds(5))
        let load = HTTPOptions()
        #expect(load.discardTimeout == .seconds(5) && load.continueTimeout == .seconds(1))
        let server = HTTPServer.Configuration()
        for limit in [
            server.headTimeout, server.idleTimeout, server.bodyTimeout, server.writeTimeout, server.lingerTimeout,
        ] {
            #expect(limit > .zero && limit <= .seconds(60))
        }
    }

    /// Each attempt gets the time that earlier ones have left.
    @Test func attemptsAndRedirectsShareTheTotalLimit() async throws {
        let streams = Locked<[ReadStream]>([])
        var configuration = HTTPSession.Configuration()
        Self.login(&configuration)
        configuration.options.pool = HTTPConnectionPool()
        configuration.options.totalTimeout = .seconds(3600)
        configuration.onRequest = { stream in streams.withLock { $0.append(stream) } }
        let redirect = "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"
        let server = try TurnServer([Self.asks + "no", redirect, Self.ok])
        #expect(try await Self.outcome(HTTPSession(configuration), server) == "200 ok")
        let limits = streams.withLock { $0 }.compactMap { $0[.http(\.totalTimeout)] }
        #expect(limits.count == 3)
        #expect(zip([.seconds(3600)] + limits, limits).allSatisfy { $0 > $1 })
    }

    /// Server-sent events, for instance, have no time limit.
    @Test func aLoadWithoutALimitDoesNotInheritThatOfTheSession() throws {
        var configuration = HTTPSession.Configuration()
        configuration.options.totalTimeout = .seconds(3600)
        let url = try #require(URL(string: "http://origin.example/"))
        let attempt = try SessionAttempt(
            HTTPRequest(method: .get, url: url), at: url, nil, nil, HTTPSession(configuration), LoadOptions(),
            at: .named)
        #expect(attempt.stream[.http(\.totalTimeout)] == nil)
        #expect(attempt.stream[.http(\.responseTimeout)] == .seconds(75))
    }

    @Test func theOptionsOfTLSAreForHTTPS() async throws {
        var configuration = HTTPSession.Configuration()
        configuration.options.tls.minimumVersion = .tls13
        let session = HTTPSession(configuration)
        for scheme in ["http", "https"] {
            let url = try #require(URL(string: "\(scheme)://origin.example/"))
            let attempt = try SessionAttempt(
                HTTPRequest(method: .get, url: url), at: url, nil, nil, session, LoadOptions(),
                at: .named)
            #expect(attempt.stream[.tls]?.minimumVersion == (scheme == "https" ? .tls13 : nil))
        }
        #expect(try await Self.outcome(session, TurnServer([Self.ok])) == "200 ok")
    }

    /// An invalid variable fails the load, not the program.
    @Test func theEnvironmentsProxiesAreTheDefault() throws {
        #expect(throws: StreamError.self) { try ProxySettings.environment(["http_proxy": "::"]) }
        guard case .environment = HTTPSession.Configuration().proxies else {
            Issue.record("another default")
            return
        }
        #expect(HTTPSession.Configuration.Proxies.direct.settings == nil)
        let settings = ProxySettings()
        #expect(try HTTPSession.Configuration.Proxies.settings(settings).settings?.get() == settings)
    }

    @Test func getLoadsAURL() async throws {
        let server = try TurnServer(["HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno"])
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/x"))
        let response = try await HTTPSession().get(url)
        #expect(response.status == 404 && response.body == Array("no".utf8))
        #expect(server.requests.first?.hasPrefix("GET /x HTTP/1.1\r\n") == true)
    }

    @Test func anAttemptThatHasNoTimeLeftIsNotMade() async throws {
        let url = try #require(URL(string: "http://127.0.0.1/"))
        let attempt = try SessionAttempt(
            HTTPRequest(method: .get, url: url), at: url, nil, nil, HTTPSession(),
            LoadOptions(timeout: .nanoseconds(1)), at: .named)
        let origin = try HTTPOrigin(url)
        await #expect(throws: StreamError.timedOut) { try await attempt.prepareStream(to: origin, after: []) }
    }

    @Test("a budget that is used up is no permission to wait", arguments: [Duration.zero, .seconds(-1)])
    func noTime(_ timeout: Duration) async throws {
        let url = try #require(URL(string: "http://127.0.0.1/"))
        let error = await #expect(throws: StreamError.self) { _ = try await HTTPSession().get(url, within: timeout) }
        #expect(error?.isTimeout == true)
    }

    @Test func eachFieldHasARow() {
        let fields = [HTTPSession.Configuration() as Any, HTTPOptions()].flatMap {
            Mirror(reflecting: $0).children.compactMap(\.label)
        }
        #expect(Set(Self.rows.map(\.field)) == Set(fields).subtracting(Self.tested).union(["tls"]))
    }

    /// The fields that other tests cover: the options themselves, and those whose effect NetKit's matrix of properties observes; the clock,
    /// which is not public, and the members that exist with traits, in HTTPStreamTestingTests.
    private static let tested: Set<String> = [
        "options", "continueTimeout", "endpoints", "host", "keepsConnection", "keepsEmptyUserAgent",
        "maximumDecodedLength",
        "proxySettings", "time", "metrics", "tracer",
    ]

    // MARK: Loads

    private static func outcome(
        _ session: HTTPSession, _ server: TurnServer, _ field: (HTTPFieldName, String)? = nil,
        method: HTTPMethod = .get, body: HTTPBody? = nil, host: String? = nil, scheme: String = "http"
    ) async throws -> String {
        let url = "\(scheme)://\(host ?? "127.0.0.1:\(server.port)")/"
        var request = try HTTPRequest(method: method, url: #require(URL(string: url)))
        if let field { try request.fields.set(field.1, for: field.0) }
        do throws(StreamError) {
            let response = try await session.load(request, body: body)
            return "\(response.status) \(response.text ?? "")"
        } catch {
            return error == .timedOut ? "timed out" : "failed"
        }
    }

    /// Loads from a server that sends these responses in turn.
    private static func loading(_ answers: String...) -> @Sendable (HTTPSession, Bool) async throws -> String {
        { session, _ in try await outcome(session, TurnServer(answers)) }
    }

    /// Loads from a server that holds back the part behind the mark, until the load has ended if the field was changed.
    private static func holding(_ answers: String...) -> @Sendable (HTTPSession, Bool) async throws -> String {
        { session, isChanged in
            let server = try TurnServer(answers, holds: isChanged)
            let outcome = try await outcome(session, server)
            // A load may time out before the server's thread has accepted its connection.
            return outcome == "timed out" ? outcome : "\(outcome) \(server.connections)"
        }
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let asks = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=r\r\nContent-Length: 2\r\n\r\n"
    private static let proxyAsks = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=r\r\nContent-Length: 2\r\n\r\nno"
    private static let login: Change = { $0.prompt = { _ in .init(user: "u", password: "p") } }

    /// A store with a credential for every query.
    private struct AnyPlace: CredentialStore {
        let name = "test"
        let mayBlock = false

        func find(_ query: CredentialQuery) -> Credential? {
            Credential(user: "u", password: "p", for: query.space)
        }

        func save(_ credential: Credential) {}
        func remove(_ query: CredentialQuery) -> Int { 0 }
    }

    static let rows: [Row] = [
        Row(
            field: "policy", load: loading(asks + "no", ok), usual: "200 ok", changed: "401 no", both: login,
            change: { $0.policy.banned = [.basic] }),
        Row(
            field: "proxyPolicy",
            load: { session, _ in
                let server = try TurnServer([proxyAsks, ok])
                var configuration = session.configuration
                configuration.proxies = .route(ProxyRoute(HTTPProxy(host: "127.0.0.1", port: server.port)))
                return try await outcome(HTTPSession(configuration), server, host: "origin.example")
            }, usual: "200 ok", changed: "407 no", both: login,
            change: {
                var policy = AuthenticationPolicy()
                policy.banned = [.basic]
                $0.proxyPolicy = policy
            }),
        Row(
            field: "stores", load: loading(asks + "no", ok), usual: "401 no", changed: "200 ok",
            change: { $0.stores = CredentialSearchList(origins: [AnyPlace()], proxies: []) }),
        Row(field: "prompt", load: loading(asks + "no", ok), usual: "401 no", changed: "200 ok", change: login),
        Row(
            field: "bearerTokens",
            load: { session, isChanged in
                let server = try TurnServer([asks + "no", ok])
                var configuration = session.configuration
                if isChanged {
                    let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
                    configuration.bearerTokens = try BearerTokens(for: url) { $0 == nil ? "old" : "new" }
                }
                return try await outcome(HTTPSession(configuration), server)
            }, usual: "401 no", changed: "200 ok", change: { _ in }),
        Row(
            field: "maximumPrompts",
            load: { session, _ in
                let server = try TurnServer(Array(repeating: asks + "no", count: 9))
                return "\(try await outcome(session, server)), asked \(server.requests.count) times"
            }, usual: "401 no, asked 4 times", changed: "401 no, asked 2 times",
            both: { configuration in
                let count = Locked(0)
                configuration.prompt = { _ in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    return .init(user: "u\(number)", password: "p")
                }
            }, change: { $0.maximumPrompts = 1 }),
        Row(
            field: "followsRedirects",
            load: loading("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", ok), usual: "200 ok",
            changed: "302 ", change: { $0.options.followsRedirects = false }),
        Row(
            field: "onRedirect",
            load: loading("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", ok), usual: "200 ok",
            changed: "302 ", change: { $0.onRedirect = { _ in nil } }),
        Row(
            field: "maximumConnectionsPerOrigin",
            load: { session, isChanged in
                let server = try TurnServer([ok, ok])
                let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
                let first = try await session.open(HTTPRequest(method: .get, url: url))
                defer { first.close() }
                let second = try? await session.get(url, within: isChanged ? .milliseconds(50) : nil)
                return second?.text ?? "timed out"
            }, usual: "ok", changed: "timed out", change: { $0.maximumConnectionsPerOrigin = 1 }),
        Row(
            field: "crossOrigin",
            load: { session, _ in
                let second = try TurnServer([ok])
                let there = "http://127.0.0.1:\(second.port)/"
                let first = try TurnServer([
                    "HTTP/1.1 307 There\r\nLocation: \(there)\r\nContent-Length: 0\r\n\r\n"
                ])
                let found = try await outcome(session, first, ("X-Mine", "m"), method: .post, body: .bytes([65]))
                return "\(found) \(second.requests.map { $0.contains("X-Mine: m") })"
            }, usual: "failed []", changed: "200 ok [true]",
            change: { $0.options.crossOrigin = CrossOriginPolicy(fields: ["X-Mine"], sendsBody: true) }),
        Row(
            field: "responseTimeout", load: holding("|" + ok), usual: "200 ok 1", changed: "timed out",
            change: { $0.options.responseTimeout = .milliseconds(50) }),
        Row(
            // The rest of the unneeded body never arrives: the login continues over another connection.
            field: "discardTimeout", load: holding(asks + "n|o", ok), usual: "200 ok 1", changed: "200 ok 2",
            both: {
                login(&$0)
                $0.options.discardTimeout = .seconds(3600)
            },
            change: { $0.options.discardTimeout = .milliseconds(50) }),
        Row(
            field: "readTimeout", load: holding("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok|!"),
            usual: "200 ok! 1", changed: "timed out", change: { $0.readTimeout = .milliseconds(50) }),
        Row(
            field: "bodyTimeout", load: holding("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok|!"),
            usual: "200 ok! 1", changed: "timed out", change: { $0.bodyTimeout = .milliseconds(50) }),
        Row(
            field: "pool",
            load: { session, _ in
                let server = try TurnServer([ok, ok])
                let found = try await (outcome(session, server), outcome(session, server))
                return "\(found) \(server.connections)"
            }, usual: "(\"200 ok\", \"200 ok\") 1", changed: "(\"200 ok\", \"200 ok\") 2",
            change: { $0.options.pool = HTTPConnectionPool(limits: .init(perOrigin: 0)) }),
        Row(
            field: "decodesContent",
            load: { session, _ in
                let server = try TurnServer([ok])
                return "\(try await outcome(session, server)) \(server.requests.map { $0.contains("gzip") })"
            }, usual: "200 ok [true]", changed: "200 ok [false]", change: { $0.options.decodesContent = false }),
        Row(
            field: "tls",
            load: { session, isChanged in
                var configuration = session.configuration
                if isChanged { configuration.options.tls = try TestIdentity.trusted() }
                let server = try TurnServer([ok], tls: TestIdentity.server())
                return try await outcome(HTTPSession(configuration), server, scheme: "https")
            }, usual: "failed", changed: "200 ok", change: { _ in }),
        Row(
            field: "proxies",
            load: { session, _ in
                let (direct, proxy) = (try TurnServer([ok]), try TurnServer([ok]))
                var configuration = session.configuration
                if case .routes = configuration.proxies {
                    configuration.proxies = .route(ProxyRoute(HTTPProxy(host: "127.0.0.1", port: proxy.port)))
                }
                _ = try await outcome(HTTPSession(configuration), direct)
                return "\(direct.requests.count) \(proxy.requests.count)"
            }, usual: "1 0", changed: "0 1", change: { $0.proxies = .route(.direct) }),
        Row(
            field: "limits", load: loading(ok), usual: "200 ok", changed: "failed",
            change: { $0.options.limits.headLength = 10 }),
        Row(
            field: "totalTimeout", load: holding("|" + ok), usual: "200 ok 1", changed: "timed out",
            change: { $0.options.totalTimeout = .milliseconds(50) }),
        Row(
            field: "versions", load: loading(ok), usual: "200 ok", changed: "failed",
            change: { $0.options.versions = .http2 }),
        Row(
            field: "retries",
            load: { session, _ in
                let server = try TurnServer(["HTTP/1.1 503 X\r\nContent-Length: 0\r\nRetry-After: 0\r\n\r\n", ok])
                let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
                return "\(try await session.get(url).status)"
            }, usual: "503", changed: "200", change: { $0.retries = RetryPolicy(maximumRetries: 1) }),
        Row(
            field: "cookies",
            load: { session, _ in
                let server = try TurnServer(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=1\r\n\r\n", ok])
                let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
                for _ in 0..<2 { _ = try await session.get(url) }
                return server.requests.contains { $0.contains("Cookie: a=1") } ? "sent" : "not sent"
            }, usual: "sent", changed: "not sent", change: { $0.cookies = .ignored }),
        Row(
            field: "connection",
            load: { session, _ in
                let server = try TurnServer([ok])
                let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
                let stream = try await session.open(HTTPRequest(method: .get, url: url))
                defer { stream.close() }
                return "\(stream[.openTimeout] ?? .zero)"
            }, usual: "\(StreamProperty<Duration>.openTimeout.defaultValue ?? .zero)",
            changed: "\(Duration.seconds(7))",
            change: { $0.options.connection[.openTimeout] = .seconds(7) }),
        Row(
            field: "onRequest",
            load: { session, _ in
                let count = Locked(0)
                var configuration = session.configuration
                if configuration.onRequest != nil {
                    configuration.onRequest = { stream in count.withLock { $0 += stream.status == .notOpen ? 100 : 1 } }
                }
                let found = try await outcome(HTTPSession(configuration), TurnServer([asks + "no", ok]))
                return "\(found) \(count.withLock { $0 })"
            }, usual: "200 ok 0", changed: "200 ok 2", both: login, change: { $0.onRequest = { _ in } }),
    ]
}
