import Foundation
import HTTPAuth
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Sessions through proxies that require a login: `http` in absolute form, `https` through tunnels.
@Suite(.serialized) struct ProxySessionTests {
    enum Proxy: String, CaseIterable, CustomTestStringConvertible {
        case basic, digest, both, ntlm

        var testDescription: String { rawValue }

        static let squids = Result {
            let squids = (
                basic: Squid(asksFor: [.basic]), digest: Squid(asksFor: [.digest]),
                both: Squid(asksFor: [.basic, .digest])
            )
            try squids.basic.start()
            try squids.digest.start()
            try squids.both.start()
            return squids
        }

        static let winbind = Result {
            let winbind = WinbindSquid()
            try winbind.start()
            return winbind
        }

        var peer: any Peer {
            get throws {
                switch self {
                case .basic: try Self.squids.get().basic
                case .digest: try Self.squids.get().digest
                case .both: try Self.squids.get().both
                case .ntlm: try Self.winbind.get()
                }
            }
        }

        var method: AuthenticationMethod {
            switch self {
            case .basic: .basic
            case .digest, .both: .digest
            case .ntlm: .ntlm
            }
        }

        var url: String { get throws { "http://localhost:\(try peer.port)" } }

        /// The number of challenges in squid's log.
        var challenges: Int { get throws { try peer.log.split(separator: "TCP_DENIED/407").count - 1 } }
    }

    private static func session(
        through proxy: Proxy, _ change: (inout HTTPSession.Configuration) -> Void = { _ in },
        answer: @escaping @Sendable (AuthenticationPrompt) -> AuthenticationPrompt.Answer?
    ) throws -> HTTPSession {
        try session(
            throughAll: [HTTPProxy(host: "localhost", port: UInt16(try proxy.peer.port))], change, answer: answer)
    }

