import Foundation
import HTTPAuth
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// A server or proxy that offers a weaker scheme in the middle of a login gets no weaker login unless the user agrees.
@Suite struct DowngradeTests {
    /// One login for every protection space, as from a netrc file or the command line.
    private struct AnySpace: CredentialStore {
        let name = "any space"
        let isWritable = false
        let mayBlock = false
        func find(_ query: CredentialQuery) -> Credential? {
            Credential(user: "joe", password: "secret", for: query.space)
        }
        func save(_ credential: Credential) throws(HTTPAuthError) { throw HTTPAuthError(.storeReadOnly) }
        func remove(_ query: CredentialQuery) throws(HTTPAuthError) -> Int { throw HTTPAuthError(.storeReadOnly) }
    }

    private static let digest = "Digest realm=\"r\", nonce=\"n\""

    static let downgrades = [
        (digest, "Basic realm=\"r\""), (digest, "Basic"), (digest, "Basic realm=\"other\""), ("NTLM", "Basic"),
        ("NTLM", "Basic realm=\"r\""), ("NTLM", "\(digest), qop=auth"),
        ("\(digest), algorithm=SHA-256", "\(digest), stale=true"),
        ("\(digest), algorithm=SHA-256", "Digest realm=\"other\", nonce=\"n\""),
        ("\(digest), qop=auth-int", "\(digest), stale=true"),
        ("\(digest), qop=auth", "\(digest), stale=true"),
    ]

    /// Requests the first scheme, and answers credentials with a challenge of the second.
    private static func server(_ role: ProtectionSpace.Role, _ first: String, _ second: String) throws -> Origin {
        let (status, challenge, field) =
            role == .origin
            ? (401, "WWW-Authenticate", "Authorization") : (407, "Proxy-Authenticate", "Proxy-Authorization")
        let seconds = Collected<String>()
        return try Origin { request in
            guard let value = request[field].first else {
                return .init(status, fields: [.init(challenge, seconds.all.isEmpty ? first : second)])
            }
            defer { seconds.append(value) }
            return seconds.all.isEmpty ? .init(status, fields: [.init(challenge, second)]) : .init(body: "in")
        }
    }

