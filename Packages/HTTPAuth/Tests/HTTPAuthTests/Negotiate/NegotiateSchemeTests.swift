import HTTPAuthTesting
import Testing

@testable import HTTPAuth

/// Tests Negotiate with NTLM inside. Tests with a Kerberos server are integration tests.
@Suite struct NegotiateSchemeTests {
    private let space = ProtectionSpace(.origin, scheme: "http", host: "host.invalid/", port: 80)
    private let acceptor = NTLMAcceptor()
    private var credential: Credential { Credential(user: "alice", password: "open sesame", for: space) }

    private var input: AuthenticationInput {
        AuthenticationInput(
            method: .get, target: "/", body: .bytes([]), space: space, time: 0,
            random: Array(repeating: 1, count: 32))
    }

    /// The host name is invalid for Kerberos, so only NTLM can start.
    private func scheme(_ change: (inout NegotiateOptions) -> Void = { _ in }) -> NegotiateScheme {
        var options = NegotiateOptions(identity: KerberosIdentity(.cache("FILE:/nonexistent/tickets")))
        options.allowsNTLM = true
        change(&options)
        return NegotiateScheme(space, options)
    }

    private func challenge(_ token: [UInt8]? = nil) -> Challenge {
        Challenge(scheme: "Negotiate", token: token.map { String(decoding: Base64.encode($0), as: UTF8.self) })
    }

    private func sent(_ scheme: inout NegotiateScheme) throws -> [UInt8] {
        guard case .work(let work) = try scheme.respond(to: input, with: credential),
            case .send(let field) = try scheme.resume(with: try work.run().get())
        else { throw HTTPAuthError(.outOfOrder) }
        return field
    }

