import EventLoops
import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// A login that belongs to a connection is used by one load at a time.
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
        // The load has returned its stream, which is still being read.
        let last = ReadStream(bytes: [1])
        try last.open()
        entry.begin(last)
        owner = nil
        #expect(find(other) == nil)
        last.close()
        #expect(find(other) === entry && find(LoginClaim()) == nil)
    }

    @Test("a tunnel has its own authentication; a login of requests is shared") func shared() throws {
        let session = HTTPSession()
        let (owner, other) = (LoginClaim(), LoginClaim())
        let bound = try entry("NTLM", .ntlm, role: .proxy)
        session.remember(bound, for: owner)
        #expect(session.findProxies(forTunnels: true, for: other).first === bound)
        let tunnel = bound.login.forTunnel()
        #expect(tunnel !== bound.authentication && tunnel.memory === bound.authentication.memory)
        let free = try entry("Digest realm=\"r\", nonce=\"n\"", .digest)
        session.remember(free, for: owner)
        #expect(session.find(try HTTPRequest(method: .get, url: Self.url), of: nil, for: other) === free)
        withExtendedLifetime(owner) {}
    }

    @Test("what another load has learned is used, but not a login that belongs to its connection") func learned() throws
    {
        let session = HTTPSession()
        let owner = LoginClaim()
        for entry in [try entry("Digest realm=\"r\", nonce=\"n\"", .digest), try entry("NTLM", .ntlm)] {
            session.remember(entry, for: owner)
            let fresh = try #require(HTTPAuthentication(response: entry.challenge, from: entry.endpoint))
            let found = session.find(like: fresh, of: nil, besides: nil)
            #expect(found === (fresh.isConnectionBound ? nil : entry))
            #expect(session.find(like: fresh, of: nil, besides: entry) == nil)
        }
        withExtendedLifetime(owner) {}
    }

    /// A server that makes up realms or names does not make a session grow without bound.
    @Test("the oldest logins are forgotten") func bounded() throws {
        let session = HTTPSession()
        let owner = LoginClaim()
        func request(_ number: Int) throws -> HTTPRequest {
            try HTTPRequest(method: .get, url: #require(URL(string: "http://h\(number).test/")))
        }
        for number in 0...HTTPSession.maximumKnownLogins {
            var challenge = try HTTPResponse(status: .unauthorized)
            try challenge.fields.set("Basic realm=\"r\"", for: .wwwAuthenticate)
            challenge.url = try request(number).url
            let authentication = try #require(HTTPAuthentication(response: challenge))
            let login = KnownAuthentication(
                authentication, of: challenge, AuthenticationPolicy(), nil, isStored: true, saves: false)
            session.remember(login, for: owner)
        }
        #expect(session.find(try request(0), of: nil, for: owner) == nil)
        #expect(session.find(try request(1), of: nil, for: owner) != nil)
        #expect(session.find(try request(HTTPSession.maximumKnownLogins), of: nil, for: owner) != nil)
    }
}
