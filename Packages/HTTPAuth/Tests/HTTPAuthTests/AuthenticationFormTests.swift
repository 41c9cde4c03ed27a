import FoundationEssentials
import HTTPMessage
import Testing

@_spi(Packages) @testable import HTTPAuth

/// Tests that no login becomes weaker unless the user agrees or the policy allows the weaker scheme.
@Suite struct AuthenticationFormTests {
    /// A challenge and the expected strength of its login.
    struct Form: Sendable, CustomTestStringConvertible {
        let challenge: String
        let isEncrypted: Bool
        let strength: AuthenticationForm.Strength
        var coverage: AuthenticationForm.Coverage?

        var testDescription: String { "\(challenge)\(isEncrypted ? " over TLS" : "")" }
        var form: AuthenticationForm { AuthenticationForm(strength, coverage: coverage) }
    }

    /// The forms that occur on one connection, with or without TLS.
    static func forms(encrypted: Bool) -> [Form] {
        var forms = [
            Form(challenge: "Negotiate", isEncrypted: encrypted, strength: .negotiate),
            Form(challenge: "NTLM", isEncrypted: encrypted, strength: encrypted ? .negotiate : .ntlm),
            Form(
                challenge: "Basic realm=\"r\"", isEncrypted: encrypted, strength: encrypted ? .encryptedBasic : .basic),
            Form(challenge: "Basic", isEncrypted: encrypted, strength: encrypted ? .encryptedBasic : .basic),
            Form(
                challenge: "Basic realm=\"other\"", isEncrypted: encrypted,
                strength: encrypted ? .encryptedBasic : .basic),
        ]
        for (algorithm, strength) in [
            ("", AuthenticationForm.Strength.digestMD5), (", algorithm=MD5-sess", .digestMD5),
            (", algorithm=SHA-256", .digestSHA), (", algorithm=SHA-512-256", .digestSHA),
        ] {
            for (qop, coverage) in [
                ("", AuthenticationForm.Coverage.nothing), (", qop=auth", .request), (", qop=auth-int", .body),
            ] {
                forms.append(
                    Form(
                        challenge: "Digest realm=\"r\", nonce=\"n\"\(algorithm)\(qop)", isEncrypted: encrypted,
                        strength: strength, coverage: coverage))
            }
        }
        return forms
    }

    static let pairs = [true, false].flatMap { encrypted in
        forms(encrypted: encrypted).flatMap { first in forms(encrypted: encrypted).map { (first, $0) } }
    }

    private static func policy() -> AuthenticationPolicy {
        // A scheme named Negotiate that takes a password, so that the tests need no Kerberos.
        let negotiate = AuthenticationMethod("Negotiate") { _ in
            var scheme = ScriptedScheme("Negotiate")
            scheme.traits = SchemeTraits()
            return scheme
        } form: { _, _ in
            AuthenticationForm(.negotiate)
        }
        var policy = AuthenticationPolicy()
        policy.methods = [negotiate, .ntlm, .digest, .basic]
        return policy
    }

    private static func peer(_ form: Form, _ role: ProtectionSpace.Role) -> ProtectionSpace {
        form.isEncrypted
            ? ProtectionSpace(role, scheme: "https", host: "example.org", port: 443)
            : ProtectionSpace(role, scheme: "http", host: "example.org", port: 80)
    }

    private static func challenge(_ form: Form, _ role: ProtectionSpace.Role) throws -> HTTPResponse {
        role == .origin
            ? try Exchange.response(.unauthorized, [(.wwwAuthenticate, form.challenge)])
            : try Exchange.response(.proxyAuthenticationRequired, [(.proxyAuthenticate, form.challenge)])
    }

