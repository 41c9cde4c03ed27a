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
