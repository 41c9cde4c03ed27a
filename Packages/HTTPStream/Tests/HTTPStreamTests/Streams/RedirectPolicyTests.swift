import FoundationEssentials
import HTTPMessage
import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

@Suite struct RedirectPolicyTests {
    private func next(
        _ status: Int, _ location: String?, from url: String = "http://example.org/dir/page", method: HTTPMethod = .get,
        fields: [(HTTPFieldName, String)] = [], hasBody: Bool = false, _ crossOrigin: CrossOriginPolicy = .init(),
        policy: inout RedirectPolicy
    ) throws -> NextRequest? {
        let url = try #require(URL(string: url))
        var request = try HTTPRequest(method: method, url: url)
        for (name, value) in fields { try request.fields.append(value, for: name) }
        var response = try HTTPResponse(status: HTTPStatus(integerLiteral: status))
        if let location { try response.fields.set(location, for: .location) }
        return try policy.next(
            after: response, to: request, at: url, of: HTTPOrigin(url), hasBody: hasBody, crossOrigin)
    }

    private func next(
        _ status: Int, _ location: String?, from url: String = "http://example.org/dir/page", method: HTTPMethod = .get,
        fields: [(HTTPFieldName, String)] = [], hasBody: Bool = false, _ crossOrigin: CrossOriginPolicy = .init()
    ) throws -> NextRequest? {
        var policy = RedirectPolicy()
        return try next(
            status, location, from: url, method: method, fields: fields, hasBody: hasBody, crossOrigin,
            policy: &policy)
    }

    @Test(arguments: [
        ("/abs", "http://example.org/abs"), ("rel", "http://example.org/dir/rel"),
        ("?q", "http://example.org/dir/page?q"),
        ("//other.example/x", "http://other.example/x"), ("https://example.org/", "https://example.org/"),
        ("../up#frag", "http://example.org/up#frag"),
        ("http://a.example/x/../y/./z/..?q=../a#../b", "http://a.example/y/?q=../a#../b"),
        ("http://a.example/../../x", "http://a.example/x"), ("//a.example/b/..", "http://a.example/"),
        ("http://a.example/b/.", "http://a.example/b/"), ("http://a.example/..b/.c/...", "http://a.example/..b/.c/..."),
        ("http://a.example//b//../c", "http://a.example//b/c"),
        ("http://a.example?x=/../y", "http://a.example?x=/../y"),
        ("/s?q=a%20b&f[0]=1", "http://example.org/s?q=a%20b&f%5B0%5D=1"),
        ("/a%20b|c", "http://example.org/a%20b%7Cc"), ("http://[::1]:8/%5B[", "http://[::1]:8/%5B%5B"),
    ])
    func resolving(_ location: String, _ expected: String) throws {
        #expect(try next(302, location)?.url.absoluteString == expected)
    }

    @Test func fragments() throws {
        #expect(try next(302, "/x", from: "http://example.org/#old")?.url.absoluteString == "http://example.org/x#old")
        #expect(try next(302, "/x#new", from: "http://example.org/#old")?.url.fragment == "new")
    }

    @Test(arguments: [200, 201, 304, 305, 306, 400])
    func noRedirect(_ status: Int) throws {
        #expect(try next(status, "/x") == nil)
        #expect(try next(302, nil) == nil)
    }

    /// Scheme × host × port: other origins, and refusals.
    @Test(arguments: [
        ("http://a.example/", "http://a.example/x", true), ("http://a.example/", "http://a.example:80/x", true),
        ("http://a.example/", "http://A.EXAMPLE/x", true), ("http://a.example/", "http://a.example:81/x", false),
        ("http://a.example/", "http://b.example/x", false), ("http://a.example/", "http://sub.a.example/x", false),
        ("http://a.example/", "https://a.example/x", false), ("https://a.example/", "https://a.example:443/x", true),
        ("https://a.example/", "https://a.example:8443/x", false),
    ])
    func secrets(_ from: String, _ location: String, _ keeps: Bool) throws {
        let secrets: [(HTTPFieldName, String)] = [
            (.authorization, "s"), (.cookie, "s"), (.proxyAuthorization, "s"), ("AUTHORIZATION", "s"),
            ("X-Api-Key", "s"),
            ("PRIVATE-TOKEN", "s"), ("Cookie2", "s"), ("Referer", "s"), ("X-Anything", "s"), (.accept, "a"),
        ]
        let hop = try #require(try next(307, location, from: from, fields: secrets))
        #expect(hop.request.fields.map(\.name).filter { $0 != .accept }.isEmpty == !keeps)
        #expect(hop.request.fields.contains(.accept))
    }

