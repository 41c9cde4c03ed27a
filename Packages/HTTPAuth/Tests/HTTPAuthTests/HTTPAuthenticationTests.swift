import FoundationEssentials
import HTTPAuth
import Testing

@Suite struct HTTPAuthenticationTests {
    // Parity: HA-001, HA-006, HA-007, HA-008, HA-009
    @Test("HA-001, HA-006, HA-007, HA-008, HA-009: created from a 401 or 407") func fromResponses() throws {
        #expect(try HTTPAuthentication(response: HTTPResponse(status: .ok)) == nil)
        #expect(try HTTPAuthentication(response: HTTPResponse(status: 403)) == nil)
        var response = try Exchange.challenge("Basic realm=\"a \\\"b\\\"\"")
        response.url = URL(string: "http://Example.org/dir/page?x")
        let authentication = try #require(HTTPAuthentication(response: response))
        #expect(authentication.peer == Exchange.origin)
        #expect(authentication.realm == "a \"b\"")
        #expect(authentication.method?.name == "Basic")
        #expect(authentication.isValid && authentication.requiresUserNameAndPassword)
        #expect(!authentication.requiresAccountDomain && !authentication.requiresOrderedRequests)
        #expect(authentication.fieldName == .authorization)
    }

    /// Each defect yields an object that is not valid, reports the reason and still has its other properties.
    // Parity: HA-003
    @Test("HA-003: an invalid object reports the reason") func invalid() throws {
        let none = try #require(try HTTPAuthentication(response: Exchange.challenge()))
        #expect(none.error?.code == .noChallenge && none.error?.number == .parseFailure)
        let garbled = try Exchange.authentication("Basic realm=\"a\"b")
        #expect(garbled.error?.code == .malformedChallenge && garbled.error?.number == .parseFailure)
        let unknown = try Exchange.authentication("Foo realm=\"x\", Bar")
        #expect(unknown.error?.code == .noUsableScheme)
        #expect(unknown.error?.number == .authenticationTypeUnsupported)
        #expect(unknown.realm == "x" && unknown.method == nil)
        #expect(unknown.error?.asksForOtherCredentials == false)
        var request = try Exchange.request()
        #expect(throws: HTTPAuthError.self) { try unknown.apply(to: &request, user: "a", password: "b") }
        #expect(request.fields[.authorization] == nil)
    }

