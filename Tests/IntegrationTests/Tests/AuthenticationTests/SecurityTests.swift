import CredentialStores
import Foundation
import HTTPAuth
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Known vulnerabilities of other clients: credentials and authenticated connections that reach the wrong server. Two servers
/// record everything, in every order.
@Suite struct SecurityTests {
    /// A server or proxy that accepts Basic for one user, and records the requests.
    private static func basic(_ status: Int, _ password: String) throws -> Origin {
        let (field, challenge) =
            status == 401 ? ("Authorization", "WWW-Authenticate") : ("Proxy-Authorization", "Proxy-Authenticate")
        let value = "Basic \(Data("joe:\(password)".utf8).base64EncodedString())"
        return try Origin { request in
            request[field] == [value]
                ? .init(body: "in") : .init(status, fields: [.init(challenge, "Basic realm=\"same\"")])
        }
    }

    /// Everything that a server received.
    private static func received(_ origin: Origin) -> String {
        origin.recordings.map { String(decoding: $0.received, as: UTF8.self) }.joined()
    }

    private static func session(
        _ change: (inout HTTPSession.Configuration) -> Void = { _ in },
        answer: @escaping @Sendable (AuthenticationPrompt) -> AuthenticationPrompt.Answer? = { _ in nil }
    ) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.policy.methods = [.digest, .basic]
        configuration.prompt = { answer($0) }
        change(&configuration)
        return HTTPSession(configuration)
    }

    private static func request(_ origin: Origin, _ path: String = "/x", host: String = "127.0.0.1") throws
        -> HTTPRequest
    {
        try HTTPRequest(method: .get, url: #require(URL(string: origin.url(path, host: host))))
    }

    @Test(
        "CVE-2026-11856, -7168, -8927: what Digest learned of one server reaches no other",
        arguments: ["AB", "BA", "AAB", "ABA", "ABBA", "BAAB", "RA", "ARB", "RRA"])
    func digest(_ order: String) async throws {
        func server(_ name: String, _ redirect: String = "") throws -> Origin {
            try Origin { request in
                guard request["Authorization"].first?.contains("nonce-\(name)") == true else {
                    let challenge =
                        "Digest realm=\"same\", qop=\"auth\", opaque=\"opaque-\(name)\", nonce=\"nonce-\(name)\""
                    return .init(401, fields: [.init("WWW-Authenticate", challenge)])
                }
                return request.target == "/to" ? .init(302, fields: [.init("Location", redirect)]) : .init(body: name)
            }
        }
        let b = try server("B")
        let a = try server("A", b.url("/x"))
        let session = Self.session({ $0.options.followsRedirects = true }) {
            .init(user: $0.space.port == a.port ? "user-A" : "user-B", password: "secret")
        }
        for letter in order {
            let request = try letter == "B" ? Self.request(b) : Self.request(a, letter == "R" ? "/to" : "/x")
            #expect(try await session.load(request).body == Array((letter == "A" ? "A" : "B").utf8))
        }
        for secret in ["nonce-A", "opaque-A", "user-A"] { #expect(!Self.received(b).contains(secret)) }
        for secret in ["nonce-B", "opaque-B", "user-B"] { #expect(!Self.received(a).contains(secret)) }
    }

    @Test(
        "CVE-2026-3784, -6253, -9079, -6429: each proxy gets its own credentials, in whatever order they are used",
        arguments: ["AB", "BA", "AAB", "ABA", "ABBA", "BAAB", "AFB", "ABFA"])
    func proxies(_ order: String) async throws {
        let (a, b) = (try Self.basic(407, "secret-A"), try Self.basic(407, "secret-B"))
        let routes = Collected<[ProxyRoute]>()
        let session = Self.session({ configuration in
            configuration.proxies = .routes { (_) throws(StreamError) in routes.all.last ?? [] }
        }) { .init(user: "joe", password: $0.space.port == a.port ? "secret-A" : "secret-B") }
        let url = try #require(URL(string: "http://nowhere.test/x"))
        func proxy(_ origin: Origin) -> ProxyRoute {
            ProxyRoute(HTTPProxy(host: "127.0.0.1", port: UInt16(origin.port)))
        }
        for letter in order {
            if letter == "F" {
                session.forgetCredentials()
                continue
            }
            routes.append([proxy(letter == "A" ? a : b)])
            #expect(try await session.load(HTTPRequest(method: .get, url: url)).body == Array("in".utf8))
        }
        // After a dead proxy, another one is used, which does not receive the credentials of the first.
        let dead = try Self.basic(407, "secret-A")
        dead.stop()
        routes.append([proxy(dead), proxy(b)])
        #expect(try await session.load(HTTPRequest(method: .get, url: url)).status == .ok)
        let (secretA, secretB) = ("am9lOnNlY3JldC1B", "am9lOnNlY3JldC1C")
        #expect(Self.received(a).contains(secretA) && Self.received(b).contains(secretB))
        #expect(!Self.received(a).contains(secretB) && !Self.received(b).contains(secretA))
        // Before its challenge, and after credentials were forgotten, a proxy receives none.
        #expect(a.requests.first?["Proxy-Authorization"] == [] && b.requests.first?["Proxy-Authorization"] == [])
        let asked = (a.requests + b.requests).count { $0["Proxy-Authorization"].isEmpty }
        var known: Set<Character> = []
        let expected = (order + "B").reduce(0) { count, letter in
            if letter == "F" { known = [] }
            return letter != "F" && known.insert(letter).inserted ? count + 1 : count
        }
        #expect(asked == expected)
        // No credentials of a proxy are sent to a server.
        #expect((a.requests + b.requests).allSatisfy { $0["Authorization"].isEmpty })
    }

    @Test(
        "haproxy#511: a connection authenticated by the caller's explicit field carries no other user's request",
        arguments: ["NTLM x", "Negotiate x", "Nego2 x", "negotiate-ext x", "Basic x", "Bearer x"])
    func explicitCredentialsAreNotShared(_ value: String) async throws {
        let origin = try Origin { _ in .init(body: "in") }
        // The pool keeps each connection for longer than the test takes on a busy machine.
        let session = Self.session { $0.options.pool = HTTPConnectionPool(limits: .init(idle: .seconds(3600))) }
        func load(_ value: String?) async throws {
            var request = try Self.request(origin)
            if let value { try request.fields.set(value, for: .authorization) }
            #expect(try await session.load(request).status == .ok)
        }
        for value in [nil, value, nil, value, nil] { try await load(value) }
        let connections = origin.requests.map(\.connection)
        try #require(connections.count >= 5)
        #expect(connections[0] == connections[2] && connections[2] == connections[4])
        // The steps of one login use the same connection. Schemes that authenticate each request share all connections.
        let isBound = !value.hasPrefix("B")
        #expect(connections[1] == connections[3] && (connections[1] != connections[0]) == isBound)
    }

    @Test("the explicit fields of two users with one scheme never share a connection, except in a pool of one user")
    func explicitCredentialsOfTwoUsers() async throws {
        for (ofOneUser, expected) in [(false, 3), (true, 1)] {
            let origin = try Origin { _ in .init(body: "in") }
            let session = Self.session { $0.options.pool = HTTPConnectionPool(ofOneUser: ofOneUser) }
            for value in ["NTLM joe", "NTLM ann", "Negotiate joe"] {
                var request = try Self.request(origin)
                try request.fields.set(value, for: .authorization)
                #expect(try await session.load(request).status == .ok)
            }
            #expect(Set(origin.requests.map(\.connection)).count == expected)
        }
    }

    @Test(
        "CVE-2025-0167, CVE-2022-27774: a redirect gets no default entry of netrc, nor a machine's of another port",
        arguments: ["default", "machine 127.0.0.1"], [false, true])
    func netrcAfterRedirects(_ entry: String, _ isRedirected: Bool) async throws {
        let b = try Self.basic(401, "secret")
        let a = try Origin { _ in .init(302, fields: [.init("Location", b.url("/x"))]) }
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("netrc-\(UUID())").path
        try Data("\(entry) login joe password secret\n".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try NetrcFile(path: path)
        let session = Self.session {
            $0.stores = CredentialSearchList(origins: [file], proxies: [])
            $0.options.followsRedirects = true
        }
        let status = try await session.load(Self.request(isRedirected ? a : b)).status
        #expect(status == (isRedirected ? .unauthorized : .ok))
        #expect(b.requests.allSatisfy { $0["Authorization"].isEmpty } == isRedirected)
    }

    @Test("a 407 of a server is not a proxy's: no prompt, and no credentials sent")
    func aServerThatPretendsToBeAProxy() async throws {
        let origin = try Self.basic(407, "secret")
        let questions = Collected<AuthenticationPrompt>()
        let memory = MemoryCredentialStore()
        let space = ProtectionSpace(.proxy, scheme: "http", host: "127.0.0.1", port: origin.port, realm: "same")
        memory.save(Credential(user: "joe", password: "secret", for: space))
        let session = Self.session({ $0.stores = CredentialSearchList(origins: [memory], proxies: [memory]) }) {
            question in
            questions.append(question)
            return .init(user: "joe", password: "secret")
        }
        #expect(try await session.load(Self.request(origin)).status == .proxyAuthenticationRequired)
        #expect(questions.all.isEmpty && origin.requests.count == 1)
    }

    @Test(
        "CVE-2024-11053, CVE-2025-0167, CVE-2026-8926, -3783: netrc, redirects and the URL's user do not mix",
        arguments: [nil, "joe", "ann"], [false, true])
    func netrc(_ user: String?, _ followsToOther: Bool) async throws {
        let b = try Self.basic(401, "secret")
        let a = try Origin { request in
            request.target == "/to"
                ? .init(302, fields: [.init("Location", b.url("/x", host: "localhost"))])
                : request["Authorization"] == ["Basic am9lOnNlY3JldA=="]
                    ? .init(body: "in") : .init(401, fields: [.init("WWW-Authenticate", "Basic realm=\"same\"")])
        }
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("netrc-\(UUID())").path
        try Data("machine 127.0.0.1 login joe password secret\n".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try NetrcFile(path: path)
        let session = Self.session {
            $0.stores = CredentialSearchList(origins: [file], proxies: [])
            $0.options.followsRedirects = true
        }
        let text = a.url(followsToOther ? "/to" : "/x")
        let name = user.map { "//\($0)@" } ?? "//"
        let url = try #require(URL(string: text.replacing("//", with: name, maxReplacements: 1)))
        let status = try await session.load(HTTPRequest(method: .get, url: url)).status
        // The entry of the right machine and the right user, or none.
        #expect(status == (!followsToOther && user != "ann" ? .ok : .unauthorized))
        #expect(b.requests.allSatisfy { $0["Authorization"].isEmpty })
        #expect(user != "ann" || a.requests.allSatisfy { $0["Authorization"].isEmpty })
    }

    @Test(
        "CVE-2015-3236, CVE-2018-1000007: an explicit field is sent only to the first server",
        arguments: ["Authorization", "Cookie", "X-Api-Key", "PRIVATE-TOKEN"])
    func anExplicitFieldGoesOnlyToTheFirstServer(_ name: String) async throws {
        let b = try Origin { _ in .init(body: "B") }
        let a = try Origin { _ in .init(302, fields: [.init("Location", b.url("/x"))]) }
        var request = try Self.request(a)
        try request.fields.set("Bearer mine", for: #require(HTTPFieldName(name)))
        let session = Self.session { $0.options.followsRedirects = true }
        #expect(try await session.load(request).body == Array("B".utf8))
        #expect(a.requests.map { $0[name] } == [["Bearer mine"]] && b.requests.map { $0[name] } == [[]])
    }

    // Parity: HA-050
    @Test(
        "HA-050, CVE-2026-5545, -1965, CVE-2023-27536, CVE-2016-0755, CVE-2014-0015: an authenticated connection is its user's alone",
        arguments: 1...4)
    func connections(_ seed: UInt64) async throws {
        let owners = Collected<(connection: Int, user: String)>()
        let strays = Collected<String>()
        let origin = try Origin { request in
            let sender = request["X-Sender"].first ?? ""
            let owner = owners.all.last { $0.connection == request.connection }?.user
            if let owner, owner != sender { strays.append("\(sender) on the connection of \(owner)") }
            switch request["Authorization"].first {
            case "Bound first": return .init(401, fields: [.init("WWW-Authenticate", "Bound go")])
            case let field? where field.hasPrefix("Bound user."):
                owners.append((request.connection, String(field.dropFirst(11))))
                return .init(body: "in")
            default:
                return owner == nil ? .init(401, fields: [.init("WWW-Authenticate", "Bound")]) : .init(body: "in")
            }
        }
        // All share one pool, as in a program.
        let pool = HTTPConnectionPool()
        let users = ["joe", "ann", "unknown"]
        let sessions = users.map { user in
            Self.session({ configuration in
                configuration.options.pool = pool
                configuration.policy.methods = [Bound.method]
            }) { _ in user == "unknown" ? nil : .init(user: user, password: "x") }
        }
        var state = seed
        for _ in 0..<40 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let which = Int(state >> 33) % users.count
            var request = try Self.request(origin, "/\(state >> 60)")
            try request.fields.set(users[which], for: "X-Sender")
            let status = try await sessions[which].load(request).status
            #expect(status == (users[which] == "unknown" ? .unauthorized : .ok))
            if state >> 40 & 15 == 0 { sessions[which].forgetCredentials() }
        }
        #expect(strays.all.isEmpty)
        #expect(Set(owners.all.map(\.user)) == ["joe", "ann"])
    }

    /// A scheme that authenticates the connection for one user.
    private struct Bound: AuthenticationScheme {
        static let method = AuthenticationMethod("Bound") { _ in Bound() }
        var traits: SchemeTraits { SchemeTraits(isConnectionBound: true, requiresOrderedRequests: true) }
        var realm: String? { nil }
        private var leg = 0

        mutating func receive(
            _ challenge: Challenge, answering sent: [UInt8]?
        ) throws(HTTPAuthError) -> ChallengeVerdict {
            guard sent != nil else {
                leg = 0
                return .fresh
            }
            return leg == 1 ? .continues : .refused
        }

        mutating func respond(
            to input: AuthenticationInput, with credential: Credential?
        ) throws(HTTPAuthError) -> AuthenticationStep {
            leg += 1
            switch leg {
            case 1: return .send(Array("Bound first".utf8))
            case 2: return .send(Array("Bound user.\(credential?.user ?? "")".utf8))
            default: return .nothing
            }
        }

        mutating func disconnected() { leg = 0 }
    }

    @Test("the first step carries no body, and a login whose connection was closed starts again")
    func theBodyFollowsTheFirstStepOfALogin() async throws {
        // Ends the connection after the first step, once.
        let legs = Collected<Int>()
        let origin = try Origin { request in
            switch request["Authorization"].first {
            case "Legs first":
                legs.append(request.body.count)
                var fields = [Origin.Field("WWW-Authenticate", "Legs go")]
                if legs.all.count == 1 { fields.append(.init("Connection", "close")) }
                return .init(401, fields: fields)
            case "Legs second": return .init(body: "\(request.body.count)")
            default: return .init(401, fields: [.init("WWW-Authenticate", "Legs")])
            }
        }
        let session = Self.session({ $0.policy.methods = [Legs.method] }) { _ in .init(user: "joe", password: "x") }
        let request = try HTTPRequest(method: .post, url: #require(URL(string: origin.url("/x"))))
        let body = HTTPBody.bytes([UInt8](repeating: 1, count: 100_000))
        #expect(try await session.load(request, body: body).body == Array("100000".utf8))
        #expect(legs.all == [0, 0])
        #expect(origin.requests.map(\.body.count) == [100_000, 0, 0, 100_000])
    }

    /// A login of two steps, of which the first is always refused.
    private struct Legs: AuthenticationScheme {
        static let method = AuthenticationMethod("Legs") { _ in Legs() }
        var traits: SchemeTraits {
            SchemeTraits(isConnectionBound: true, requiresOrderedRequests: true, expectsAnotherChallenge: leg == 1)
        }
        var realm: String? { nil }
        private var leg = 0

        mutating func receive(
            _ challenge: Challenge, answering sent: [UInt8]?
        ) throws(HTTPAuthError) -> ChallengeVerdict {
            guard sent != nil else {
                leg = 0
                return .fresh
            }
            return leg == 1 ? .continues : .refused
        }

        mutating func respond(
            to input: AuthenticationInput, with credential: Credential?
        ) throws(HTTPAuthError) -> AuthenticationStep {
            leg += 1
            return .send(Array((leg == 1 ? "Legs first" : "Legs second").utf8))
        }

        mutating func disconnected() { leg = 0 }
    }

    @Test("no description, dump, error or report shows a secret") func noSecretIsPrinted() async throws {
        let origin = try Self.basic(401, "right")
        let proxy = try Self.basic(407, "right")
        let secret = "sesame-\(origin.port)"
        let basic = Data("joe:\(secret)".utf8).base64EncodedString()
        let answer = AuthenticationPrompt.Answer(user: "joe", password: secret, accountDomain: "D", saves: true)
        let questions = Collected<AuthenticationPrompt>()
        let server = try ProxyServer("http://joe:\(secret)@127.0.0.1:\(proxy.port)")
        let hop = try #require(try server.httpProxy())
        var shown = ""
        func show(_ value: Any) {
            shown += "\(value) \(String(reflecting: value)) "
            dump(value, to: &shown)
        }
        for route in [ProxyRoute.direct, ProxyRoute(hop)] {
            let session = Self.session({ configuration in
                configuration.proxies = .route(route)
            }) { question in
                questions.append(question)
                return answer
            }
            let url = try #require(URL(string: "http://joe:\(secret)@127.0.0.1:\(origin.port)/x"))
            let stream = try await session.open(HTTPRequest(method: .get, url: url))
            show(stream.report)
            show(try await stream.response())
            show(stream[.httpFinalURL] as Any)
            stream.close()
            show(session)
            show(session.configuration)
        }
        show(answer)
        show(questions.all)
        show(hop)
        show(ProxyRoute(hop))
        show(Credential(user: "joe", password: secret, for: try #require(questions.all.first).space))
        show(HTTPAuthError(.credentialRefused, scheme: "Basic"))
        #expect(questions.all.count >= 3)
        #expect(Self.received(origin).contains(basic))
        #expect(!shown.contains(secret) && !shown.contains(basic))
    }
}