    private func token(of field: [UInt8]) throws -> SPNEGOToken {
        try SPNEGOToken(try #require(Base64.decode(String(decoding: field.dropFirst(10), as: UTF8.self))))
    }

    private func answered(_ scheme: inout NegotiateScheme) throws -> (field: [UInt8], session: NTLMSession) {
        #expect(try scheme.receive(challenge(), answering: nil) == .fresh)
        let first = try sent(&scheme)
        guard case .initial(let initialToken) = try token(of: first) else { throw HTTPAuthError(.outOfOrder) }
        #expect(initialToken.mechanisms == [.ntlm])
        let reply = SPNEGOReplyToken(
            state: .acceptIncomplete, mechanism: .ntlm, token: acceptor.message, signature: nil)
        #expect(try scheme.receive(challenge(reply.bytes), answering: first) == .continues)
        let second = try sent(&scheme)
        guard case .reply(let answer) = try token(of: second) else { throw HTTPAuthError(.outOfOrder) }
        let third = try #require(answer.token)
        let key = try acceptor.accept(third, first: try #require(initialToken.token), password: "open sesame")
        return (second, NTLMSession(key: try #require(key), flags: try NTLMAuthenticateMessage(third).flags))
    }

    private func proof(_ session: NTLMSession) throws -> [UInt8] {
        let list = SPNEGOInitialToken.signedList([.ntlm])
        return SPNEGOReplyToken(
            state: .acceptCompleted, token: nil, signature: try session.signature(of: list, by: .server)
        ).bytes
    }

    @Test func connectionIsAuthenticated() throws {
        var scheme = scheme { $0.mutualAuthentication = .required }
        let (field, session) = try answered(&scheme)
        try scheme.finish(Acceptance(status: .ok, sent: field, challenge: challenge(try proof(session))))
        guard case .nothing = try scheme.respond(to: input, with: credential) else { throw HTTPAuthError(.outOfOrder) }
    }

    @Test(
        "a ticket is requested only if the options allow the host",
        arguments: [
            (NegotiateOptions.Hosts.named, true, true), (.named, false, false),
            (.list(["Host.Invalid/."]), false, true),
            (.list(["other.test"]), true, false), (.list([]), true, false), (.all, false, true),
        ])
    func hosts(_ hosts: NegotiateOptions.Hosts, _ isNamed: Bool, _ isAllowed: Bool) throws {
        var scheme = scheme { $0.hosts = hosts }
        #expect(try scheme.receive(challenge(), answering: nil) == .fresh)
        var input = input
        input.isNamed = isNamed
        do throws(HTTPAuthError) {
            _ = try scheme.respond(to: input, with: credential)
            #expect(isAllowed)
        } catch {
            #expect(!isAllowed && error.code == .hostNotAllowed)
        }
    }

    @Test(
        "delegation hosts are normalized like hosts of protection spaces",
        arguments: [
            ("Files.Example.", "files.example", true), ("files.example", "FILES.example.", true),
            ("[::1]", "::1", true),
            ("files.example", "other.example", false),
        ])
    func delegation(_ listed: String, _ host: String, _ isDelegated: Bool) {
        var options = NegotiateOptions()
        options.delegation = .toHosts([listed])
        let mechanism = KerberosMechanism(KerberosMechanism.Parameters(host: host, options: options))
        #expect(mechanism.request.contains(.delegation) == isDelegated)
    }

    @Test("after a redirect the server gets the next scheme, not a ticket") func redirected() throws {
        let response = try Exchange.challenge("Negotiate", "Basic realm=\"r\"")
        var request = try Exchange.request()
        let authentication = try #require(
            HTTPAuthentication(response: response, from: Exchange.origin, isNamed: false))
        #expect(authentication.method == .negotiate)
        let missing = #expect(throws: HTTPAuthError.self) { try authentication.apply(to: &request, nil) }
        guard case .skipped(let error)? = authentication.explain().entries.first?.outcome else {
            Issue.record("not skipped")
            return
        }
        #expect(missing == HTTPAuthError(.missingUserName, scheme: "Basic", detail: "\(error)"))
        #expect(error.code == .hostNotAllowed)
    }

    /// A server that asks again on an authenticated connection receives a token with each request.
    @Test func requestsAreAuthenticated() throws {
        var scheme = scheme()
        let (field, session) = try answered(&scheme)
        try scheme.finish(Acceptance(status: .ok, sent: field, challenge: challenge(try proof(session))))
        let (again, other) = try answered(&scheme)
        try scheme.finish(Acceptance(status: .ok, sent: again, challenge: challenge(try proof(other))))
        #expect(try sent(&scheme).starts(with: Array("Negotiate Y".utf8)))
    }

    @Test(arguments: [NegotiateOptions.MutualAuthentication.off, .optional, .required])
    func missingProof(_ mutual: NegotiateOptions.MutualAuthentication) throws {
        var scheme = scheme { $0.mutualAuthentication = mutual }
        let (field, _) = try answered(&scheme)
        let error = failure(of: { try scheme.finish(Acceptance(status: .ok, sent: field)) })
        #expect(error?.code == (mutual == .required ? .serverNotAuthentic : nil))
    }

    @Test(arguments: [NegotiateOptions.MutualAuthentication.off, .optional, .required])
    func wrongProof(_ mutual: NegotiateOptions.MutualAuthentication) throws {
        var scheme = scheme { $0.mutualAuthentication = mutual }
        let (field, _) = try answered(&scheme)
        let wrong = SPNEGOReplyToken(state: .acceptCompleted, token: nil, signature: [1, 2, 3]).bytes
        let error = failure(of: {
            try scheme.finish(Acceptance(status: .ok, sent: field, challenge: challenge(wrong)))
        })
        #expect(error?.code == .serverNotAuthentic)
    }

    @Test func refusals() throws {
        var scheme = scheme()
        let (field, _) = try answered(&scheme)
        var other = scheme
        #expect(try scheme.receive(challenge(), answering: field) == .refused)
        let reject = SPNEGOReplyToken(state: .reject, token: nil, signature: nil).bytes
        #expect(try other.receive(challenge(reject), answering: field) == .refused)
        #expect(failure(of: { _ = try other.receive(challenge(reject), answering: field) })?.code == .outOfOrder)
    }

    // Parity: HA-049
    @Test("HA-049: NTLM within Negotiate, if allowed") func ntlmOnlyIfAsked() throws {
        var scheme = scheme { $0.allowsNTLM = false }
        #expect(!scheme.traits.requiresUserNameAndPassword && !scheme.traits.requiresAccountDomain)
        #expect(scheme.traits.isConnectionBound && scheme.traits.requiresOrderedRequests)
        _ = try scheme.receive(challenge(), answering: nil)
        guard case .work(let work) = try scheme.respond(to: input, with: credential) else {
            throw HTTPAuthError(.outOfOrder)
        }
        #expect(throws: HTTPAuthError.self) { try work.run().get() }
    }

    // Parity: HA-006, HA-012, HA-048
    @Test("HA-006, HA-012, HA-048: the traits of Negotiate") func traits() {
        #expect(scheme().traits.requiresUserNameAndPassword && scheme().traits.requiresAccountDomain)
        let password = scheme {
            $0.allowsNTLM = false
            $0.identity = KerberosIdentity(.password)
        }
        #expect(password.traits.requiresUserNameAndPassword && !password.traits.requiresAccountDomain)
    }

    @Test func startsAgainAfterDisconnection() throws {
        var scheme = scheme()
        let (field, session) = try answered(&scheme)
        try scheme.finish(Acceptance(status: .ok, sent: field, challenge: challenge(try proof(session))))
        scheme.disconnected()
        guard case .initial = try token(of: try sent(&scheme)) else { throw HTTPAuthError(.outOfOrder) }
    }
}
