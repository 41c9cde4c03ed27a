import EventLoops
import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import NetKit

/// Which login a session's request carries: that of the user in its URL, and that for the proxy that a script names.
@Suite(.timeLimit(.minutes(1))) struct SessionLoginTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let asks = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=r\r\nContent-Length: 2\r\n\r\nno"
    private static let proxyAsks = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=r\r\nContent-Length: 2\r\n\r\nno"

    private static func session(_ change: (inout HTTPSession.Configuration) -> Void = { _ in }) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.pool = HTTPConnectionPool()
        change(&configuration)
        return HTTPSession(configuration)
    }

    private static func load(_ session: HTTPSession, _ url: String) async throws -> HTTPStatus {
        try await session.load(HTTPRequest(method: .get, url: #require(URL(string: url)))).status
    }

    @Test("the user of a URL is not served with the login of another") func usersOfURLs() async throws {
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

    @Test("a URL's password that is refused gives way to what is known of its user") func wrongPassword() async throws {
        let server = try TurnServer([Self.asks, Self.ok, Self.asks, Self.asks, Self.ok])
        let session = Self.session()
        for login in ["joe:pw@", "joe:wrong@"] {
            #expect(try await Self.load(session, "http://\(login)127.0.0.1:\(server.port)/") == .ok)
        }
        let values = ["Basic am9lOnB3", "Basic am9lOndyb25n"]
        let sent = server.requests.map { request in values.first { request.contains($0) } }
        #expect(sent == [nil, values[0], nil, values[1], values[0]])
    }

    @Test("a user is compared with and without the account's domain; a password only if the URL has one")
    func comparison() {
        let space = ProtectionSpace(.origin, scheme: "http", host: "example.org", port: 80)
        let credential = Credential(user: "joe", password: "pw", accountDomain: "D", for: space)
        for (user, password, isSame) in [
            ("joe", "pw", true), ("joe", nil, true), ("D\\joe", "pw", true), ("joe", "other", false),
            ("E\\joe", "pw", false), ("ann", nil, false),
        ] as [(String, String?, Bool)] {
            #expect(credential.isOf(SessionLoad.URLLogin(user: user, password: password)) == isSame, "\(user)")
        }
        #expect(credential.isOf(nil))
    }

    /// Knows a credential for what the application named.
    private struct NamedPlaces: CredentialStore {
        let name = "test"
        let mayBlock = false

        func find(_ query: CredentialQuery) -> Credential? {
            query.isNamed ? Credential(user: "joe", password: "pw", for: query.space) : nil
        }

        func save(_ credential: Credential) {}
        func remove(_ query: CredentialQuery) -> Int { 0 }
    }

    @Test("a proxy that a script chooses is none that the application named", arguments: [false, true])
    func proxiesOfScripts(_ isScript: Bool) async throws {
        let proxy = try TurnServer([Self.proxyAsks, Self.ok])
        var settings = ProxySettings()
        if isScript {
            settings.script = .text("function FindProxyForURL(url, host) { return 'PROXY 127.0.0.1:\(proxy.port)'; }")
        } else {
            settings.http = [ProxyServer(.http, host: "127.0.0.1", port: proxy.port)]
        }
        let session = Self.session { configuration in
            configuration.stores = CredentialStores(origins: [], proxies: [NamedPlaces()])
            configuration.prepare = { [settings] (stream) throws(StreamError) in
                try stream.set(.httpProxySettings, to: settings)
            }
        }
        let status = try await Self.load(session, "http://origin.example/")
        #expect(status == (isScript ? .proxyAuthenticationRequired : .ok))
    }

    @Test("the conversation of a tunnel knows whether the proxy was named", arguments: [false, true])
    func tunnels(_ isNamed: Bool) throws {
        var challenge = try HTTPResponse(status: .proxyAuthenticationRequired)
        try challenge.fields.set("NTLM", for: .proxyAuthenticate)
        let place = ProtectionSpace(.proxy, scheme: "http", host: "proxy.test", port: 3128)
        let authentication = try #require(HTTPAuthentication(response: challenge, from: place, isNamed: isNamed))
        let known = KnownAuthentication(
            authentication, of: challenge, AuthenticationPolicy(), nil, isStored: true, saves: false)
        #expect(known.forTunnel() !== authentication && known.forTunnel().isNamed == isNamed)
    }

    @Test(
        "prepare cannot set what a session decides",
        arguments: [
            "httpFollowsRedirects", "httpKeepsConnection", "httpPool", "httpCrossOriginPolicy", "httpDiscardLimit",
        ])
    func decidedBySessions(_ property: String) async throws {
        let server = try TurnServer([Self.ok])
        let session = Self.session { configuration in
            configuration.prepare = { (stream) throws(StreamError) in
                switch property {
                case "httpFollowsRedirects": try stream.set(.httpFollowsRedirects, to: true)
                case "httpKeepsConnection": try stream.set(.httpKeepsConnection, to: false)
                case "httpDiscardLimit": try stream.set(.httpDiscardLimit, to: .seconds(1))
                case "httpPool": try stream.set(.httpPool, to: HTTPConnectionPool())
                default: try stream.set(.httpCrossOriginPolicy, to: CrossOriginPolicy(sendsBody: true))
                }
            }
        }
        let error = await #expect(throws: StreamError.self) {
            try await Self.load(session, "http://127.0.0.1:\(server.port)/")
        }
        #expect(error?.domain == .posix && error?.code == 22)
        #expect(server.requests.isEmpty)
    }

    @Test("relaxed checks are for the origin that the application named", arguments: [false, true])
    func relaxedChecks(_ isNamed: Bool) throws {
        let session = Self.session {
            $0.prepare = { (stream) throws(StreamError) in
                var tls = TLSConfiguration()
                tls.verification = .insecureNone
                try stream.set(.tls, to: tls)
            }
        }
        let request = try HTTPRequest(method: .get, url: #require(URL(string: "https://origin.example/")))
        let attempt = try SessionAttempt(request, nil, nil, session, isNamed: isNamed)
        #expect(attempt.stream[.tls]?.verification == (isNamed ? .insecureNone : .full))
    }

    @Test("the proxy that a script names gets the login that was asked for") func scriptedProxy() async throws {
        let proxy = try TurnServer([Self.proxyAsks, Self.ok])
        let session = Self.session { configuration in
            configuration.prompt = { _ in .init(user: "joe", password: "pw") }
            configuration.prepare = { [port = proxy.port] (stream) throws(StreamError) in
                var settings = ProxySettings()
                settings.script = .text("function FindProxyForURL(url, host) { return 'PROXY 127.0.0.1:\(port)'; }")
                try stream.set(.httpProxySettings, to: settings)
            }
        }
        #expect(try await Self.load(session, "http://origin.example/") == .ok)
        #expect(proxy.requests.map { $0.contains("Proxy-Authorization: Basic am9lOnB3") } == [false, true])
    }
}
