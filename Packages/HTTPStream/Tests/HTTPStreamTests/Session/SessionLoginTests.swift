import EventLoops
import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// The logins of a session's request: that of the user in its URL, and that for a proxy named by a script.
@Suite(.timeLimit(.minutes(5))) struct SessionLoginTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let asks = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=r\r\nContent-Length: 2\r\n\r\nno"
    private static let proxyAsks = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=r\r\nContent-Length: 2\r\n\r\nno"

    private static func session(_ change: (inout HTTPSession.Configuration) -> Void = { _ in }) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        change(&configuration)
        return HTTPSession(configuration)
    }

    private static func load(_ session: HTTPSession, _ url: String) async throws -> HTTPStatus {
        try await session.load(HTTPRequest(method: .get, url: #require(URL(string: url)))).status
    }

    @Test("a URL with a user does not use another user's login") func usersOfURLs() async throws {
        let server = try TurnServer([Self.asks, Self.ok, Self.ok, Self.asks, Self.ok, Self.ok])
        let session = Self.session()
        for login in ["joe:pw@", "joe@", "ann:pw2@", ""] {
            #expect(try await Self.load(session, "http://\(login)127.0.0.1:\(server.port)/") == .ok)
        }
        let joe = "Basic am9lOnB3"
        let ann = "Basic YW5uOnB3Mg=="
        let sent = server.requests.map { request in [joe, ann].first { request.contains($0) } }
        #expect(sent == [nil, joe, joe, nil, ann, ann])
    }

    @Test("a proxy that establishes tunnels for http URLs receives its login with CONNECT, and the origin does not")
    func tunnelsForHTTP() async throws {
        let proxy = try TurnServer([Self.proxyAsks, "HTTP/1.1 200 OK\r\n\r\n", Self.ok])
        var server = try ProxyServer("http://joe:pw@127.0.0.1:\(proxy.port)")
        server.usesTunnels = true
        var settings = ProxySettings()
        (settings.others, settings.bypassesLoopback) = ([server], false)
        let session = Self.session { [settings] in $0.proxies = .settings(settings) }
        #expect(try await Self.load(session, "http://127.0.0.1:1/") == .ok)
        let login = "Proxy-Authorization: Basic am9lOnB3"
        #expect(proxy.requests.map { $0.prefix { $0 != " " } } == ["CONNECT", "CONNECT", "GET"])
        #expect(proxy.requests.map { $0.contains(login) } == [false, true, false])
    }

    @Test("a refused password of a URL is replaced by the known one of its user") func wrongPassword() async throws {
        let server = try TurnServer([Self.asks, Self.ok, Self.asks, Self.asks, Self.ok])
        let session = Self.session()
        for login in ["joe:pw@", "joe:wrong@"] {
            #expect(try await Self.load(session, "http://\(login)127.0.0.1:\(server.port)/") == .ok)
        }
        let values = ["Basic am9lOnB3", "Basic am9lOndyb25n"]
        let sent = server.requests.map { request in values.first { request.contains($0) } }
        #expect(sent == [nil, values[0], nil, values[1], values[0]])
    }

    @Test("a bearer token is renewed after a 401 without a challenge, and not sent to another port") func bearerTokens()
        async throws
    {
        let other = try TurnServer([Self.ok])
        let server = try TurnServer([
            "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno",
            "HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:\(other.port)/\r\nContent-Length: 0\r\n\r\n",
        ])
        let url = "http://127.0.0.1:\(server.port)/"
        let tokens = try BearerTokens(for: #require(URL(string: url))) { $0.map { "\($0)+" } ?? "first" }
        let session = Self.session { $0.bearerTokens = tokens }
        #expect(try await Self.load(session, url) == .ok)
        let sent = server.requests.map { request in
            request.split(separator: "\r\n").first { $0.hasPrefix("Authorization") }
        }
        #expect(sent == ["Authorization: Bearer first", "Authorization: Bearer first+"])
        #expect(other.requests.count == 1 && !other.requests[0].contains("Authorization"))
    }

    @Test("a proxy receives no bearer token for this machine", arguments: [true, false])
    func bearerTokensAndProxies(_ hasSettings: Bool) async throws {
        let proxy = try TurnServer([Self.ok])
        let url = "http://localhost/"
        let token = Locked<String?>("secret")
        let tokens = try BearerTokens(for: #require(URL(string: url))) { _ in token.withLock { $0 } }
        var settings = ProxySettings()
        settings.http = [try ProxyServer("http://127.0.0.1:\(proxy.port)")]
        settings.bypassesLoopback = false
        let session = Self.session { configuration in
            configuration.bearerTokens = tokens
            configuration.proxies =
                hasSettings ? .settings(settings) : .route(ProxyRoute(HTTPProxy(host: "127.0.0.1", port: proxy.port)))
        }
        let error = await #expect(throws: StreamError.self) { try await Self.load(session, url) }
        #expect(error?.description.contains("clear text") == true)
        #expect(proxy.requests.isEmpty)
        // Without a token, the proxy is used.
        token.withLock { $0 = nil }
        session.forgetCredentials()
        #expect(try await Self.load(session, url) == .ok)
        #expect(proxy.requests.count == 1)
    }

    /// The refusal is for the field of the program, and the token is still good.
    @Test("a refused field of a redirect does not renew the bearer token") func bearerTokensAndRedirects() async throws
    {
        let server = try TurnServer([
            "HTTP/1.1 302 X\r\nLocation: /own\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno", Self.ok,
        ])
        let url = "http://127.0.0.1:\(server.port)/"
        let tokens = try BearerTokens(for: #require(URL(string: url))) { $0.map { "\($0)+" } ?? "first" }
        let session = Self.session { configuration in
            configuration.bearerTokens = tokens
            configuration.onRedirect = { redirect in
                var next = redirect.next
                try? next.fields.set("Bearer own", for: .authorization)
                return next
            }
        }
        #expect(try await Self.load(session, url) == .unauthorized)
        #expect(try await Self.load(session, url + "next") == .ok)
        let sent = server.requests.map { request in
            request.split(separator: "\r\n").first { $0.hasPrefix("Authorization") }
        }
        #expect(sent == ["first", "own", "first"].map { "Authorization: Bearer \($0)" })
    }

    @Test(
        "a load ends at its time limit or when it is cancelled, although the user has not answered",
        arguments: [true, false])
    func aSlowUser(_ isCancelled: Bool) async throws {
        let server = try TurnServer([Self.asks, Self.asks, Self.ok])
        let (hasBegun, mayEnd, hasEnded) = (OneShot<Void>(), AsyncSemaphore(0), OneShot<Bool>())
        let session = Self.session { configuration in
            if !isCancelled { configuration.time = StoppedTime(now: .now - .seconds(3600)) }
            configuration.prompt = { _ in
                if hasBegun.value != nil { return .init(user: "joe", password: "pw") }
                hasBegun.provide(())
                await Task.detached { try? await mayEnd.wait() }.value
                hasEnded.provide(Task.isCancelled)
                return nil
            }
        }
        let request = try HTTPRequest(method: .get, url: #require(URL(string: "http://127.0.0.1:\(server.port)/")))
        let load = Task { try await session.load(request, within: .seconds(3600)) }
        try await hasBegun.value()
        if isCancelled { load.cancel() }
        let error = await #expect(throws: StreamError.self) { try await load.value }
        #expect(isCancelled ? error == .cancelled : error?.isTimeout == true)
        #expect(try await session.load(request).status == .ok, "the next load asks again")
        mayEnd.signal()
        #expect(try await hasEnded.value(), "the closure is cancelled")
    }

    /// A clock that does not move. If it is slow by the time limit of a load, the load has all of its time for the server, and the limit
    /// has passed for the waits within the process.
    private struct StoppedTime: SessionTime {
        let now: Moment
        var secondsSinceEpoch: Int64 { 0 }
        func sleep(for duration: Duration) async throws { throw CancellationError() }
    }

    @Test(
        "a password that was used with Digest is used with Basic only if the user sees why and agrees",
        arguments: ["r", "other"], [nil, false, true])
    func weakerLogins(_ realm: String, _ agrees: Bool?) async throws {
        let server = try TurnServer([
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=r, nonce=n\r\nContent-Length: 2\r\n\r\nno",
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\(realm)\r\nContent-Length: 2\r\n\r\nno", Self.ok,
        ])
        let prompts = Locked<[AuthenticationPrompt]>([])
        let session = Self.session { configuration in
            guard let agrees else { return }
            configuration.prompt = { prompt in
                prompts.withLock { $0.append(prompt) }
                return agrees ? .init(user: "joe", password: "pw") : nil
            }
        }
        let status = try await Self.load(session, "http://joe:pw@127.0.0.1:\(server.port)/")
        #expect(status == (agrees == true ? .ok : .unauthorized))
        let sent = server.requests.map { request in
            ["Digest", "Basic"].first { request.contains("Authorization: \($0) ") }
        }
        #expect(sent == [nil, "Digest"] + (agrees == true ? ["Basic"] : []))
        let asked = prompts.withLock { $0 }
        #expect(asked.map(\.method) == (agrees == nil ? [] : [.basic]))
        #expect(asked.allSatisfy { $0.downgrade?.code == .weakerScheme })
    }

    /// A session with Negotiate, for no server, and the schemes that may follow it.
    private static func sessionWithoutTickets() -> HTTPSession {
        session { configuration in
            var options = NegotiateOptions()
            options.hosts = .list([])
            configuration.policy.methods = [.negotiate(options), .ntlm, .digest, .basic]
        }
    }

    private static let asksForTicket = "HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 2\r\n"

    @Test("the error of a scheme that follows Negotiate, but has no user, says why Negotiate was not used")
    func nothingFollowsNegotiate() async throws {
        let server = try TurnServer([Self.asksForTicket + "WWW-Authenticate: NTLM\r\n\r\nno"])
        let error = await #expect(throws: StreamError.self) {
            try await Self.load(Self.sessionWithoutTickets(), "http://127.0.0.1:\(server.port)/")
        }
        let cause = error?.underlying as? HTTPAuthError
        #expect(cause?.code == .missingUserName && cause?.scheme == "NTLM")
        #expect(cause?.detail?.hasPrefix("Negotiate: ") == true, "\(String(describing: error))")
    }

    @Test("a login that may not follow Negotiate, because it is weaker than before, is not called missing")
    func nothingAsStrongFollowsNegotiate() async throws {
        let server = try TurnServer([
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=q, nonce=n, domain=\"/a\"\r\nContent-Length: 2\r\n\r\nno",
            Self.ok,
            Self.asksForTicket + "WWW-Authenticate: Basic realm=r\r\n\r\nno",
        ])
        let session = Self.sessionWithoutTickets()
        let url = "http://joe:pw@127.0.0.1:\(server.port)/"
        #expect(try await Self.load(session, url + "a") == .ok)
        let error = await #expect(throws: StreamError.self) { try await Self.load(session, url + "b") }
        #expect(server.requests.map { $0.contains("Authorization: ") } == [false, true, false])
        let cause = error?.underlying as? HTTPAuthError
        #expect(cause?.code == .weakerScheme && cause?.scheme == "Basic")
        #expect(cause?.detail?.contains("; Negotiate: ") == true, "\(String(describing: error))")
    }

    @Test("another origin gets neither the URL's login nor what a store has for named servers")
    func redirects() async throws {
        for (login, store) in [("joe:pw@", []), ("", [NamedPlaces()])] as [(String, [NamedPlaces])] {
            let other = try TurnServer([Self.asks, Self.ok])
            let first = try TurnServer([
                Self.asks,
                "HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:\(other.port)/\r\nContent-Length: 0\r\n\r\n",
            ])
            let session = Self.session {
                $0.options.followsRedirects = true
                $0.stores = CredentialSearchList(origins: store, proxies: [])
            }
            #expect(try await Self.load(session, "http://\(login)127.0.0.1:\(first.port)/") == .unauthorized)
            #expect(first.requests.map { $0.contains("Authorization: Basic am9lOnB3") } == [false, true])
            #expect(other.requests.map { $0.contains("Authorization") } == [false])
        }
    }

    @Test("a user is compared with and without the account's domain; a password only if the URL has one")
    func comparison() {
        let space = ProtectionSpace(.origin, scheme: "http", host: "example.org", port: 80)
        let credential = Credential(user: "joe", password: "pw", accountDomain: "D", for: space)
        for (user, password, isSame) in [
            ("joe", "pw", true), ("joe", nil, true), ("D\\joe", "pw", true), ("joe", "other", false),
            ("E\\joe", "pw", false), ("ann", nil, false),
        ] as [(String, String?, Bool)] {
            #expect(credential.isOf(URLLogin(user: user, password: password)) == isSame, "\(user)")
        }
        #expect(credential.isOf(nil))
    }

    /// A store with a credential for servers that the application named.
    private struct NamedPlaces: CredentialStore {
        let name = "test"
        let mayBlock = false

        func find(_ query: CredentialQuery) -> Credential? {
            query.isNamed ? Credential(user: "joe", password: "pw", for: query.space) : nil
        }

        func save(_ credential: Credential) {}
        func remove(_ query: CredentialQuery) -> Int { 0 }
    }

    @Test("a proxy chosen by a script does not count as named by the application", arguments: [false, true])
    func proxiesOfScripts(_ isScript: Bool) async throws {
        let proxy = try TurnServer([Self.proxyAsks, Self.ok])
        var settings = ProxySettings()
        if isScript {
            ProxyScriptStore.shared.limitRuns(to: .seconds(3600))
            settings.script = .text("function FindProxyForURL(url, host) { return 'PROXY 127.0.0.1:\(proxy.port)'; }")
        } else {
            settings.http = [ProxyServer(.http, host: "127.0.0.1", port: proxy.port)]
        }
        let session = Self.session { configuration in
            configuration.stores = CredentialSearchList(origins: [], proxies: [NamedPlaces()])
            configuration.proxies = .settings(settings)
        }
        let status = try await Self.load(session, "http://origin.example/")
        #expect(status == (isScript ? .proxyAuthenticationRequired : .ok))
    }

    /// Options that have another place, and properties that streams of requests do not honour.
    private static let refused: [@Sendable (inout HTTPOptions) -> Void] = [
        { $0.proxySettings = ProxySettings() }, { $0.connection[.proxies] = [] },
        { $0.connection[.socksProxy] = SOCKSProxy(host: "h", port: 1) }, { $0.connection[.readTimeout] = .seconds(1) },
        { $0.connection[.http(\.followsRedirects)] = true },
        { $0.connection[.http(\.proxySettings)] = ProxySettings() },
        { $0.connection[.http(\.tls)] = TLSConfiguration() }, { $0.connection[.fileOffset] = 1 }, { $0.host = "" },
    ]

    @Test("options that another member determines are refused", arguments: refused.indices)
    func refusedBySessions(_ index: Int) async throws {
        let server = try TurnServer([Self.ok])
        let session = Self.session { Self.refused[index](&$0.options) }
        let error = await #expect(throws: StreamError.self) {
            try await Self.load(session, "http://127.0.0.1:\(server.port)/")
        }
        #expect(error?.domain == .posix && error?.code == 22)
        #expect(server.requests.isEmpty)
    }

    @Test(
        "relaxed checks apply only to the origin that the application named, and to https of a host that it named with http",
        arguments: [(OriginStanding.named, true), (.upgraded, true), (.other, false)])
    func relaxedChecks(_ standing: OriginStanding, _ areRelaxed: Bool) throws {
        let session = Self.session {
            $0.options.tls.verification = .insecureNone
        }
        let url = try #require(URL(string: "https://origin.example/"))
        let attempt = try SessionAttempt(
            HTTPRequest(method: .get, url: url), at: url, nil, nil, session, LoadOptions(),
            at: standing)
        #expect(attempt.stream[.tls]?.verification == (areRelaxed ? .insecureNone : .full))
    }

    @Test("a proxy named by a script receives the login that it required") func scriptedProxy() async throws {
        let proxy = try TurnServer([Self.proxyAsks, Self.ok])
        let session = Self.session { configuration in
            configuration.prompt = { _ in .init(user: "joe", password: "pw") }
            var settings = ProxySettings()
            ProxyScriptStore.shared.limitRuns(to: .seconds(3600))
            settings.script = .text(
                "function FindProxyForURL(url, host) { return 'PROXY 127.0.0.1:\(proxy.port)'; }")
            configuration.proxies = .settings(settings)
        }
        #expect(try await Self.load(session, "http://origin.example/") == .ok)
        #expect(proxy.requests.map { $0.contains("Proxy-Authorization: Basic am9lOnB3") } == [false, true])
    }
}