    private static func session(
        throughAll proxies: [HTTPProxy], _ change: (inout HTTPSession.Configuration) -> Void = { _ in },
        answer: @escaping @Sendable (AuthenticationPrompt) -> AuthenticationPrompt.Answer?
    ) throws -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.policy.methods = [.ntlm, .digest, .basic]
        configuration.proxies = .route(ProxyRoute(hops: proxies))
        configuration.options.tls.trust = .only(file: try CertificateAuthority.shared().root)
        configuration.prompt = { answer($0) }
        change(&configuration)
        return HTTPSession(configuration)
    }

    private static func url(_ listener: HTTPListener, _ path: String = "/open.txt") throws -> URL {
        try Servers.apache.get().write("open.txt", Array("open".utf8))
        return try #require(URL(string: Servers.apache.get().url(listener, path)))
    }

    private static let known = AuthenticationPrompt.Answer(user: "alice", password: "open sesame")
    private static let wrong = AuthenticationPrompt.Answer(user: "alice", password: "wrong")

    // Parity: HA-070 (Apache, Samba winbind, squid)
    @Test(
        "HA-070: every scheme prompts once, and the prompt names the proxy", arguments: Proxy.allCases,
        [HTTPListener.plain, .tls])
    func loginAtAProxy(_ proxy: Proxy, _ listener: HTTPListener) async throws {
        let questions = Collected<AuthenticationPrompt>()
        let session = try Self.session(through: proxy) { question in
            questions.append(question)
            return Self.known
        }
        let before = try proxy.challenges
        for _ in 0..<3 {
            let response = try await session.load(HTTPRequest(method: .get, url: Self.url(listener)))
            #expect(response.status == .ok && response.body == Array("open".utf8))
        }
        let question = try #require(questions.all.first)
        #expect(questions.all.count == 1)
        #expect(question.space.role == .proxy && question.method == proxy.method)
        #expect(question.text.hasPrefix("The proxy \(try proxy.url) requires a user name and a password"))
        #expect(question.text.contains("for \"peers\"") == (proxy != .ntlm))
        // NTLM takes two round trips, once per connection.
        #expect(try proxy.challenges - before == (proxy == .ntlm ? 2 : 1))
    }

    /// `ß` has no upper case of one letter: with the usual `SS`, the hash of the name would be another one.
    // Parity: HA-047 (Samba winbind, squid)
    @Test("HA-047: letters beyond ASCII in the user name and in the password")
    func lettersBeyondASCII() async throws {
        let (user, password) = WinbindSquid.accentedUser
        let request = try HTTPRequest(method: .get, url: Self.url(.plain))
        let session = try Self.session(through: .ntlm) { _ in .init(user: user, password: password) }
        let response = try await session.load(request)
        #expect(response.status == .ok && response.body == Array("open".utf8))
        for (user, password) in [
            (user, password.replacingOccurrences(of: "ß", with: "ss")), (user, password.uppercased()),
            (user.replacingOccurrences(of: "ß", with: "ss"), password),
        ] {
            let session = try Self.session(through: .ntlm) { question in
                question.failure == nil ? .init(user: user, password: password) : nil
            }
            #expect(try await session.load(request).status == .proxyAuthenticationRequired, "\(user)")
        }
        let names = try Proxy.ntlm.peer.log.split(separator: "\n").filter { $0.contains("TCP_MISS/200") }
        #expect(names.contains { $0.lowercased().contains("\\ren%c3%a9.gro%c3%9f ") }, "\(names)")
    }

    @Test(
        "wrong passwords are refused: status, fields and body", arguments: Proxy.allCases, [HTTPListener.plain, .tls])
    func aWrongPasswordIsRefused(_ proxy: Proxy, _ listener: HTTPListener) async throws {
        let questions = Collected<AuthenticationPrompt>()
        let session = try Self.session(through: proxy) { question in
            questions.append(question)
            return Self.wrong
        }
        let stream = try await session.open(HTTPRequest(method: .get, url: Self.url(listener)))
        defer { stream.close() }
        let response = try await stream.response()
        #expect(response.status == .proxyAuthenticationRequired)
        #expect(response.fields[.proxyAuthenticate]?.isEmpty == false)
        var body: [UInt8] = []
        for try await chunk in stream.chunks() { body += chunk }
        // A proxy's response to CONNECT is its own, not the server's.
        #expect(body.isEmpty == (listener == .tls))
        #expect(stream[.httpProxyResponse]?.body.isEmpty == (listener == .tls ? false : nil))
        #expect(questions.all.map { $0.failure?.code } == [nil, .credentialRefused, .credentialRefused])
        // Without a prompt, the first 407 is the answer.
        let silent = try Self.session(through: proxy) { _ in nil }
        #expect(try await silent.load(HTTPRequest(method: .get, url: Self.url(listener))).status.code == 407)
    }

    /// A stale nonce is answered with the same password, without a prompt.
    // Parity: HA-038 (squid)
    @Test func aStaleNonceIsRenewed() async throws {
        let squid = Squid(asksFor: [.digest], usesOfNonce: 2)
        try squid.start()
        let questions = Collected<AuthenticationPrompt>()
        let proxy = HTTPProxy(host: "localhost", port: UInt16(squid.port))
        let session = try Self.session(throughAll: [proxy]) { question in
            questions.append(question)
            return Self.known
        }
        for _ in 0..<6 {
            let response = try await session.load(HTTPRequest(method: .get, url: Self.url(.plain)))
            #expect(response.status == .ok && response.body == Array("open".utf8))
        }
        #expect(questions.all.count == 1)
        let challenges = squid.log.split(separator: "TCP_DENIED/407").count - 1
        #expect(challenges >= 2, "one challenge, and one for each stale nonce")
    }

    @Test("wrong, then right", arguments: Proxy.allCases, [HTTPListener.plain, .tls])
    func theSecondPasswordIsRight(_ proxy: Proxy, _ listener: HTTPListener) async throws {
        let session = try Self.session(through: proxy) { $0.failure == nil ? Self.wrong : Self.known }
        #expect(try await session.load(HTTPRequest(method: .get, url: Self.url(listener))).status == .ok)
    }

    // Parity: HA-029 (Apache, Samba winbind, squid)
    @Test(
        "HA-029: proxy and server each require their own login", arguments: Proxy.allCases, [HTTPListener.plain, .tls])
    func proxyAndServerRequireLogins(_ proxy: Proxy, _ listener: HTTPListener) async throws {
        let questions = Collected<AuthenticationPrompt>()
        let session = try Self.session(through: proxy) { question in
            questions.append(question)
            return Self.known
        }
        for path in ["/digest/secret.txt", "/basic/secret.txt", "/digest/secret.txt"] {
            let response = try await session.load(HTTPRequest(method: .get, url: Self.url(listener, path)))
            #expect(response.status == .ok && response.body == Array("treasure".utf8))
        }
        #expect(questions.all.map(\.space.role) == [.proxy, .origin, .origin])
        // The server refuses the login, the proxy accepts it.
        let other = try Self.session(through: proxy) { $0.space.role == .proxy ? Self.known : Self.wrong }
        let path = "/digest/secret.txt"
        #expect(try await other.load(HTTPRequest(method: .get, url: Self.url(listener, path))).status == .unauthorized)
    }

    // Parity: HA-051 (Apache, Samba winbind, squid)
    @Test("HA-051: bodies are sent completely in the end", arguments: Proxy.allCases, [HTTPListener.plain, .tls])
    func bodies(_ proxy: Proxy, _ listener: HTTPListener) async throws {
        let session = try Self.session(through: proxy) { _ in Self.known }
        let large = [UInt8](repeating: 65, count: 300_000)
        for body in [HTTPBody.bytes(large), .stream(length: nil) { ReadStream(bytes: large) }] {
            let request = try HTTPRequest(method: .post, url: Self.url(listener, "/cgi/echo"))
            let response = try await session.load(request, body: body)
            #expect(response.status == .ok && response.body.suffix(large.count) == large[...])
        }
    }

    @Test(
        "several loads at once ask once, and each NTLM connection is its own", arguments: Proxy.allCases,
        [HTTPListener.plain, .tls])
    func concurrentLoads(_ proxy: Proxy, _ listener: HTTPListener) async throws {
        let questions = Collected<AuthenticationPrompt>()
        let session = try Self.session(through: proxy) { question in
            questions.append(question)
            return Self.known
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await session.load(HTTPRequest(method: .get, url: Self.url(listener))).status.code
                }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(questions.all.count == 1)
    }

    @Test("two proxies in a chain, each with its own login", arguments: [HTTPListener.plain, .tls])
    func aChainOfTwoProxies(_ listener: HTTPListener) async throws {
        let questions = Collected<AuthenticationPrompt>()
        let hops = try [Proxy.digest, .basic].map { HTTPProxy(host: "localhost", port: UInt16(try $0.peer.port)) }
        let session = try Self.session(throughAll: hops) { question in
            questions.append(question)
            return Self.known
        }
        for _ in 0..<2 {
            #expect(try await session.load(HTTPRequest(method: .get, url: Self.url(listener))).status == .ok)
        }
        #expect(questions.all.map(\.space.port) == hops.map { Int($0.port) })
    }

    @Test(
        "user and password of the proxy's URL answer its challenge, whatever the scheme",
        arguments: [Proxy.basic, .digest, .both])
    func proxyURL(_ proxy: Proxy) async throws {
        let server = try ProxyServer("http://alice:open%20sesame@localhost:\(proxy.peer.port)")
        let hop = try #require(try server.httpProxy())
        let session = try Self.session(throughAll: [hop]) { _ in nil }
        for listener in [HTTPListener.plain, .tls] {
            #expect(try await session.load(HTTPRequest(method: .get, url: Self.url(listener))).status == .ok)
        }
    }

    // Parity: HA-068, HA-069 (Apache, squid)
    @Test("HA-068, HA-069: stores separate proxies and servers, with the proxy as key")
    func storesSeparateProxiesAndServers() async throws {
        let proxy = Proxy.digest
        let (origins, proxies) = (MemoryCredentialStore(), MemoryCredentialStore())
        let space = ProtectionSpace(
            .proxy, scheme: "http", host: "localhost", port: try proxy.peer.port, realm: "peers")
        // An entry in the wrong store is not found.
        origins.save(Credential(user: "alice", password: "open sesame", for: space))
        func load() async throws -> Int {
            let session = try Self.session(
                through: proxy, { $0.stores = CredentialSearchList(origins: [origins], proxies: [proxies]) }
            ) { _ in nil }
            return try await session.load(HTTPRequest(method: .get, url: Self.url(.plain))).status.code
        }
        #expect(try await load() == 407)
        proxies.save(Credential(user: "alice", password: "open sesame", for: space))
        #expect(try await load() == 200)
        // An entry with the same name and realm for an origin does not match the proxy.
        proxies.removeAll()
        let origin = ProtectionSpace(
            .origin, scheme: "http", host: "localhost", port: try proxy.peer.port, realm: "peers")
        origins.save(Credential(user: "alice", password: "open sesame", for: origin))
        #expect(try await load() == 407)
        // The user's answer is stored once the proxy has accepted it, also for the tunnel.
        for listener in [HTTPListener.plain, .tls] {
            proxies.removeAll()
            let session = try Self.session(
                through: proxy, { $0.stores = CredentialSearchList(origins: [origins], proxies: [proxies]) }
            ) { _ in Self.known }
            #expect(try await session.load(HTTPRequest(method: .get, url: Self.url(listener))).status == .ok)
            #expect(proxies.find(CredentialQuery(space))?.password == Secret("open sesame"))
        }
    }

    @Test("setting Proxy-Authorization disables logins to proxies")
    func anExplicitFieldDisablesLogins() async throws {
        let questions = Collected<AuthenticationPrompt>()
        let session = try Self.session(through: .basic) { question in
            questions.append(question)
            return Self.known
        }
        for listener in [HTTPListener.plain, .tls] {
            for (value, status) in [("Basic YWxpY2U6b3BlbiBzZXNhbWU=", 200), ("Basic eDp5", 407)] {
                var request = try HTTPRequest(method: .get, url: Self.url(listener))
                try request.fields.set(value, for: .proxyAuthorization)
                #expect(try await session.load(request).status.code == status)
            }
        }
        #expect(questions.all.isEmpty)
    }
}

/// Values from several tasks, in order.
final class Collected<Value: Sendable>: @unchecked Sendable {
    // Accessed only under the lock.
    private let lock = NSLock()
    private var values: [Value] = []
    var all: [Value] { lock.withLock { values } }
    func append(_ value: Value) { lock.withLock { values.append(value) } }
}
