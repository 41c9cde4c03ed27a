import EventLoops
import FoundationEssentials
import HTTPAuth
import HTTPMessage
import HTTPStreamTesting
import StreamKit
import Testing

@testable import HTTPStream

/// The cookies of a session's loads: redirects, challenges, origins, proxies.
@Suite(.timeLimit(.minutes(5))) struct SessionCookieTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func answer(_ status: String, _ fields: String...) -> String {
        "HTTP/1.1 \(status)\r\n\(fields.map { "\($0)\r\n" }.joined())Content-Length: 0\r\n\r\n"
    }

    private static func session(_ change: (inout HTTPSession.Configuration) -> Void = { _ in }) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        change(&configuration)
        return HTTPSession(configuration)
    }

    @discardableResult
    private static func load(
        _ session: HTTPSession, _ url: String, _ method: HTTPMethod = .get, cookie: String? = nil
    ) async throws -> HTTPStatus {
        var request = try HTTPRequest(method: method, url: #require(URL(string: url)))
        try request.fields.set(cookie, for: .cookie)
        return try await session.load(request).status
    }

    /// The `Cookie` field of each request.
    private static func cookies(_ server: TurnServer) -> [String?] {
        server.requests.map { request in
            request.split(separator: "\r\n").first { $0.hasPrefix("Cookie: ") }.map { String($0.dropFirst(8)) }
        }
    }

    @Test("a page may set a cookie and lead to itself") func redirectToItself() async throws {
        let server = try TurnServer([
            Self.answer("302 Found", "Location: /shop", "Set-Cookie: seen=1"),
            Self.answer("302 Found", "Location: /shop"), Self.ok,
        ])
        #expect(try await Self.load(Self.session(), "http://127.0.0.1:\(server.port)/shop") == .ok)
        #expect(Self.cookies(server) == [nil, "seen=1", "seen=1"])
    }

    @Test("a proxy neither receives nor sets secure cookies of this machine", arguments: [true, false])
    func secureCookiesAndProxies(_ usesProxy: Bool) async throws {
        let set = Self.answer("200 OK", "Set-Cookie: new=1; Secure", "Set-Cookie: plain=1")
        let server = try TurnServer([set, Self.ok])
        let session = Self.session { configuration in
            if usesProxy {
                configuration.proxies = .route(ProxyRoute(HTTPProxy(host: "127.0.0.1", port: server.port)))
            }
        }
        session.cookies?.set(try HTTPCookie(name: "old", value: "1", domain: "localhost", isSecure: true))
        let url = "http://localhost:\(server.port)/"
        for _ in 0..<2 { #expect(try await Self.load(session, url) == .ok) }
        #expect(Self.cookies(server) == (usesProxy ? [nil, "plain=1"] : ["old=1", "old=1; new=1; plain=1"]))
    }

    @Test("a login that sets its cookie on a redirect works") func login() async throws {
        let server = try HTTPServer(port: 0, isLocal: true, configuration: .patient)
        let run = Task {
            try await server.run { exchange in
                switch (exchange.request.method, exchange.request.target.path) {
                case (.post, "/login"):
                    try await exchange.respond(
                        303, fields: ["Location": "/home", "Set-Cookie": "sid=42; Path=/; HttpOnly"])
                case (_, "/home") where exchange.request.fields[.cookie] == "sid=42":
                    try await exchange.respond(.ok, body: Array("welcome".utf8))
                default: try await exchange.respond(.forbidden)
                }
            }
        }
        let port = try #require(server.port)
        var request = try HTTPRequest(method: .post, url: #require(URL(string: "http://127.0.0.1:\(port)/login")))
        request.body = Array("user=ann".utf8)
        for (cookies, status) in [(.ofSession, .ok), (.ignored, .forbidden)]
            as [(HTTPSession.Configuration.Cookies, HTTPStatus)]
        {
            let session = Self.session { $0.cookies = cookies }
            #expect(try await session.load(request).status == status)
            #expect(session.cookies?.all.map(\.value) == (status == .ok ? ["42"] : nil))
        }
        server.stop(within: .zero)
        try? await run.value
    }

    @Test("each hop gets the cookies of its own URL") func origins() async throws {
        let other = try TurnServer([Self.answer("200 OK", "Set-Cookie: o=1")])
        let first = try TurnServer([
            Self.answer(
                "302 Found", "Set-Cookie: f=1", "Set-Cookie: p=2; Path=/private",
                "Location: http://localhost:\(other.port)/private/x"),
            Self.ok,
        ])
        let session = Self.session()
        try await Self.load(session, "http://127.0.0.1:\(first.port)/")
        #expect(Self.cookies(other) == [nil])
        #expect(Set(session.cookies?.all.map(\.domain) ?? []) == ["127.0.0.1", "localhost"])
        try await Self.load(session, "http://127.0.0.1:\(first.port)/private/x")
        #expect(Self.cookies(first) == [nil, "p=2; f=1"])
    }

    @Test("the caller's own field is sent alone, and to its own origin only") func ownField() async throws {
        let other = try TurnServer([Self.ok])
        let first = try TurnServer([
            Self.answer("302 Found", "Set-Cookie: a=1", "Location: /next"),
            Self.answer("302 Found", "Location: http://localhost:\(other.port)/"), Self.ok,
        ])
        let session = Self.session()
        session.cookies?.set(try HTTPCookie(name: "jar", value: "1", domain: "localhost"))
        try await Self.load(session, "http://127.0.0.1:\(first.port)/", cookie: "mine=1")
        #expect(Self.cookies(first) == ["mine=1", "mine=1"])
        #expect(Self.cookies(other) == ["jar=1"])
        try await Self.load(session, "http://127.0.0.1:\(first.port)/")
        #expect(Self.cookies(first).last == "a=1")
    }

    @Test("a challenge sets cookies, and its answer has them beside the login") func challenges() async throws {
        for scheme in ["Basic realm=r", "Digest realm=r, nonce=n, qop=auth"] {
            let server = try TurnServer([
                Self.answer("401 No", "WWW-Authenticate: \(scheme)", "Set-Cookie: c=1"), Self.ok, Self.ok,
            ])
            let session = Self.session()
            #expect(try await Self.load(session, "http://joe:pw@127.0.0.1:\(server.port)/") == .ok)
            #expect(try await Self.load(session, "http://joe:pw@127.0.0.1:\(server.port)/") == .ok)
            #expect(Self.cookies(server) == [nil, "c=1", "c=1"])
            #expect(server.requests.map { $0.contains("\r\nAuthorization: ") } == [false, true, true])
        }
    }

    @Test("a proxy's own response sets no cookie for the origin") func proxies() async throws {
        let proxy = try TurnServer([
            Self.answer("407 No", "Proxy-Authenticate: Basic realm=r", "Set-Cookie: evil=1"),
            Self.answer("200 OK", "Set-Cookie: good=1"), Self.ok,
        ])
        let session = Self.session {
            $0.proxies = .route(ProxyRoute(HTTPProxy(host: "127.0.0.1", port: proxy.port)))
            $0.prompt = { _ in .init(user: "joe", password: "pw") }
        }
        for _ in 0..<2 { #expect(try await Self.load(session, "http://origin.example/") == .ok) }
        #expect(Self.cookies(proxy) == [nil, nil, "good=1"])
    }

    @Test(
        "a redirect from another site carries no strict cookies, and lax ones with safe methods only",
        arguments: [
            (HTTPMethod.get, "l=2; u=3"), (.put, "u=3"),
        ])
    func sameSite(_ method: HTTPMethod, _ expected: String) async throws {
        let bank = try TurnServer([Self.ok, Self.ok])
        let other = try TurnServer([
            Self.answer("307 There", "Location: http://127.0.0.1:\(bank.port)/transfer")
        ])
        let session = Self.session()
        for (name, value, site) in [("s", "1", .strict), ("l", "2", .lax), ("u", "3", nil)]
            as [(String, String, HTTPCookie.SameSite?)]
        {
            session.cookies?.set(try HTTPCookie(name: name, value: value, domain: "127.0.0.1", sameSite: site))
        }
        try await Self.load(session, "http://localhost:\(other.port)/", method)
        try await Self.load(session, "http://127.0.0.1:\(bank.port)/", method)
        #expect(Self.cookies(bank) == [expected, "s=1; l=2; u=3"])
    }

    @Test("sessions of one configuration share cookies only if it says so", arguments: [false, true])
    func sharing(_ isShared: Bool) async throws {
        let server = try TurnServer([Self.answer("200 OK", "Set-Cookie: a=1"), Self.ok])
        var configuration = HTTPSession.Configuration()
        configuration.proxies = .direct
        configuration.options.pool = HTTPConnectionPool()
        if isShared { configuration.cookies = .shared(HTTPCookies()) }
        for _ in 0..<2 { try await Self.load(HTTPSession(configuration), "http://127.0.0.1:\(server.port)/") }
        #expect(Self.cookies(server) == [nil, isShared ? "a=1" : nil])
    }

    @Test("malicious fields: nothing is stored, and the load goes on") func malicious() async throws {
        let long = String(repeating: "x", count: 5000)
        let server = try TurnServer([
            Self.answer(
                "200 OK", "Set-Cookie: \(long)=1", "Set-Cookie: a=1; Domain=com", "Set-Cookie: ;;;;",
                "Set-Cookie: a=1; Domain=example.org", "Set-Cookie: __Host-a=1; Path=/", "Set-Cookie: a=1; Max-Age=-1")
        ])
        let session = Self.session()
        #expect(try await Self.load(session, "http://127.0.0.1:\(server.port)/") == .ok)
        #expect(session.cookies?.all == [])
    }
}