    private static func load(
        _ server: Origin, _ role: ProtectionSpace.Role, userInURL: Bool,
        _ change: (inout HTTPSession.Configuration) -> Void = { _ in }
    ) async throws -> Int {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.policy.methods = [.ntlm, .digest, .basic]
        configuration.stores = CredentialSearchList(
            origins: userInURL ? [] : [AnySpace()], proxies: userInURL ? [] : [AnySpace()])
        let proxy = try ProxyServer("http://\(userInURL ? "joe:secret@" : "")127.0.0.1:\(server.port)")
        if role == .proxy {
            configuration.proxies = .route(ProxyRoute(hops: [try proxy.hop()]))
        }
        change(&configuration)
        let user = userInURL && role == .origin ? "joe:secret@" : ""
        let url = role == .origin ? "http://\(user)127.0.0.1:\(server.port)/x" : "http://nowhere.test/x"
        let session = HTTPSession(configuration)
        return try await session.load(HTTPRequest(method: .get, url: #require(URL(string: url)))).status.code
    }

    @Test("without a prompt, the weaker challenge is the answer", arguments: downgrades, ProtectionSpace.Role.allCases)
    func aWeakerSchemeIsRefusedWithoutAPrompt(_ downgrade: (String, String), _ role: ProtectionSpace.Role) async throws
    {
        for userInURL in [false, true] {
            let server = try Self.server(role, downgrade.0, downgrade.1)
            #expect(try await Self.load(server, role, userInURL: userInURL) == (role == .origin ? 401 : 407))
            #expect(server.requests.count == 2)
            let received = server.recordings.map { String(decoding: $0.received, as: UTF8.self) }.joined()
            #expect(!received.contains("am9lOnNlY3JldA"))  // joe:secret
        }
    }

    @Test("the prompt names the weaker scheme, and an answer permits it", arguments: downgrades)
    func thePromptPermitsAWeakerScheme(_ downgrade: (String, String)) async throws {
        for role in ProtectionSpace.Role.allCases {
            let server = try Self.server(role, downgrade.0, downgrade.1)
            let questions = Collected<AuthenticationPrompt>()
            let status = try await Self.load(server, role, userInURL: false) {
                $0.prompt = { question in
                    questions.append(question)
                    return .init(user: "joe", password: "secret")
                }
            }
            #expect(status == 200)
            let question = try #require(questions.all.first)
            #expect(questions.all.count == 1 && question.failure == nil)
            #expect(question.downgrade?.code == .weakerScheme)
            #expect(question.method.name == downgrade.1.prefix { $0 != " " })
            #expect(question.text.contains("Warning: \(question.method)"))
        }
    }

    @Test("a credential entered for one scheme is requested again for a weaker one")
    func aWeakerSchemeNeedsASecondPrompt() async throws {
        let server = try Self.server(.origin, Self.digest, "Basic realm=\"r\"")
        let questions = Collected<AuthenticationPrompt>()
        let status = try await Self.load(server, .origin, userInURL: true) {
            $0.prompt = { question in
                questions.append(question)
                return question.downgrade == nil ? .init(user: "joe", password: "secret") : nil
            }
        }
        #expect(status == 401 && questions.all.map(\.method) == [.basic])
    }

    @Test("a policy that names the weaker scheme needs no prompt", arguments: downgrades)
    func aPolicyPermitsAWeakerScheme(_ downgrade: (String, String)) async throws {
        for role in ProtectionSpace.Role.allCases {
            let server = try Self.server(role, downgrade.0, downgrade.1)
            let status = try await Self.load(server, role, userInURL: false) {
                $0.policy.mayWeakenLogins = [.digest, .basic]
            }
            #expect(status == 200)
        }
    }

    @Test("after the login was forgotten, loads remember the schemes offered")
    func laterLoadsRememberTheSchemes() async throws {
        let server = try Self.server(.origin, Self.digest, "Basic realm=\"r\"")
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.stores = CredentialSearchList(origins: [AnySpace()])
        let session = HTTPSession(configuration)
        let request = try HTTPRequest(method: .get, url: #require(URL(string: server.url("/x"))))
        for _ in 0..<3 { #expect(try await session.load(request).status == .unauthorized) }
        #expect(server.requests.count == 4)
    }

    @Test(
        "a proxy gets the login of its URL once it has asked, or with the first request where a switch says so",
        arguments: ["Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\", qop=auth"], [false, true])
    func proxyURL(_ challenge: String, _ isSession: Bool) async throws {
        for isUnasked in [false, true] {
            let proxy = try Origin { request in
                let isKnown = request["Proxy-Authorization"].first?.hasPrefix(challenge.prefix { $0 != " " }) == true
                return isKnown ? .init(body: "in") : .init(407, fields: [.init("Proxy-Authenticate", challenge)])
            }
            var server = try ProxyServer("http://joe:secret@127.0.0.1:\(proxy.port)")
            server.sendsLoginUnasked = isUnasked
            let route = ProxyRoute(hops: [try server.hop()])
            let request = try HTTPRequest(method: .get, url: #require(URL(string: "http://nowhere.test/x")))
            func load(_ session: HTTPSession?) async throws -> Int {
                if let session { return try await session.load(request).status.code }
                let stream = ReadStream(request: request)
                defer { stream.close() }
                try stream.set(.proxies, to: [route])
                try stream.open()
                return try await stream.response().status.code
            }
            var configuration = HTTPSession.Configuration()
            configuration.options.pool = HTTPConnectionPool()
            configuration.proxies = .route(route)
            let session = isSession ? HTTPSession(configuration) : nil
            for _ in 0..<2 { #expect(try await load(session) == 200) }
            let fields = proxy.requests.map { $0["Proxy-Authorization"].first?.prefix { $0 != " " } }
            let scheme = challenge.prefix { $0 != " " }
            #expect(
                fields
                    == (!isUnasked
                        ? [nil, scheme, scheme] : scheme == "Basic" ? [scheme, scheme] : ["Basic", scheme, scheme]))
        }
    }

    @Test("a redirect leads to a server that the application has not named") func named() async throws {
        let named = Collected<Bool>()
        let method = AuthenticationMethod("Listen") { _ in ListeningScheme(named: named) }
        let b = try Origin { request in
            request["Authorization"].isEmpty
                ? .init(401, fields: [.init("WWW-Authenticate", "Listen")]) : .init(body: "B")
        }
        let a = try Origin { request in
            request["Authorization"].isEmpty
                ? .init(401, fields: [.init("WWW-Authenticate", "Listen")])
                : .init(302, fields: [.init("Location", b.url("/x"))])
        }
        var configuration = HTTPSession.Configuration()
        configuration.options.followsRedirects = true
        configuration.policy.methods = [method]
        let session = HTTPSession(configuration)
        let request = try HTTPRequest(method: .get, url: #require(URL(string: a.url("/x"))))
        #expect(try await session.load(request).body == Array("B".utf8))
        #expect(named.all == [true, false])
    }

    /// A scheme that needs no password and records whether the application named the server.
    private struct ListeningScheme: AuthenticationScheme {
        let named: Collected<Bool>
        var traits: SchemeTraits { SchemeTraits(requiresUserNameAndPassword: false) }
        var realm: String? { nil }
        mutating func receive(
            _ challenge: Challenge, answering sent: [UInt8]?
        ) throws(HTTPAuthError) -> ChallengeVerdict { sent == nil ? .fresh : .refused }
        mutating func respond(
            to input: AuthenticationInput, with credential: Credential?
        ) throws(HTTPAuthError) -> AuthenticationStep {
            named.append(input.isNamed)
            return .send(Array("Listen x".utf8))
        }
    }
}
