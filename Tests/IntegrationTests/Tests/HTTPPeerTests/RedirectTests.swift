import FoundationEssentials
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Redirects: off by default, by the rules of RFC 9110 §15.4, and no secret leaves its origin (HM-084…HM-089).
@Suite(.serialized) struct RedirectTests {
    static func follow(_ stream: ReadStream) throws { try stream.set(.http(\.followsRedirects), to: true) }

    // Parity: HM-084 (nginx)
    @Test(arguments: Style.allCases)
    func redirectsAreOffByDefault(_ style: Style) async throws {
        let nginx = try SharedNginx.get()
        let loaded = try await get(nginx.url(.plain, "/chain"), style)
        #expect(loaded.error == nil)
        #expect(loaded.status == 301)
        #expect(loaded.text.contains("301 Moved Permanently"))
        #expect(loaded.stream[.httpFinalURL]?.path == "/chain")
    }

    // Parity: HM-085, HM-086, HM-089 (nginx)
    @Test(arguments: Style.allCases)
    func aChainOfRedirects(_ style: Style) async throws {
        let nginx = try SharedNginx.get()
        for keeps in [false, true] {
            let loaded = try await get(nginx.url(.plain, "/chain"), style) { stream in
                try Self.follow(stream)
                try stream.set(.http(\.keepsConnection), to: keeps)
                try stream.set(.http(\.pool), to: HTTPConnectionPool())
            }
            #expect(loaded.error == nil)
            #expect(loaded.status == 200)
            #expect(loaded.text == "hello\n")
            #expect(loaded.stream[.httpFinalURL]?.path == "/hello")
            #expect(loaded.stream[.httpFinalRequest]?.fields[.host] == "localhost:\(nginx.port(.plain))")
            let requests = loaded.stream.report.steps.filter { if case .request = $0.kind { true } else { false } }
            #expect(requests.count == 4)
        }
    }

    @Test func oneConnectionCarriesTheChain() async throws {
        let origin = try chainOrigin([301, 302, 307])
        let loaded = try await get(origin.url("/0")) { stream in
            try Self.follow(stream)
            try stream.set(.http(\.keepsConnection), to: true)
            try stream.set(.http(\.pool), to: HTTPConnectionPool())
        }
        #expect(loaded.text == "end")
        #expect(origin.requests.map(\.connection) == [0, 0, 0, 0])
    }

