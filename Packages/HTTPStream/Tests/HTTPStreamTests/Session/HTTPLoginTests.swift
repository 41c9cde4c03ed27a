import HTTPAuth
import HTTPMessage
import Testing

@testable import HTTPStream

/// A login without a connection, and its use for tunnels.
@Suite struct HTTPLoginTests {
    private func login(_ scheme: String, isNamed: Bool = true) throws -> HTTPLogin {
        var challenge = try HTTPResponse(status: .proxyAuthenticationRequired)
        try challenge.fields.set(scheme, for: .proxyAuthenticate)
        let place = ProtectionSpace(.proxy, scheme: "http", host: "proxy.test", port: 3128)
        let authentication = try #require(HTTPAuthentication(response: challenge, from: place, isNamed: isNamed))
        return HTTPLogin(authentication, of: challenge, AuthenticationPolicy(), nil)
    }

    @Test("the authentication of a tunnel knows whether the proxy was named", arguments: [false, true])
    func tunnels(_ isNamed: Bool) throws {
        let login = try login("NTLM", isNamed: isNamed)
        #expect(login.forTunnel() !== login.authentication && login.forTunnel().isNamed == isNamed)
    }

    @Test("tunnels share the authentication of a scheme that authenticates requests") func shared() throws {
        let login = try login("Digest realm=\"r\", nonce=\"n\"")
        #expect(login.forTunnel() === login.authentication)
        #expect(TunnelLogin(for: login, at: login.endpoint).authentication === login.authentication)
    }
}