    /// The request is not sent without the login that its scheme has made.
    @Test("a value that a field cannot contain is an error", arguments: ["a\r\nb", "a\0"])
    func impossibleValue(_ name: String) throws {
        var policy = AuthenticationPolicy()
        policy.methods = [AuthenticationMethod("Script") { _ in ScriptedScheme(name) }]
        let authentication = try Exchange.authentication("Script", policy: policy)
        var request = try Exchange.request()
        let error = #expect(throws: HTTPAuthError.self) {
            try authentication.apply(to: &request, user: "a", password: "b")
        }
        #expect(error?.code == .malformedToken && request.fields[.authorization] == nil)
    }

    /// The four branches of listing 4-2 in Apple's guide.
    // Parity: HA-004, HA-005
    @Test("HA-004, HA-005: the four verdicts on the next response") func verdicts() throws {
        let authentication = try Exchange.authentication("Basic realm=\"r\"")
        var request = try Exchange.request()
        try authentication.apply(to: &request, user: "joe", password: "wrong")
        let refusal = try Exchange.challenge("Basic realm=\"r\"")
        #expect(try authentication.update(with: refusal, to: request) == .refused)
        #expect(!authentication.isValid && authentication.error?.asksForOtherCredentials == true)
        #expect(authentication.realm == "r")

        let other = try Exchange.authentication("Basic realm=\"r\"")
        try other.apply(to: &request, user: "joe", password: "right")
        #expect(try other.update(with: Exchange.challenge("Basic realm=\"elsewhere\""), to: request) == .otherRealm)
        #expect(other.isValid)
        #expect(try other.update(with: HTTPResponse(status: 403), to: request) == .accepted)
        #expect(try other.update(with: Exchange.challenge("Foo"), to: request) == .failed)
    }

    // Parity: HA-022, HA-023
    @Test("HA-022, HA-023: credential dictionaries") func dictionaries() throws {
        var request = try Exchange.request()
        let authentication = try Exchange.authentication("Basic realm=\"r\"")
        try authentication.apply(to: &request, credentials: [.username: "Aladdin", .password: "open sesame"])
        #expect(request.fields[.authorization] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        for (missing, number) in [(HTTPAuthentication.CredentialKey.username, -1001), (.password, -1002)] {
            let authentication = try Exchange.authentication("Basic realm=\"r\"")
            var credentials: [HTTPAuthentication.CredentialKey: String] = [.username: "", .password: ""]
            credentials[missing] = nil
            #expect(throws: HTTPAuthError.self) { try authentication.apply(to: &request, credentials: credentials) }
            #expect(authentication.error?.number?.rawValue == number)
        }
    }

    /// A credential never reaches another server: neither with its credential nor with a request to it.
    @Test func boundToItsServer() throws {
        let spaces = [
            Exchange.origin, Exchange.origin.with(realm: "r"), Exchange.proxy.with(realm: "r"),
            ProtectionSpace(.origin, scheme: "https", host: "example.org", port: 443, realm: "r"),
            ProtectionSpace(.origin, scheme: "http", host: "example.org", port: 8080, realm: "r"),
            ProtectionSpace(.origin, scheme: "http", host: "example.com", port: 80, realm: "r"),
            ProtectionSpace(.proxy, scheme: "http", host: "example.org", port: 80, realm: "r"),
        ]
        let authentication = try Exchange.authentication("Basic realm=\"r\"")
        var request = try Exchange.request()
        for space in spaces where space != authentication.space {
            let credential = Credential(user: "a", password: "b", for: space)
            #expect(throws: HTTPAuthError.self) { try authentication.apply(to: &request, credential) }
        }
        #expect(request.fields[.authorization] == nil)
        try authentication.apply(to: &request, Credential(user: "a", password: "b", for: authentication.space))
        #expect(request.fields[.authorization] != nil)
        for host in ["example.com", "example.org:8080", "example.org.evil.test", "sub.example.org"] {
            var request = try Exchange.request(host: host)
            #expect(
                throws: HTTPAuthError(
                    .requestOutsideSpace, detail: "expected origin http://example.org:80")
            ) { try authentication.apply(to: &request, user: "a", password: "b") }
            #expect(request.fields[.authorization] == nil)
        }
        var elsewhere = try HTTPRequest(method: .get, url: URL(string: "https://example.org/")!)
        #expect(throws: HTTPAuthError.self) { try authentication.apply(to: &elsewhere, user: "a", password: "b") }
    }

    // Parity: HA-010, HA-011
    @Test(
        "HA-010, HA-011: below the folder of its URL",
        arguments: [
            ("http://example.org/dir/other", true), ("http://example.org/dir/sub/x", true),
            ("http://example.org/", false),
            ("http://example.org/directory", false), ("http://example.org/dir/../x", false),
            ("http://example.org:80/dir/", true), ("http://EXAMPLE.org/dir/", true),
            ("http://example.org:81/dir/", false),
            ("https://example.org/dir/", false), ("http://example.com/dir/", false),
        ])
    func appliesBelowItsFolder(_ url: String, _ expected: Bool) throws {
        var response = try Exchange.challenge("Basic realm=\"r\"")
        response.url = URL(string: "http://example.org/dir/page")
        let authentication = try #require(HTTPAuthentication(response: response))
        #expect(authentication.domains.map(\.absoluteString) == ["http://example.org:80/dir/"])
        let request = try HTTPRequest(method: .get, url: URL(string: url)!)
        #expect(authentication.appliesTo(request) == expected)
    }

    // Parity: HA-008
    @Test("HA-008: the text for the user is the realm or the host") func displayRealm() throws {
        #expect(try Exchange.authentication("Basic realm=\"staff\"").displayRealm == "staff")
        let ntlm = try Exchange.authentication("NTLM")
        #expect(ntlm.method == .ntlm && ntlm.realm == nil && ntlm.displayRealm == "example.org")
        #expect(ntlm.space.realm == nil)
    }

    // Parity: HA-010, HA-011
    @Test("HA-010, HA-011: below the domains of Digest") func appliesToListedDomains() throws {
        let authentication = try Exchange.authentication(
            "Digest realm=\"r\", nonce=\"n\", domain=\"/a http://example.org/b/ http://example.com/c\"")
        // The URI of another origin is omitted. RFC 7616 §3.3 allows it, but a server must not choose other recipients.
        #expect(
            authentication.domains.map(\.absoluteString) == ["http://example.org:80/a", "http://example.org/b/"])
        #expect(authentication.otherDomains.map(\.absoluteString) == ["http://example.com/c"])
        func applies(_ url: String) throws -> Bool {
            authentication.appliesTo(try HTTPRequest(method: .get, url: URL(string: url)!))
        }
        #expect(try applies("http://example.org/a/x") && applies("http://example.org/b/x"))
        #expect(try !applies("http://example.org/c") && !applies("http://example.com/c"))
        let everywhere = try Exchange.authentication("Digest realm=\"r\", nonce=\"n\"")
        #expect(everywhere.appliesTo(try HTTPRequest(method: .get, url: URL(string: "http://example.org/x/y")!)))
        #expect(try !everywhere.appliesTo(Exchange.request()))
    }

    /// Both fields are set on one request, and a 407 says nothing about the origin's credential.
    // Parity: HA-029
    @Test("HA-029: proxy and origin on one request") func proxyBesideOrigin() throws {
        let proxyResponse = try Exchange.response(
            .proxyAuthenticationRequired, [(.proxyAuthenticate, "Basic realm=\"p\""), (.wwwAuthenticate, "Digest")])
        let proxy = try #require(HTTPAuthentication(response: proxyResponse, from: Exchange.proxy))
        let origin = try Exchange.authentication("Basic realm=\"o\"")
        var request = try Exchange.request()
        try proxy.apply(to: &request, user: "p", password: "1", through: Exchange.proxy)
        try origin.apply(to: &request, user: "o", password: "2")
        #expect(request.fields[.proxyAuthorization] == "Basic cDox" && request.fields[.authorization] == "Basic bzoy")
        #expect(try origin.update(with: proxyResponse, to: request, through: Exchange.proxy) == .accepted)
        #expect(origin.isValid && origin.error == nil)
        #expect(try proxy.update(with: proxyResponse, to: request) == .refused)
        #expect(proxy.domains.isEmpty && proxy.otherDomains.isEmpty)
        #expect(proxy.appliesTo(request, through: Exchange.proxy))
    }

    @Test(
        "a proxy's object signs no request to another or unnamed proxy",
        arguments: [
            nil, ProtectionSpace(.proxy, scheme: "http", host: "other.example", port: 3128),
            ProtectionSpace(.proxy, scheme: "http", host: "proxy.example", port: 8080),
            ProtectionSpace(.proxy, scheme: "https", host: "proxy.example", port: 3128),
            ProtectionSpace(.origin, scheme: "http", host: "proxy.example", port: 3128),
        ])
    func boundToItsProxy(_ other: ProtectionSpace?) async throws {
        let challenge = try Exchange.response(
            .proxyAuthenticationRequired, [(.proxyAuthenticate, "Basic realm=\"p\"")])
        let proxy = try #require(HTTPAuthentication(response: challenge, from: Exchange.proxy))
        var request = try Exchange.request()
        #expect(!proxy.appliesTo(request, through: other))
        await #expect(throws: HTTPAuthError.self) {
            try await proxy.apply(to: &request, user: "a", password: "b", through: other)
        }
        await #expect(throws: HTTPAuthError.self) {
            try await proxy.apply(
                to: &request, Credential(user: "a", password: "b", for: proxy.space), through: other)
        }
        await #expect(throws: HTTPAuthError.self) {
            try await proxy.apply(to: &request, credentials: [.username: "a", .password: "b"], through: other)
        }
        #expect(request.fields[.proxyAuthorization] == nil && proxy.isValid)
        // An object without a host cannot tell proxies apart.
        let nameless = try #require(HTTPAuthentication(response: challenge))
        #expect(nameless.appliesTo(request, through: other))
        try await nameless.apply(to: &request, user: "a", password: "b")
        #expect(request.fields[.proxyAuthorization] != nil)
    }

    // Parity: HA-025
    @Test("HA-025: credentials without state") func unasked() throws {
        var request = try HTTPRequest(method: .get, url: URL(string: "http://example.org/")!)
        try request.addAuthentication(answering: nil, user: "Aladdin", password: "open sesame")
        #expect(request.fields[.authorization] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        let response = try Exchange.challenge("NTLM, Digest realm=\"r\", nonce=\"n\", Basic realm=\"r\"")
        try request.addAuthentication(answering: response, user: "a", password: "b")
        #expect(request.credentials?.scheme == "Digest")
        try request.addAuthentication(answering: response, user: "a", password: "b", method: .basic)
        #expect(request.credentials?.scheme == "Basic")
        #expect(throws: HTTPAuthError.self) {
            try request.addAuthentication(answering: response, user: "a", password: "b", method: .ntlm)
        }
        let early = HTTPAuthentication(preemptive: .basic, to: Exchange.origin)
        try early.apply(to: &request, user: "a", password: "b")
        #expect(try early.update(with: response, to: request) == .refused)
        #expect(HTTPAuthentication(preemptive: .digest, to: Exchange.origin).error?.code == .malformedChallenge)
    }

    /// No printable output contains the password.
    @Test func printsNoSecret() throws {
        let authentication = try Exchange.authentication("Digest realm=\"r\", nonce=\"n\", qop=auth, Basic realm=\"r\"")
        var request = try Exchange.request()
        var text = ""
        for user in ["joe", "a\nb"] {
            do throws(HTTPAuthError) {
                try authentication.apply(to: &request, user: user, password: "hunter2")
            } catch {
                text += "\(error)"
            }
            dump(authentication, to: &text)
            text += "\(authentication.explain()) \(authentication.space) \(request)"
        }
        #expect(!text.contains("hunter2") && text.contains("Digest \"r\": chosen"))
    }
}

/// Challenges that another HTTP client has received.
@Suite struct ForeignChallengeTests {
    @Test func aChallengeFromFieldsCanBeAnswered() async throws {
        let url = try #require(URL(string: "http://a.example/x"))
        let fields = [("Content-Length", "0"), ("WWW-Authenticate", "Basic realm=\"r\"")]
        let login = try #require(try HTTPAuthentication(status: 401, fields: fields, url: url))
        #expect(login.isValid && login.method == .basic && login.space.realm == "r" && login.space.host == "a.example")
        var request = try HTTPRequest(method: .get, url: url)
        try await login.apply(to: &request, Credential(user: "u", password: "p", for: login.space))
        #expect(request.fields[.authorization] == "Basic dTpw")
    }

    @Test func otherStatusesAndInvalidFields() throws {
        let url = try #require(URL(string: "http://a.example/x"))
        #expect(try HTTPAuthentication(status: 200, fields: [], url: url) == nil)
        for (status, name, value) in [(99, "A", "b"), (401, "a b", "c"), (401, "A", "b\r\nc: d")] {
            #expect(throws: HTTPMessageError.self) {
                _ = try HTTPAuthentication(status: status, fields: [(name, value)], url: url)
            }
        }
    }
}
