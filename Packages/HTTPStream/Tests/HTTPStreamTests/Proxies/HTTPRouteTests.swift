import EventLoops
import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

@Suite("how requests reach their origins") struct HTTPRouteTests {
    private static let socks = SOCKSProxy(host: "s")
    private static let http = HTTPProxy(host: "h", port: 3128)

    private func candidates(_ url: String, _ routes: ProxyRoute...) throws -> [String] {
        let origin = try HTTPOrigin(try #require(URL(string: url)))
        return HTTPRoute.all(to: origin, through: routes).map { approach in
            let ways = approach.routes.map(\.description).joined(separator: " | ")
            return approach.proxy.map { "\(ways) to \($0)" } ?? ways
        }
    }

    // Parity: HM-092
    @Test("HM-092: http requests are sent to the HTTP proxy, https requests use a tunnel")
    func forms() throws {
        let (socks, http) = (ProxyRoute(Self.socks), ProxyRoute(Self.http))
        #expect(try candidates("http://a/", http) == [" to HTTP h:3128"])
        #expect(try candidates("https://a/", http) == ["HTTP h:3128"])
        #expect(try candidates("http://a/", socks) == ["SOCKS5 s:1080"])
        #expect(try candidates("http://a/", ProxyRoute(Self.socks, Self.http)) == ["SOCKS5 s:1080 to HTTP h:3128"])
        #expect(try candidates("http://a/", ProxyRoute(Self.http, Self.socks)) == ["HTTP h:3128, SOCKS5 s:1080"])
        #expect(
            try candidates("http://a/", socks, .direct, http, http, .direct)
                == ["SOCKS5 s:1080 | direct", " to HTTP h:3128", " to HTTP h:3128", "direct"])
        #expect(try candidates("https://a/", http, socks, .direct) == ["HTTP h:3128 | SOCKS5 s:1080 | direct"])
        #expect(try candidates("http://a/") == [""])
        var tunnel = Self.http
        tunnel.usesTunnels = true
        #expect(tunnel != Self.http)
        #expect(try candidates("http://a/", ProxyRoute(tunnel), http) == ["HTTP h:3128", " to HTTP h:3128"])
        var server = try ProxyServer("http://h:3128")
        server.usesTunnels = true
        #expect(try server.httpProxy() == tunnel)
    }

    @Test("RFC 9112 §3.2.2: absolute form, with the proxy's fields, which are sent to no other server")
    func requests() throws {
        let url = try #require(URL(string: "http://me:secret@www.test:8080/a?b#c"))
        var request = try HTTPRequest(method: .get, url: url)
        try request.fields.append("text/html", for: .accept)
        var proxy = Self.http
        try proxy.fields.append("Basic x", for: .proxyAuthorization)
        let sent = try HTTPRoute.form(request, of: url, for: proxy)
        #expect(sent.requestLine == "GET http://www.test:8080/a?b HTTP/1.1")
        #expect(sent.fields[.proxyAuthorization] == "Basic x" && sent.fields[.accept] == "text/html")
        try request.fields.append("Basic mine", for: .proxyAuthorization)
        let mine = try HTTPRoute.form(request, of: url, for: proxy, owner: proxy)
        #expect(mine.fields[.proxyAuthorization] == "Basic mine")
        let other = HTTPProxy(host: "other", port: 3128)
        #expect(try HTTPRoute.form(request, of: url, for: other, owner: proxy).fields[.proxyAuthorization] == nil)
        let direct = try HTTPRoute.form(request, of: url, for: nil)
        #expect(direct.fields[.proxyAuthorization] == nil && direct.requestLine == "GET /a?b HTTP/1.1")
    }

    @Test("the caller's credentials for a proxy are sent if there is only one proxy")
    func credentials() throws {
        let url = try #require(URL(string: "https://www.test/"))
        var request = try HTTPRequest(method: .get, url: url)
        try request.fields.append("Basic mine", for: .proxyAuthorization)
        let given: [ProxyRoute] = [
            ProxyRoute(Self.socks, Self.http), ProxyRoute(Self.http), ProxyRoute(Self.socks), .direct,
        ]
        let routes = try HTTPRoute.routes(given, for: request)
        #expect((routes[0].hops[1] as? HTTPProxy)?.fields[.proxyAuthorization] == "Basic mine")
        #expect((routes[1].hops[0] as? HTTPProxy)?.fields[.proxyAuthorization] == "Basic mine")
        #expect(Array(routes[2...]) == Array(given[2...]))
        // CVE-2026-6253: with a second proxy, in the chain or as an alternative, the recipient is ambiguous.
        let other = HTTPProxy(host: "other", port: 3128)
        for ways in [[ProxyRoute(Self.http, other)], [ProxyRoute(Self.http), ProxyRoute(other)]] {
            #expect(try HTTPRoute.routes(ways, for: request) == ways)
            #expect(HTTPRoute.owner(of: request, in: ways) == nil)
        }
    }