    // Parity: HM-086
    @Test(arguments: [
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
        (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"), (301, "GET", "GET"),
    ])
    func methodAndBody(_ status: Int, _ method: String, _ expected: String) async throws {
        let origin = try chainOrigin([status])
        let hasBody = method == "POST" || method == "PUT"
        let loaded = try await get(
            origin.url("/0"), method: #require(HTTPMethod(method)),
            fields: hasBody ? [(.contentType, "text/plain")] : [],
            body: hasBody ? .bytes(Array("body".utf8)) : nil, Self.follow)
        #expect(loaded.error == nil)
        let requests = origin.requests
        #expect(requests.map(\.method) == [method, expected])
        let keeps = hasBody && method == expected
        #expect(requests.last?.body == (keeps ? Array("body".utf8) : []))
        #expect(requests.last?["Content-Type"].isEmpty == !keeps)
        if expected == "GET" { #expect(requests.last?["Content-Length"].isEmpty == true) }
    }

    @Test func responsesThatAreNotFollowed() async throws {
        for answer in [
            Origin.Response(302), Origin.Response(304, fields: [.init("Location", "/x")]),
            Origin.Response(300), Origin.Response(305, fields: [.init("Location", "/x")]),
            Origin.Response(201, fields: [.init("Location", "/x")]),
        ] {
            let origin = try Origin { _ in answer }
            let loaded = try await get(origin.url(), Self.follow)
            #expect(loaded.error == nil)
            #expect(loaded.status == answer.status)
            #expect(origin.requests.count == 1)
        }
    }

    // Parity: HM-087 (nginx)
    @Test(arguments: Style.allCases)
    func aLoopIsAnError(_ style: Style) async throws {
        let nginx = try SharedNginx.get()
        let loaded = try await get(nginx.url(.plain, "/loop"), style, Self.follow)
        #expect(loaded.error?.domain == .http)
        #expect(loaded.error?.code == HTTPErrorNumber.redirectionLoop.rawValue)

        let origin = try Origin { request in
            Origin.Response(302, fields: [.init("Location", request.target == "/a" ? "/b" : "/a")])
        }
        let twofold = try await get(origin.url("/a"), style, Self.follow)
        #expect(twofold.error?.code == HTTPErrorNumber.redirectionLoop.rawValue)
        // Only the number limits: a page may redirect to itself once more with a cookie.
        let targets = (0...RedirectPolicy.maximumRedirects).map { $0.isMultiple(of: 2) ? "/a" : "/b" }
        #expect(origin.requests.map(\.target) == targets)
    }

    // Parity: HM-087
    @Test func theNumberOfRedirectsIsLimited() async throws {
        let origin = try chainOrigin(Array(repeating: 302, count: 30))
        let loaded = try await get(origin.url("/0"), Self.follow)
        #expect(loaded.error?.code == HTTPErrorNumber.redirectionLoop.rawValue)
        #expect(origin.requests.count == RedirectPolicy.maximumRedirects + 1)
    }

    // MARK: Secrets

    // Parity: HM-088
    @Test(arguments: [302, 307])
    func secretsStayAtTheirOrigin(_ status: Int) async throws {
        let second = try Origin { _ in .init(body: "second") }
        let target = second.url("/there")
        let first = try Origin { request in
            switch request.target {
            case "/": .init(status, fields: [.init("Location", "/same")])
            case "/same": .init(status, fields: [.init("Location", target)])
            default: .init(404)
            }
        }
        let secrets: [(HTTPFieldName, String)] = [
            (.authorization, "Basic c2VjcmV0"), (.cookie, "a=secret"), (.proxyAuthorization, "Basic c2VjcmV0"),
            ("X-Api-Key", "secret"), ("PRIVATE-TOKEN", "secret"), ("Cookie2", "secret"), (.accept, "text/plain"),
        ]
        let loaded = try await get(first.url(), fields: secrets, Self.follow)
        #expect(loaded.text == "second")
        for request in first.requests { #expect(request["Authorization"] == ["Basic c2VjcmV0"]) }
        let there = try #require(second.requests.first)
        #expect(there["Authorization"].isEmpty && there["Cookie"].isEmpty && there["Proxy-Authorization"].isEmpty)
        #expect(there["Accept"] == ["text/plain"])
        #expect(there["Host"] == ["127.0.0.1:\(second.port)"])
        #expect(second.recordings.allSatisfy { !$0.text.contains("secret") && !$0.text.contains("c2VjcmV0") })
    }

    @Test(arguments: [false, true])
    func aBodyStaysAtItsOrigin(_ isAllowed: Bool) async throws {
        let second = try Origin { _ in .init(body: "second") }
        let target = second.url("/there")
        let first = try Origin { _ in .init(307, fields: [.init("Location", target)]) }
        let fields: [(HTTPFieldName, String)] = [("X-Request-ID", "7"), ("X-Api-Key", "secret")]
        let loaded = try await get(
            first.url(), method: .post, fields: fields, body: .bytes(Array("body".utf8))
        ) { stream in
            try Self.follow(stream)
            if isAllowed {
                try stream.set(.http(\.crossOrigin), to: CrossOriginPolicy(fields: ["X-Request-ID"], sendsBody: true))
            }
        }
        #expect(loaded.text == (isAllowed ? "second" : ""))
        #expect((loaded.error?.code == HTTPErrorNumber.badURL.rawValue) == !isAllowed)
        #expect(second.requests.map(\.body) == (isAllowed ? [Array("body".utf8)] : []))
        #expect(second.requests.allSatisfy { $0["X-Request-ID"] == ["7"] && $0["X-Api-Key"].isEmpty })
    }

    // Parity: HM-088 (nginx)
    @Test func noRedirectFromTLSToPlaintext() async throws {
        let nginx = try SharedNginx.get()
        let loaded = try await get(nginx.url(.tls, "/to-plain")) { stream in
            try Self.follow(stream)
            try stream.set(.tls, to: try trustingPeers())
        }
        #expect(loaded.error?.domain == .http)
        #expect(loaded.error?.code == HTTPErrorNumber.badURL.rawValue)
        #expect(loaded.error?.description.contains("not encrypted") == true)
        let up = try await get(nginx.url(.plain, "/to-tls")) { stream in
            try Self.follow(stream)
            try stream.set(.tls, to: try trustingPeers())
        }
        #expect(up.error == nil)
        #expect(up.status == 200)
        #expect(up.stream[.tlsInformation]?.isVerified == true)
    }

    // Parity: HM-088 (nginx)
    @Test func aRedirectFromTLSToPlaintextIsFollowedOnRequest() async throws {
        let nginx = try SharedNginx.get()
        let loaded = try await get(nginx.url(.tls, "/to-plain"), fields: [(.authorization, "Basic c2VjcmV0")]) {
            stream in
            try Self.follow(stream)
            try stream.set(.tls, to: try trustingPeers())
            try stream.set(.http(\.crossOrigin), to: CrossOriginPolicy(insecureAllowsHTTP: true))
        }
        #expect(loaded.error == nil && loaded.status == 200)
        #expect(loaded.stream[.httpFinalURL]?.scheme == "http")
        #expect(loaded.text.contains("scheme=http\n") && !loaded.text.contains("c2VjcmV0"))
    }

    // Parity: HM-086 (nginx)
    @Test func aChoiceWithALocationIsFollowed() async throws {
        let nginx = try SharedNginx.get()
        let loaded = try await get(nginx.url(.plain, "/choices"), Self.follow)
        #expect(loaded.status == 200 && loaded.text == "hello\n")
        #expect(loaded.stream[.httpRedirects]?.map(\.status.code) == [300])
    }

    /// HM-070: a `Host` of the caller's, which a redirect to another origin does not take along.
    // Parity: HM-070 (nginx)
    @Test func aHostOfTheCaller() async throws {
        let nginx = try SharedNginx.get()
        for (path, host) in [("/request", "www.example.org"), ("/to-tls", "localhost:\(nginx.port(.tls))")] {
            let loaded = try await get(nginx.url(.plain, path)) { stream in
                try Self.follow(stream)
                try stream.set(.tls, to: try trustingPeers())
                try stream.set(.http(\.host), to: "www.example.org")
            }
            #expect(loaded.text.contains("host=\(host)\n"))
        }
        var configuration = HTTPSession.Configuration()
        configuration.options.tls = try trustingPeers()
        configuration.options.host = "www.example.org"
        let session = HTTPSession(configuration)
        for (path, host) in [("/request", "www.example.org"), ("/to-tls", "localhost:\(nginx.port(.tls))")] {
            let response = try await session.get(#require(URL(string: nginx.url(.plain, path))))
            #expect(String(decoding: response.body, as: UTF8.self).contains("host=\(host)\n"))
        }
    }

    @Test(arguments: ["ftp://127.0.0.1/", "http://:80/", "http:///x", "http://127.0.0.1:99999/", "//[::1/"])
    func invalidTargets(_ location: String) async throws {
        let origin = try Origin { _ in .init(302, fields: [.init("Location", location)]) }
        let loaded = try await get(origin.url(), Self.follow)
        #expect(loaded.error?.domain == .http)
        #expect(loaded.error?.code == HTTPErrorNumber.badURL.rawValue)
    }

    @Test func fragmentsAreInherited() async throws {
        let origin = try chainOrigin([302])
        let loaded = try await get(origin.url("/0#here"), Self.follow)
        #expect(loaded.stream[.httpFinalURL]?.fragment == "here")
        #expect(origin.requests.map(\.target) == ["/0", "/1"])
    }

    /// After a 307, a repeatable body is sent again, and a body that is not repeatable is an error; a 303 needs no body.
    @Test func bodiesAreRepeated() async throws {
        let made = Signal()
        let origin = try chainOrigin([307])
        let body = HTTPBody.stream(length: 5) {
            made.fire()
            return ReadStream(bytes: Array("again".utf8))
        }
        let loaded = try await get(origin.url("/0"), method: .put, body: body, Self.follow)
        #expect(loaded.error == nil)
        #expect(origin.requests.map(\.body) == [Array("again".utf8), Array("again".utf8)])
        try await made.wait()
        try await made.wait()

        let once = try await get(
            origin.url("/0"), method: .put, body: .stream(once: ReadStream(bytes: [1]), length: 1), Self.follow)
        #expect(once.error?.domain == .http)
        #expect(once.error?.description.contains("307") == true)

        let see = try chainOrigin([303])
        let other = try await get(
            see.url("/0"), method: .post, body: .stream(once: ReadStream(bytes: [1]), length: 1), Self.follow)
        #expect(other.error == nil)
        #expect(see.requests.map(\.method) == ["POST", "GET"])
    }

    /// A server where `/0` redirects to `/1` with the first status, and so on; the last URL responds with 200.
    private func chainOrigin(_ statuses: [Int]) throws -> Origin {
        try Origin { request in
            guard let step = Int(request.target.dropFirst()), statuses.indices.contains(step) else {
                return .init(body: request.method == "HEAD" ? "" : "end")
            }
            return .init(statuses[step], fields: [.init("Location", "/\(step + 1)")], body: "moved")
        }
    }
}
