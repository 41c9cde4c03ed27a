import HTTPAuth
import Testing

@Suite struct BasicSchemeTests {
    private func field(
        _ challenge: String = "Basic realm=\"r\"", user: String, password: String, method: AuthenticationMethod = .basic
    ) throws -> String? {
        var policy = AuthenticationPolicy()
        policy.methods = [method]
        let authentication = try Exchange.authentication(challenge, policy: policy)
        var request = try Exchange.request()
        try authentication.apply(to: &request, user: user, password: password)
        return request.fields[.authorization]
    }

    /// RFC 7617 §2 and §2.1.
    // Parity: HA-024, HA-035
    @Test("HA-024, HA-035: the field of Basic") func vectors() throws {
        #expect(try field(user: "Aladdin", password: "open sesame") == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        let utf8 = "Basic realm=\"foo\", charset=\"UTF-8\""
        #expect(try field(utf8, user: "test", password: "123£") == "Basic dGVzdDoxMjPCow==")
        #expect(try field(user: "", password: "") == "Basic Og==")
        #expect(try field(user: "a", password: "b:c") == "Basic YTpiOmM=")
        #expect(try field(user: "日", password: "é") == "Basic 5pelOsOp")
    }

    /// An old server gets ISO 8859-1, unless it asks for UTF-8.
    @Test func latin1() throws {
        #expect(try field(user: "é", password: "ü", method: .basicLatin1) == "Basic 6Tr8")
        let utf8 = "Basic realm=\"r\", charset=utf-8"
        #expect(try field(utf8, user: "é", password: "ü", method: .basicLatin1) == "Basic w6k6w7w=")
        #expect(
            throws: HTTPAuthError(.invalidPassword, scheme: "Basic", detail: "it has characters outside ISO 8859-1")
        ) {
            try field(user: "é", password: "日", method: .basicLatin1)
        }
    }

    /// A server that does not name its encoding gets the other one after a rejection, once. The user is not asked.
    // Parity: HA-035
    @Test(
        "HA-035: the encoding after a rejection",
        arguments: [
            ("Basic realm=\"r\"", "é", "ü", "Basic w6k6w7w=", "Basic 6Tr8"),
            ("Basic realm=\"r\", charset=\"UTF-8\"", "é", "ü", "Basic w6k6w7w=", nil),
            ("Basic realm=\"r\"", "a", "b", "Basic YTpi", nil),
            ("Basic realm=\"r\"", "日", "é", "Basic 5pelOsOp", nil),
        ])
    func otherEncoding(
        _ challenge: String, _ user: String, _ password: String, _ first: String, _ second: String?
    ) throws {
        let authentication = try Exchange.authentication(challenge)
        var request = try Exchange.request()
        try authentication.apply(to: &request, user: user, password: password)
        #expect(request.fields[.authorization] == first)
        let old = request
        if let second {
            #expect(try authentication.update(with: try Exchange.challenge(challenge), to: request) == .apply)
            try authentication.apply(to: &request, user: user, password: password)
            #expect(request.fields[.authorization] == second)
            // A request that was in progress meanwhile is sent again as well, in the encoding that is tried now.
            #expect(try authentication.update(with: try Exchange.challenge(challenge), to: old) == .apply)
            try authentication.apply(to: &request, user: user, password: password)
            #expect(request.fields[.authorization] == second)
        }
        #expect(try authentication.update(with: try Exchange.challenge(challenge), to: request) == .refused)
    }

    // Parity: HA-035
    @Test(
        "HA-035: characters that Basic cannot send",
        arguments: [("a:b", "c", -1001), ("a\n", "c", -1001), ("a", "c\u{7F}", -1002), ("a\u{0}", "c", -1001)])
    func cannotCarry(_ user: String, _ password: String, _ number: Int) throws {
        do throws(any Error) {
            _ = try field(user: user, password: password)
            Issue.record("carried")
        } catch {
            #expect((error as? HTTPAuthError)?.number?.rawValue == number)
        }
    }

    /// RFC 7617 requires a realm, but some servers omit it.
    // Parity: HA-036
    @Test("HA-036: Basic without a realm") func withoutRealm() throws {
        let authentication = try Exchange.authentication("Basic")
        #expect(authentication.isValid && authentication.realm == nil)
        for (challenge, realm) in [
            ("Basic abc=", "abc="), ("Basic Restricted", "Restricted"), ("Basic \"My site\"", "My site"),
        ] {
            let odd = try Exchange.authentication(challenge)
            #expect(odd.isValid && odd.realm == realm)
        }
    }
}