    @Test("CVE-2026-6253, CVE-2026-9079: proxies that differ in any property have separate connections")
    func poolKeys() throws {
        let origin = try HTTPOrigin(try #require(URL(string: "https://www.test/")))
        var proxy = Self.http
        try proxy.fields.append("Basic x", for: .proxyAuthorization)
        var secure = Self.http
        secure.tls = TLSConfiguration()
        let ways: [[ProxyRoute]] = [
            [], [.init(Self.http)], [.init(proxy)], [.init(secure)], [.init(Self.socks)],
            [.init(Self.socks, Self.http)], [.init(Self.http), .direct],
            [.init(SOCKSProxy(host: "s", user: "a"))], [.init(SOCKSProxy(host: "s", user: "a", password: "b"))],
        ]
        var keys = ways.map { routes in
            var properties = StreamProperties()
            properties[.proxies] = routes
            return HTTPConnectionKey(origin, properties, loop: .shared)
        }
        var properties = StreamProperties()
        properties[.socksProxy] = Self.socks
        keys.append(HTTPConnectionKey(origin, properties, loop: .shared))
        properties = StreamProperties()
        properties[.failsWhenAddressIsRemoved] = true
        keys.append(HTTPConnectionKey(origin, properties, loop: .shared))
        for (index, key) in keys.enumerated() {
            #expect(keys.firstIndex(of: key) == index)
        }
    }

    @Test("a proxy that takes requests for all origins is one endpoint, unless one of the routes bypasses it")
    func sharedPoolKeys() throws {
        func key(_ url: String, _ routes: [ProxyRoute], _ login: Secret? = nil) throws -> HTTPConnectionKey {
            var properties = StreamProperties()
            properties[.proxies] = routes
            let origin = try HTTPOrigin(try #require(URL(string: url)))
            return HTTPConnectionKey(origin, properties, loop: .shared, ownLogin: login)
        }
        let other = HTTPProxy(host: "other", port: 3128)
        let one = try key("http://a.test/", [.init(Self.http)])
        #expect(try key("http://b.test:81/", [.init(Self.http)]) == one)
        #expect(try key("http://b.test/", [.init(Self.http), .init(other)]) != one)
        #expect(try key("https://a.test/", [.init(Self.http)]) != key("https://b.test/", [.init(Self.http)]))
        #expect(try key("http://a.test/", [.init(Self.socks)]) != key("http://b.test/", [.init(Self.socks)]))
        let past: [ProxyRoute] = [.init(Self.http), .direct]
        #expect(try key("http://a.test/", past) != key("http://b.test/", past))
        #expect(try key("http://a.test/", [.init(Self.http)], Secret("NTLM x")) != one)
    }

    /// After haproxy#511: a scheme whose name resembles NTLM is treated like NTLM, unless it is known to authenticate single
    /// requests.
    @Test(
        "a caller's own login that may belong to the connection is distinguished by the user's field",
        arguments: [
            ("NTLM TlRM", true), ("ntlm", true), ("Negotiate YII=", true), ("Nego2 abc", true),
            ("Negotiate-custom\tx", true), ("Kerberos x", true), ("Basic bmVnbzpudGxt", false),
            ("Digest username=\"ntlm\"", false), ("Bearer ntlm", false), ("", false),
        ])
    func ownLogins(_ value: String, _ isBound: Bool) throws {
        func login(_ values: String..., name: HTTPFieldName) throws -> Secret? {
            var request = try HTTPRequest(method: .get, url: #require(URL(string: "http://a.test/")))
            for value in values { try request.fields.append(value, for: name) }
            return request.connectionLogin
        }
        for name in [HTTPFieldName.authorization, .proxyAuthorization] {
            #expect(try (login(value, name: name) != nil) == isBound)
            // Also as the second of two fields, since a server may use either.
            #expect(try (login("Basic bmVnbzpudGxt", value, name: name) != nil) == isBound)
            // Another user's field of the same scheme needs another connection; an equal field uses the same one.
            #expect(try (login(value, name: name) == login(value + "B", name: name)) == !isBound)
            #expect(try login(value, name: name) == login(value, name: name))
        }
    }

    /// The origin was not reached. A program in its place could otherwise set the origin's cookies.
    @Test("a proxy's 407 to CONNECT is the proxy's response, without the origin's URL and fields that are kept")
    func refusedTunnel() async throws {
        let proxy = try TurnServer([
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=p\r\nSet-Cookie: a=b\r\nX-Other: 1\r\n"
                + "Strict-Transport-Security: max-age=1\r\nContent-Length: 2\r\n\r\nno"
        ])
        let stream = try ReadStream(httpURL: #require(URL(string: "https://origin.test/")))
        defer { stream.close() }
        try stream.set(.proxies, to: [ProxyRoute(HTTPProxy(host: "127.0.0.1", port: proxy.port))])
        try stream.open()
        let response = try await stream.response()
        #expect(response.status == .proxyAuthenticationRequired && response.url == nil)
        #expect(response.fields.map(\.name) == [.proxyAuthenticate, "X-Other", .contentLength])
        #expect(stream[.httpAnsweringProxy]?.port == proxy.port)
        #expect(stream[.httpProxyResponse]?.fields[.setCookie] == "a=b")
        #expect(try await stream.read(upTo: 1).isEmpty)
    }

    @Test("the routes for a URL, from settings")
    func settings() throws {
        let url = try #require(URL(string: "http://www.test/"))
        var settings = ProxySettings()
        settings.http = [try ProxyServer("https://a"), try ProxyServer("http://b:1")]
        settings.others = [try ProxyServer("socks5h://c")]
        #expect(try settings.routes(for: url).map(\.description) == ["HTTPS a:443", "HTTP b:1", "SOCKS5 c:1080"])
        settings.http[1].via = [try ProxyServer("socks5://d"), try ProxyServer("https://e")]
        #expect(try settings.routes(for: url)[1].description == "SOCKS5 d:1080, HTTPS e:443, HTTP b:1")
        settings.http[0] = ProxyServer(.http, host: "a", password: "s3cr3t")
        let error = #expect(throws: StreamError.self) { try settings.routes(for: url) }
        #expect(error?.isPOSIX(22) == true && error?.description.contains("s3cr3t") == false)
        settings.script = .text("")
        #expect(throws: StreamError(posix: 95)) { try settings.routes(for: url) }
    }
}
