import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import NetKit

@Suite("CONNECT with a login, without I/O") struct ConnectLoginTests {
    private static let place = ProtectionSpace(.proxy, scheme: "http", host: "proxy.test", port: 3128)

    private func challenge(_ text: String) throws -> HTTPResponse {
        var response = try HTTPResponse(status: .proxyAuthenticationRequired)
        try response.fields.set(text, for: .proxyAuthenticate)
        return response
    }

    private func known(_ text: String) throws -> KnownAuthentication {
        var policy = AuthenticationPolicy()
        policy.methods = [.digest, .basic]
        let challenge = try challenge(text)
        let authentication = try #require(HTTPAuthentication(response: challenge, from: Self.place, policy: policy))
        let credential = Credential(user: "joe", password: "secret", for: authentication.space)
        return KnownAuthentication(authentication, of: challenge, policy, credential, isStored: false, saves: false)
    }

    private func machine(_ known: KnownAuthentication) throws -> ConnectMachine {
        var proxy = HTTPProxy(host: "proxy.test", port: 3128)
        try proxy.fields.set("Basic of the URL", for: .proxyAuthorization)
        proxy.login = known
        return try ConnectMachine(proxy, try TunnelTarget(host: "www.test", port: 443))
    }

    /// The bytes to send, after the work that comes before them.
    private func sent(_ machine: inout ConnectMachine) async throws -> String {
        guard case .work(let work) = try machine.next() else { return "" }
        await withCheckedContinuation { continuation in work.begin { continuation.resume() } }
        guard case .send(let bytes) = try machine.next() else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func answer(_ fields: String, body: String = "") -> [UInt8] {
        let length = "Content-Length: \(body.utf8.count)\r\n"
        return Array("HTTP/1.1 407 Proxy Authentication Required\r\n\(fields)\(length)\r\n\(body)".utf8)
    }

    @Test("the login's field takes the place of the URL's; a fresh nonce is used on the same connection")
    func anotherLeg() async throws {
        let known = try known("Digest realm=\"r\", qop=\"auth\", nonce=\"one\"")
        var machine = try machine(known)
        let first = try await sent(&machine)
        #expect(first.hasPrefix("CONNECT www.test:443 HTTP/1.1\r\n"))
        #expect(
            first.contains("nonce=\"one\"") && first.contains("uri=\"www.test:443\"") && !first.contains("of the URL"))
        let stale = "Proxy-Authenticate: Digest realm=\"r\", qop=\"auth\", nonce=\"two\", stale=true\r\n"
        try machine.receive(answer(stale, body: "wait"))
        #expect(try await sent(&machine).contains("nonce=\"two\""))
        try machine.receive(Array("HTTP/1.1 200 Connection established\r\n\r\nhello".utf8))
        #expect(try machine.next() == .established("tunnel to www.test:443: 200", surplus: Array("hello".utf8)))
        #expect(known.takeUnsaved()?.credential.user == "joe")
    }

    @Test("another leg over a connection that is closed, or a wrong password, is a refusal that says so")
    func refused() async throws {
        let stale = "Proxy-Authenticate: Digest realm=\"r\", qop=\"auth\", nonce=\"two\", stale=true\r\n"
        let wrong = "Proxy-Authenticate: Digest realm=\"r\", qop=\"auth\", nonce=\"two\"\r\n"
        for (fields, verdict) in [
            ("Connection: close\r\n" + stale, AuthenticationVerdict.apply), (wrong, .refused),
        ] {
            let known = try known("Digest realm=\"r\", qop=\"auth\", nonce=\"one\"")
            var machine = try machine(known)
            _ = try await sent(&machine)
            try machine.receive(answer(fields, body: "why"))
            do throws(StreamError) {
                _ = try machine.next()
                Issue.record("no refusal")
            } catch {
                let refusal = try #require(error.underlying as? HTTPProxyRefusal)
                #expect(refusal.verdict == verdict && refusal.response.body == Array("why".utf8))
                #expect(machine.refusal == .request && refusal.source.space == Self.place)
            }
            #expect(known.takeUnsaved() == nil)
        }
    }

    @Test("what cannot be applied fails the tunnel before anything is sent") func cannotApply() async throws {
        let challenge = try challenge("Basic realm=\"r\"")
        let authentication = try #require(HTTPAuthentication(response: challenge, from: Self.place))
        let known = KnownAuthentication(
            authentication, of: challenge, AuthenticationPolicy(), nil, isStored: true, saves: false)
        var machine = try machine(known)
        do {
            _ = try await sent(&machine)
            Issue.record("sent")
        } catch {
            let failure = try #require((error as? StreamError)?.underlying as? ProxyLoginFailure)
            #expect(failure.error.code == .missingUserName && machine.refusal == .request)
        }
    }
}