    /// Without these fields the other origin could not switch: a redirect from ws to wss leads to another origin.
    @Test func theHandshakeOfAWebSocketIsRepeated() throws {
        let names: [HTTPFieldName] = [
            "Sec-WebSocket-Extensions", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol", "Sec-WebSocket-Version",
            "Upgrade",
        ]
        let fields = names.map { ($0, "x") } + [(.cookie, "s")]
        let hop = try #require(try next(302, "https://a.example/", from: "http://a.example/", fields: fields))
        #expect(hop.request.fields.map(\.name) == names)
    }

    /// An event source would receive events again, or miss some.
    @Test func aStreamOfEventsContinuesAtAnotherOrigin() throws {
        let fields: [(HTTPFieldName, String)] = [("Last-Event-ID", "7"), (.cookie, "s")]
        let hop = try #require(try next(302, "https://a.example/", from: "http://a.example/", fields: fields))
        #expect(hop.request.fields.map(\.name) == ["Last-Event-ID"])
    }

    /// The application names further fields that are sent.
    @Test func namedFields() throws {
        let fields: [(HTTPFieldName, String)] = [("X-Request-ID", "1"), ("X-Api-Key", "s"), (.userAgent, "u")]
        let hop = try #require(
            try next(302, "http://b.example/", fields: fields, CrossOriginPolicy(fields: ["x-request-id"])))
        #expect(hop.request.fields.map(\.name) == ["X-Request-ID", .userAgent])
    }

    /// Another origin is verified in full and receives no certificate, unless the application allows it. A redirect from http to
    /// https at the named host does not require more than the application does.
    @Test(arguments: [false, true]) func trust(_ keepsTrust: Bool) {
        var relaxed = TLSConfiguration()
        relaxed.verification = .insecureNoNameCheck
        relaxed.insecureAllowsExpiredCertificates = true
        relaxed.insecureAllowsExpiredRoots = true
        relaxed.insecureAllowsAnyRoot = true
        relaxed.peerName = "a.example"
        relaxed.serverNameIndication = .name("a.example")
        let policy = CrossOriginPolicy(keepsTrust: keepsTrust)
        #expect(policy.tls(relaxed, at: .other) == (keepsTrust ? relaxed : TLSConfiguration()))
        #expect(policy.tls(relaxed, at: .upgraded) == relaxed)
        #expect(policy.tls(relaxed, at: .named) == relaxed)
    }

    @Test(arguments: [false, true]) func identity(_ sendsIdentity: Bool) throws {
        var own = TLSConfiguration()
        own.identity = try TestIdentity.make()
        let policy = CrossOriginPolicy(sendsIdentity: sendsIdentity)
        for standing in [OriginStanding.upgraded, .other] {
            #expect(policy.tls(own, at: standing) == (sendsIdentity ? own : TLSConfiguration()))
        }
    }

    /// The server name in TLS shows which configuration the second connection uses.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: [("localhost", false, false), ("localhost", true, true), ("127.0.0.1", false, true)])
    func trustOfLoads(_ host: String, _ keepsTrust: Bool, _ isTrusted: Bool) async throws {
        let other = try TurnServer(["not TLS"])
        let first = try TurnServer([
            "HTTP/1.1 302 There\r\nLocation: https://\(host):\(other.port)/\r\nContent-Length: 0\r\n\r\n"
        ])
        let stream = try ReadStream(httpURL: #require(URL(string: "http://127.0.0.1:\(first.port)/")))
        defer { stream.close() }
        var tls = TLSConfiguration()
        tls.peerName = "named.example"
        try stream.set(.tls, to: tls)
        try stream.set(.http(\.followsRedirects), to: true)
        try stream.set(.http(\.crossOrigin), to: CrossOriginPolicy(keepsTrust: keepsTrust))
        try stream.open()
        await #expect(throws: StreamError.self) { try await stream.response() }
        #expect(other.requests.map { $0.contains("named.example") } == [isTrusted])
    }

    /// A body is sent to another origin only if the application allows it.
    @Test(arguments: [300, 301, 302, 303, 307, 308], [HTTPMethod.post, .put])
    func bodies(_ status: Int, _ method: HTTPMethod) throws {
        let keepsBody = RedirectPolicy.method(after: status, method) == method
        let other = "http://b.example/"
        if keepsBody {
            #expect(throws: StreamError.bodyToOtherOrigin(other)) {
                try next(status, other, method: method, hasBody: true)
            }
        } else {
            #expect(try next(status, other, method: method, hasBody: true)?.keepsBody == false)
        }
        let allowed = CrossOriginPolicy(sendsBody: true)
        #expect(try next(status, other, method: method, hasBody: true, allowed)?.keepsBody == keepsBody)
        #expect(try next(status, other, method: method)?.url.absoluteString == other)
        #expect(try next(status, "/same", method: method, hasBody: true)?.keepsBody == keepsBody)
    }

    @Test(arguments: ["http://a.example/", "http://b.example:443/", "//b.example:0/", "ftp://a.example/", "https://"])
    func refused(_ location: String) {
        #expect {
            _ = try next(302, location, from: "https://user:secret@a.example/")
        } throws: { error in
            guard let error = error as? StreamError else { return false }
            return error.domain == .http && error.code == -3 && !"\(error)".contains("secret")
        }
    }

    /// HM-088: only a policy whose name says so leads from https to http, and then nothing secret is sent.
    // Parity: HM-088
    @Test func fromTLSToPlaintext() throws {
        let secrets: [(HTTPFieldName, String)] = [(.authorization, "s"), (.cookie, "s"), (.accept, "a")]
        let policy = CrossOriginPolicy(insecureAllowsHTTP: true)
        let hop = try #require(try next(302, "http://a.example/", from: "https://a.example/", fields: secrets, policy))
        #expect(hop.url.absoluteString == "http://a.example/")
        #expect(hop.request.fields.map(\.name) == [.accept])
    }

    @Test("a URL may lead to itself, or back: only the number is limited") func repeatedURLs() throws {
        var policy = RedirectPolicy()
        for step in 0..<RedirectPolicy.maximumRedirects {
            let (from, to) = step % 2 == 0 ? ("a", "b") : ("b", "a")
            let target = step < 5 ? from : to
            #expect(try next(302, "/\(target)", from: "http://example.org/\(from)", policy: &policy) != nil)
        }
        #expect(throws: StreamError.tooManyRedirects(RedirectPolicy.maximumRedirects)) {
            _ = try next(302, "/a", from: "http://example.org/a", policy: &policy)
        }
    }

    @Test(
        "ws and wss mean http and https for a WebSocket only",
        arguments: [
            ("ws://example.org/new", "http://example.org/", "http://example.org/new"),
            ("WSS://example.org/new?q#f", "http://example.org/", "https://example.org/new?q#f"),
            ("wss://example.org/new", "https://example.org/", "https://example.org/new"),
            ("ws://example.org/new", "https://example.org/", nil), ("ftp://example.org/", "http://example.org/", nil),
        ] as [(String, String, String?)])
    func webSockets(_ location: String, _ from: String, _ expected: String?) throws {
        let url = try #require(URL(string: from))
        let response = try HTTPResponse(status: .found, fields: HTTPFields([("Location", location)]))
        let request = try HTTPRequest(method: .get, url: url)
        func next(_ opensWebSocket: Bool) throws -> URL? {
            var policy = RedirectPolicy()
            return try policy.next(
                after: response, to: request, at: url, of: HTTPOrigin(url), hasBody: false, CrossOriginPolicy(),
                opensWebSocket: opensWebSocket)?.url
        }
        #expect((try? next(true))??.absoluteString == expected)
        #expect(throws: StreamError.self) { try next(false) }
    }

    @Test func limits() throws {
        var policy = RedirectPolicy()
        for step in 0..<RedirectPolicy.maximumRedirects {
            _ = try next(302, "/\(step + 1)", from: "http://example.org/\(step)", policy: &policy)
        }
        #expect(throws: StreamError.tooManyRedirects(RedirectPolicy.maximumRedirects)) {
            _ = try next(302, "/far", from: "http://example.org/\(RedirectPolicy.maximumRedirects)", policy: &policy)
        }
        // A POST answered by a redirect to its own URL becomes a GET: no loop.
        #expect(try next(303, "/a", from: "http://example.org/a", method: .post)?.request.method == .get)
    }

    @Test func fieldsForABody() throws {
        let about: [(HTTPFieldName, String)] = [
            (.contentType, "a/b"), (.contentLength, "3"), (.contentEncoding, "gzip"), (.expect, "100-continue"),
            ("Content-Language", "en"), ("Content-Location", "/x"), ("Content-Digest", "x"), (.lastModified, "x"),
        ]
        let changed = try #require(try next(302, "/x", method: .post, fields: about))
        #expect(changed.request.method == .get && !changed.keepsBody && changed.request.fields.isEmpty)
        let kept = try #require(try next(308, "/x", method: .post, fields: about))
        #expect(kept.request.method == .post && kept.keepsBody && kept.request.fields.count == 8)
    }
}
