import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// A proxy's own account: nothing is sent before the proxy's challenge, unless the application allows it.
@Suite struct ProxyAccountTests {
    private static let basic = "Basic am9lOnNlY3JldA=="

    /// A separate proxy for each test: the forms of logins are kept for the whole process.
    private let host = "\(UInt64.random(in: 0 ... .max)).test"

    private func proxy(isSentUnasked: Bool = false, tls: TLSConfiguration? = nil, port: UInt16 = 3128) -> HTTPProxy {
        var proxy = HTTPProxy(host: host, port: port, tls: tls)
        proxy.account = .init(user: "joe", password: Secret("secret"), isSentUnasked: isSentUnasked)
        return proxy
    }

    private func machine(_ proxy: HTTPProxy) throws -> ConnectMachine {
        try ConnectMachine(proxy, try TunnelTarget(host: "www.test", port: 443))
    }

    /// The next head to be sent, after the preceding work.
    private func sent(_ machine: inout ConnectMachine) async throws -> String {
        var action = try machine.next()
        if case .work(let work) = action {
            await withCheckedContinuation { continuation in work.begin { continuation.resume() } }
            action = try machine.next()
        }
        guard case .send(let bytes) = action else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func answer(_ challenge: String, closes: Bool = false) -> [UInt8] {
        let connection = closes ? "Connection: close\r\n" : ""
        return Array(
            "HTTP/1.1 407 No\r\n\(connection)Proxy-Authenticate: \(challenge)\r\nContent-Length: 0\r\n\r\n".utf8)
    }

    @Test(
        "a tunnel: the first request has no credentials; the challenge is answered, on a new connection if need be",
        arguments: ["Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\", qop=auth"], [false, true])
    func tunnels(_ challenge: String, _ closes: Bool) async throws {
        let proxy = proxy()
        var machine = try machine(proxy)
        #expect(try await !sent(&machine).contains("Proxy-Authorization"))
        try machine.receive(answer(challenge, closes: closes))
        if closes {
            #expect(throws: StreamError.self) { try machine.next() }
            #expect(machine.refusal == .connection)
            machine = try self.machine(proxy)
        }
        let scheme = challenge.prefix { $0 != " " }
        #expect(try await sent(&machine).contains("Proxy-Authorization: \(scheme) "))
        // A refused password is not sent again.
        try machine.receive(answer(challenge))
        #expect(throws: StreamError.self) { try machine.next() }
        #expect(machine.refusal == .request)
        var next = try self.machine(proxy)
        #expect(try await !sent(&next).contains("Proxy-Authorization"))
    }

    @Test("the switch sends Basic before a challenge; a challenge after that is answered once, unless it is for Basic")
    func unasked() async throws {
        let rows: [(String, Bool, UInt16)] = [
            ("Digest realm=\"r\", nonce=\"n\"", true, 1), ("Basic realm=\"r\"", false, 2),
        ]
        for (challenge, isAnswered, port) in rows {
            var machine = try machine(proxy(isSentUnasked: true, port: port))
            #expect(try await sent(&machine).contains("Proxy-Authorization: \(Self.basic)"))
            try machine.receive(answer(challenge))
            let second = try? await sent(&machine)
            #expect((second?.contains("Proxy-Authorization: Digest ") ?? false) == isAnswered)
            #expect((second == nil) == !isAnswered, "the same password is not sent twice")
        }
    }

    @Test("a copy that names another proxy shares the account, but not the login of the first proxy")
    func copies() async throws {
        let proxy = proxy()
        var machine = try machine(proxy)
        _ = try await sent(&machine)
        try machine.receive(answer("Basic realm=\"r\""))
        #expect(try await sent(&machine).contains("Proxy-Authorization: \(Self.basic)"))
        var again = try self.machine(proxy)
        #expect(try await sent(&again).contains("Proxy-Authorization: \(Self.basic)"))
        for change in [{ (proxy: inout HTTPProxy) in proxy.host = "other.test" }, { $0.port = 3129 }] {
            var copy = proxy
            change(&copy)
            var other = try self.machine(copy)
            #expect(try await !sent(&other).contains("Proxy-Authorization"))
        }
    }

    @Test("a proxy that has required Digest does not receive Basic afterwards") func downgrade() async throws {
        let proxy = proxy()
        var machine = try machine(proxy)
        _ = try await sent(&machine)
        try machine.receive(answer("Digest realm=\"r\", nonce=\"n\""))
        #expect(try await sent(&machine).contains("Digest "))
        try machine.receive(answer("Basic realm=\"r\""))
        #expect(throws: StreamError.self) { try machine.next() }
        var next = try self.machine(proxy)
        #expect(try await !sent(&next).contains("Proxy-Authorization"))
        try next.receive(answer("Basic realm=\"r\""))
        #expect(throws: StreamError.self) { try next.next() }
        #expect(next.refusal == .request)
    }

    @Test("settings make a new proxy for each URL: one that has required Digest still does not receive Basic")
    func downgradeBetweenLoads() throws {
        var settings = ProxySettings()
        settings.http = [try ProxyServer("http://joe:secret@\(host):3128")]
        func login(_ url: String, _ challenge: String) throws -> HTTPLogin? {
            let routes = try settings.routes(for: try #require(URL(string: url)))
            let proxy = try #require(routes.first?.hops.first as? HTTPProxy)
            var response = try HTTPResponse(status: .proxyAuthenticationRequired)
            try response.fields.set(challenge, for: .proxyAuthenticate)
            return try #require(proxy.ownLogin).begin(response, answering: nil, from: proxy.space)
        }
        #expect(try login("http://a.test/", "Digest realm=\"r\", nonce=\"n\"") != nil)
        #expect(try login("http://b.test/", "Basic realm=\"r\"") == nil)
    }

    @Test("absolute form: the first request has no credentials, unless the switch is set", arguments: [false, true])
    func absoluteForm(_ isSentUnasked: Bool) throws {
        let url = try #require(URL(string: "http://www.test/a"))
        let request = try HTTPRequest(method: .get, url: url)
        let proxy = proxy(isSentUnasked: isSentUnasked)
        let first = try HTTPRoute.form(request, of: url, for: proxy)
        #expect(first.fields[.proxyAuthorization] == (isSentUnasked ? Self.basic : nil))
        var challenge = try HTTPResponse(status: .proxyAuthenticationRequired)
        try challenge.fields.set("Digest realm=\"r\", nonce=\"n\"", for: .proxyAuthenticate)
        let login = try #require(proxy.ownLogin)
        #expect(login.judge(challenge, to: first, from: proxy.space))
        let second = try HTTPRoute.form(request, of: url, for: proxy)
        #expect(second.fields[.proxyAuthorization]?.hasPrefix("Digest ") == true)
        #expect(!login.judge(challenge, to: second, from: proxy.space))
        #expect(proxy.ownLogin?.current == nil)
        // A copy with the caller's own fields does not answer.
        var own = proxy
        try own.fields.set("Basic mine", for: .proxyAuthorization)
        #expect(own.ownLogin == nil)
        #expect(try HTTPRoute.form(request, of: url, for: own).fields[.proxyAuthorization] == "Basic mine")
    }

    @Test("before a challenge, a session sends nothing that its policy or an earlier challenge forbids")
    func sessionRules() throws {
        func isSent(
            _ proxy: HTTPProxy, _ memory: AuthenticationMemory = .init(), _ change: (inout AuthenticationPolicy) -> Void
        )
            throws -> Bool
        {
            var policy = AuthenticationPolicy()
            change(&policy)
            let logins = ProxyLogins(ProxyLogins.Rules(policy, memory))
            let hops = logins.logins(in: [ProxyRoute(proxy)], toSecure: true).flatMap(\.hops)
            let hop = try #require(hops.first as? HTTPProxy)
            #expect(hop.isSession && hop.ownLogin == nil)
            return hop.unaskedLogin != nil
        }
        #expect(try isSent(proxy(isSentUnasked: true)) { _ in })
        #expect(try !isSent(proxy(isSentUnasked: false)) { _ in })
        #expect(try !isSent(proxy(isSentUnasked: true)) { $0.banned = [.basic] })
        #expect(try !isSent(proxy(isSentUnasked: true)) { $0.methods = [.digest] })
        #expect(try !isSent(proxy(isSentUnasked: true)) { $0.encryptedOnly = [.basic] })
        #expect(try isSent(proxy(isSentUnasked: true, tls: TLSConfiguration())) { $0.encryptedOnly = [.basic] })
        let memory = AuthenticationMemory()
        var challenge = try HTTPResponse(status: .proxyAuthenticationRequired)
        try challenge.fields.set("Digest realm=\"r\", nonce=\"n\"", for: .proxyAuthenticate)
        _ = HTTPAuthentication(response: challenge, from: proxy().space, memory: memory)
        #expect(try !isSent(proxy(isSentUnasked: true), memory) { _ in })
    }

    @Test("proxies with different accounts are different proxies") func equality() {
        #expect(proxy() == proxy() && proxy() != proxy(isSentUnasked: true))
        #expect(proxy() != HTTPProxy(host: host, port: 3128))
    }
}