    private static func request(_ form: Form) throws -> HTTPRequest {
        try HTTPRequest(
            method: .get, url: #require(URL(string: "\(form.isEncrypted ? "https" : "http")://example.org/")))
    }

    @Test("every method rates the strength of its challenges", arguments: [true, false])
    func strengths(_ encrypted: Bool) throws {
        for form in Self.forms(encrypted: encrypted) {
            let challenge = try #require(ChallengeParser().parse(Array(form.challenge.utf8)).challenges.first)
            let method = try #require(AuthenticationPolicy().methods.first { challenge.is($0.name) })
            #expect(method.form(challenge, Self.peer(form, .origin)) == form.form)
        }
    }

    @Test("one object never uses a weaker form", arguments: pairs)
    func mayFollow(_ first: Form, _ second: Form) throws {
        let isWeaker = second.form.isWeaker(than: first.form)
        for role in ProtectionSpace.Role.allCases {
            let peer = Self.peer(first, role)
            let authentication = try #require(
                HTTPAuthentication(response: Self.challenge(first, role), from: peer, policy: Self.policy()))
            var request = try Self.request(first)
            try authentication.apply(to: &request, user: "joe", password: "secret", through: peer)
            let verdict = try authentication.update(with: Self.challenge(second, role), to: request)
            #expect((authentication.error?.code == .weakerScheme) == isWeaker, "\(verdict) for \(role)")
            if isWeaker {
                #expect(verdict == .failed)
                #expect(throws: HTTPAuthError.self) {
                    try authentication.apply(to: &request, user: "joe", password: "secret", through: peer)
                }
                #expect(authentication.error?.asksForOtherCredentials == true)
            }
        }
    }

    @Test("objects that share a memory use a weaker form only after approval", arguments: pairs)
    func mayFollowInAnother(_ first: Form, _ second: Form) throws {
        let isWeaker = second.form.isWeaker(than: first.form)
        for role in ProtectionSpace.Role.allCases {
            let memory = AuthenticationMemory()
            let peer = Self.peer(first, role)
            func object(_ form: Form, _ policy: AuthenticationPolicy = Self.policy()) throws -> HTTPAuthentication {
                try #require(
                    HTTPAuthentication(
                        response: Self.challenge(form, role), from: peer, policy: policy, memory: memory))
            }
            var request = try Self.request(first)
            try object(first).apply(to: &request, user: "joe", password: "secret", through: peer)
            let authentication = try object(second)
            let credential = Credential(user: "joe", password: "secret", for: authentication.space)
            #expect((authentication.objection(to: credential)?.code == .weakerScheme) == isWeaker)
            var policy = Self.policy()
            policy.mayWeakenLogins = [try #require(authentication.method)]
            #expect(try object(second, policy).objection(to: credential) == nil)
            if isWeaker {
                request.fields.remove(authentication.fieldName)
                #expect(throws: HTTPAuthError.self) {
                    try authentication.apply(to: &request, credential, through: peer)
                }
                #expect(authentication.isValid && !request.fields.contains(authentication.fieldName))
                authentication.approve(credential)
            }
            try authentication.apply(to: &request, credential, through: peer)
            #expect(request.fields.contains(authentication.fieldName))
        }
    }

    // MARK: The rule

    /// The order that the tests above take for granted.
    @Test("a form is weaker if it protects the password less or, within Digest, the message less")
    func order() {
        typealias Form = AuthenticationForm
        let schemes = [
            Form(.basic), Form(.encryptedBasic), Form(.digestMD5, coverage: .body), Form(.ntlm),
            Form(.digestSHA, coverage: .body), Form(.negotiate),
        ]
        let protections = [AuthenticationForm.Coverage.nothing, .request, .body].map { Form(.digestSHA, coverage: $0) }
        for forms in [schemes, protections] {
            for (first, a) in forms.enumerated() {
                for (second, b) in forms.enumerated() { #expect(a.isWeaker(than: b) == (first < second), "\(a), \(b)") }
            }
        }
        let (strong, whole) = (Form(.digestSHA, coverage: .nothing), Form(.digestMD5, coverage: .body))
        #expect(strong.isWeaker(than: whole) && whole.isWeaker(than: strong))
    }

    @Test("of the first offers, one that is no weaker than before comes first, whatever the policy's order")
    func firstOffers() throws {
        let memory = AuthenticationMemory()
        var policy = AuthenticationPolicy()
        policy.methods = [.basic, .digest]
        func method() throws -> AuthenticationMethod? {
            let response = try Exchange.challenge("Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\"")
            return HTTPAuthentication(response: response, from: Exchange.origin, policy: policy, memory: memory)?.method
        }
        #expect(try method() == .basic)
        memory.recordUse(AuthenticationForm(.digestMD5, coverage: .nothing), in: space, by: login())
        #expect(try method() == .digest)
    }

    private let space = ProtectionSpace(.origin, scheme: "http", host: "example.org", port: 80, realm: "r")
    private func login(_ user: String = "joe", _ password: String = "secret") -> LoginIdentity {
        LoginIdentity(Credential(user: user, password: password, for: space))
    }
    private let digest = AuthenticationForm(.digestSHA, coverage: .body)
    private let basic = AuthenticationForm(.basic)

    @Test("an offer counts for its realm and for none; a use counts for its login in any realm")
    func floors() {
        var records = AuthenticationRecords()
        records.recordOffer(AuthenticationForm(.digestMD5, coverage: .body), in: space)
        records.recordOffer(AuthenticationForm(.digestSHA, coverage: .nothing), in: space)
        #expect(records.floor(in: space, for: nil) == digest)
        #expect(records.floor(in: space.with(realm: nil), for: login()) == digest)
        #expect(records.floor(in: space.with(realm: "other"), for: login()) == nil)
        records.recordUse(AuthenticationForm(.ntlm), in: space.with(realm: "other"), by: login())
        #expect(records.floor(in: space.with(realm: "third"), for: login()) == AuthenticationForm(.ntlm))
        #expect(records.floor(in: space.with(realm: "third"), for: login("joe", "another")) == nil)
        records.recordOffer(AuthenticationForm(.negotiate), in: space.with(realm: nil))
        #expect(records.floor(in: space.with(realm: "third"), for: nil) == AuthenticationForm(.negotiate))
        let other = ProtectionSpace(.proxy, scheme: "http", host: "example.org", port: 80, realm: "r")
        #expect(records.floor(in: other, for: login()) == nil)
    }

    @Test("servers that only send challenges do not displace a login record") func offersDisplaceNoLogin() {
        var records = AuthenticationRecords()
        records.recordUse(digest, in: space, by: login())
        for number in 0..<AuthenticationMemory.maximumPeers * 2 {
            records.recordOffer(basic, in: ProtectionSpace(.origin, scheme: "http", host: "\(number).test", port: 80))
        }
        #expect(records.peerCount == AuthenticationMemory.maximumPeers)
        #expect(records.floor(in: space, for: login()) == digest)
    }

    @Test(
        "an object never becomes weaker than what it sent, even if the memory dropped the record",
        arguments: [false, true])
    func flushedMemory(_ isAgreed: Bool) throws {
        let memory = AuthenticationMemory()
        let authentication = try #require(
            HTTPAuthentication(
                response: Exchange.challenge("Digest realm=\"r\", nonce=\"n\""), from: Exchange.origin, memory: memory))
        var request = try Exchange.request()
        try authentication.apply(to: &request, user: "joe", password: "secret")
        for number in 0...AuthenticationMemory.maximumPeers {
            memory.recordUse(
                basic, in: ProtectionSpace(.origin, scheme: "http", host: "\(number).test", port: 80), by: login())
        }
        #expect(memory.floor(in: authentication.space, for: login()) == nil)
        if isAgreed { memory.recordApproval(basic, in: authentication.space, for: login()) }
        _ = try authentication.update(with: Exchange.challenge("Basic realm=\"r\""), to: request)
        #expect(authentication.error?.code == (isAgreed ? nil : .weakerScheme))
    }

    @Test("a domain before the user name and a separate one are the same login") func domains() {
        let beside = Credential(user: "joe", accountDomain: "D", proof: .password(Secret("s")), for: space)
        let before = Credential(user: "D\\joe", password: "s", for: space)
        #expect(LoginIdentity(beside) == LoginIdentity(before))
    }

    @Test("an approval is valid for one space and login, until a stronger form is used there") func agreement() {
        var records = AuthenticationRecords()
        records.recordUse(digest, in: space, by: login())
        records.recordApproval(basic, in: space, for: login())
        #expect(records.floor(in: space, for: login()) == basic)
        #expect(records.floor(in: space, for: login("ann")) == digest)
        #expect(records.floor(in: space.with(realm: "other"), for: login()) == digest)
        records.recordUse(digest, in: space.with(realm: "other"), by: login())
        #expect(records.floor(in: space, for: login()) == basic)
        records.recordUse(digest, in: space, by: login())
        #expect(records.floor(in: space, for: login()) == digest)
    }

    @Test(
        "excess realms and logins make the rule stricter; excess servers are dropped, oldest first")
    func bounds() {
        var records = AuthenticationRecords()
        records.recordUse(digest, in: space, by: login())
        for number in 0...AuthenticationMemory.maximumEntries {
            records.recordOffer(basic, in: space.with(realm: "\(number)"))
            records.recordApproval(basic, in: space.with(realm: "\(number)"), for: login())
        }
        #expect(records.floor(in: space.with(realm: "fresh"), for: login("ann")) == digest)
        #expect(records.floor(in: space.with(realm: "0"), for: login()) == digest)
        for number in 0..<AuthenticationMemory.maximumPeers {
            let peer = ProtectionSpace(.origin, scheme: "http", host: "\(number).example.org", port: 80)
            records.recordOffer(basic, in: peer)
            if number == 1 { records.recordOffer(digest, in: space) }
        }
        #expect(records.peerCount == AuthenticationMemory.maximumPeers)
        #expect(records.floor(in: space, for: nil) == digest)
        let memory = AuthenticationMemory()
        memory.recordUse(digest, in: space, by: login())
        #expect(memory.floor(in: space, for: login()) == digest)
        memory.forget()
        #expect(memory.floor(in: space, for: login()) == nil)
    }

    @Test("Digest does not fall back to Basic if it cannot sign the body") func bodyUnknown() throws {
        let authentication = try Exchange.authentication(
            "Digest realm=\"r\", nonce=\"n\", qop=auth-int", "Basic realm=\"r\"")
        var request = try Exchange.request()
        do throws(HTTPAuthError) {
            try authentication.apply(to: &request, user: "joe", password: "secret", body: .unknown)
            Issue.record("sent")
        } catch {
            #expect(error.code == .weakerScheme)
        }
        #expect(request.fields[.authorization] == nil && authentication.isValid && authentication.method == .basic)
    }
}
