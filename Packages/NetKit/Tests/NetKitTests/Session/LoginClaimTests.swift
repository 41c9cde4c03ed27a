import EventLoops
import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import NetKit

/// A login that belongs to a connection is one load's at a time.
@Suite struct LoginClaimTests {
    private static let url = URL(string: "http://example.org/x")!

    private func entry(
        _ scheme: String, _ method: AuthenticationMethod, role: ProtectionSpace.Role = .origin
    ) throws -> KnownAuthentication {
        var challenge = try HTTPResponse(status: role == .origin ? .unauthorized : .proxyAuthenticationRequired)
        try challenge.fields.set(scheme, for: role == .origin ? .wwwAuthenticate : .proxyAuthenticate)
        challenge.url = Self.url
        let place = ProtectionSpace(role, scheme: "http", host: "example.org", port: 80)
        let authentication = try #require(HTTPAuthentication(response: challenge, from: place))
        #expect(authentication.method == method)
        let credential = Credential(user: "joe", password: "secret", for: authentication.space)
        return KnownAuthentication(
            authentication, of: challenge, AuthenticationPolicy(), credential, isStored: true, saves: false)
    }

    @Test("from its publication until the load is gone and its stream has ended", arguments: [false, true])
    func oneLoadAtATime(_ isProxy: Bool) throws {
        let session = HTTPSession()
        let request = try HTTPRequest(method: .get, url: Self.url)
        let entry = try entry("NTLM", .ntlm, role: isProxy ? .proxy : .origin)
        func find(_ claim: LoginClaim) -> KnownAuthentication? {
            isProxy
                ? session.findProxies(forTunnels: false, for: claim).first : session.find(request, of: nil, for: claim)
        }
        var owner: LoginClaim? = LoginClaim()
        session.remember(entry, for: owner!)
        let other = LoginClaim()
        #expect(find(other) == nil && find(owner!) === entry)
        // Between two legs: the stream of the first has ended.
        let first = ReadStream(bytes: [])
        try first.open()
        entry.begin(first)
        first.close()
        #expect(find(other) == nil && find(owner!) === entry)
        // The load has returned its stream, which is read on.
        let last = ReadStream(bytes: [1])
        try last.open()
        entry.begin(last)
        owner = nil
        #expect(find(other) == nil)
        last.close()
        #expect(find(other) === entry && find(LoginClaim()) == nil)
    }

    @Test("a tunnel has a conversation of its own; a login of requests is everybody's") func shared() throws {
        let session = HTTPSession()
        let (owner, other) = (LoginClaim(), LoginClaim())
        let bound = try entry("NTLM", .ntlm, role: .proxy)
        session.remember(bound, for: owner)
        #expect(session.findProxies(forTunnels: true, for: other).first === bound)
        #expect(bound.forTunnel() !== bound.authentication && bound.forTunnel().memory === bound.authentication.memory)
        let free = try entry("Digest realm=\"r\", nonce=\"n\"", .digest)
        session.remember(free, for: owner)
        #expect(session.find(try HTTPRequest(method: .get, url: Self.url), of: nil, for: other) === free)
        withExtendedLifetime(owner) {}
    }
}
