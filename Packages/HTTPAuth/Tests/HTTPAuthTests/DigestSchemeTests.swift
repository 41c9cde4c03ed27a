import HTTPAuth
import Testing

@Suite struct DigestSchemeTests {
    /// The server side of Digest for user "joe" with the password "secret".
    private struct Server {
        var nonce = "n1"
        var rest = "qop=\"auth\""

        func challenge(_ more: String = "") -> String {
            "Digest realm=\"r\", nonce=\"\(nonce)\"" + (rest.isEmpty ? "" : ", \(rest)") + more
        }

        /// Returns the expected `response` for the fields of a request; with an empty method, the expected `rspauth`.
        func response(_ sent: Challenge, method: String = "GET", body: [UInt8] = []) throws -> String? {
            var vector = DigestVector()
            (vector.user, vector.password, vector.realm, vector.method) = ("joe", "secret", "r", method)
            (vector.nonce, vector.uri, vector.body) = (sent["nonce"] ?? "", sent["uri"] ?? "", body)
            (vector.algorithm, vector.protection) = (sent["algorithm"], sent["qop"])
            (vector.count, vector.clientNonce) = (sent["nc"] ?? "", sent["cnonce"] ?? "")
            return try vector.response()
        }
    }

    private func apply(
        _ authentication: HTTPAuthentication, _ target: RequestTarget = "/x", user: String = "joe",
        body: AuthenticationBody? = nil
    ) throws -> (request: HTTPRequest, sent: Challenge) {
        var request = try Exchange.request(target)
        try authentication.apply(to: &request, user: user, password: "secret", body: body)
        return (request, try #require(request.credentials))
    }

    /// Quoted and unquoted parameters, in the order of the examples in RFC 7616.
    @Test func field() throws {
        let authentication = try Exchange.authentication(
            "Digest realm=\"a \\\"b\\\"\", nonce=\"n\\\\1\", algorithm=SHA-256, qop=\"auth,auth-int\", opaque=\"o\"")
        let (request, sent) = try apply(authentication, "/x?\"y")
        let text = try #require(request.fields[.authorization])
        #expect(text.hasPrefix("Digest username=\"joe\", realm=\"a \\\"b\\\"\", nonce=\"n\\\\1\", uri=\"/x?\\\"y\", "))
        #expect(text.contains(", algorithm=SHA-256, qop=auth, nc=00000001, cnonce=\""))
        #expect(text.hasSuffix("\", opaque=\"o\""))
        #expect(sent["cnonce"]?.count == 32)
    }

    @Test("the policy limits the URIs of a domain", arguments: [1, 2]) func domainLimit(_ limit: Int) throws {
        var policy = AuthenticationPolicy()
        policy.limits.domainCount = limit
        let authentication = try Exchange.authentication(
            "Digest realm=\"r\", nonce=\"n\", domain=\"/a /b\"", policy: policy)
        #expect(authentication.domains.count == limit)
    }

    @Test(arguments: [
        "", "qop=\"auth\"", "qop=auth-int", "algorithm=MD5-sess, qop=\"auth-int, auth\"", "algorithm=SHA-256",
        "algorithm=sha-256-sess, qop=auth", "algorithm=\"SHA-512-256\", qop=\"auth\"",
        "algorithm=SHA-512-256-sess, qop=auth-int", "qop=\"\"", "algorithm=MD5-sess",
    ])
    func response(_ rest: String) throws {
        let server = Server(rest: rest)
        let (_, sent) = try apply(try Exchange.authentication(server.challenge()))
        #expect(try server.response(sent) == sent["response"])
    }

    /// One nonce serves many requests, each with the next count and, without a session, a new client nonce.
    // Parity: HA-037
    @Test("HA-037: a hundred requests on one nonce", arguments: ["MD5", "MD5-sess"])
    func counts(_ algorithm: String) throws {
        let server = Server(rest: "qop=auth, algorithm=\(algorithm)")
        let authentication = try Exchange.authentication(server.challenge())
        var clientNonces: Set<String> = []
        for number in 1...300 {
            let (request, sent) = try apply(authentication, RequestTarget("/\(number)")!)
            #expect(sent["nc"].flatMap { Int($0, radix: 16) } == number)
            #expect(try server.response(sent) == sent["response"])
            clientNonces.insert(try #require(sent["cnonce"]))
            #expect(try authentication.update(with: HTTPResponse(status: .ok), to: request) == .accepted)
        }
        #expect(clientNonces.count == (algorithm == "MD5" ? 300 : 1))
        #expect(authentication.requiresOrderedRequests)
    }

    // Parity: HA-002
    @Test("HA-002: each user of a server has its own object and nonce")
    func objectsOfTwoUsers() throws {
        let first = try Exchange.authentication("Digest realm=\"r\", nonce=\"one\", qop=auth")
        let second = try Exchange.authentication("Digest realm=\"r\", nonce=\"two\", qop=auth")
        var seen: [String] = []
        for (object, user) in [(first, "ann"), (second, "joe"), (first, "ann"), (second, "joe"), (second, "joe")] {
            var request = try Exchange.request()
            try object.apply(to: &request, user: user, password: "p")
            let credentials = try #require(request.credentials)
            seen.append(["username", "nonce", "nc"].map { credentials[$0] ?? "" }.joined(separator: " "))
        }
        #expect(
            seen == [
                "ann one 00000001", "joe two 00000001", "ann one 00000002", "joe two 00000002", "joe two 00000003",
            ])
    }

    // Parity: HA-038
    @Test("HA-038: a stale nonce is not a rejection") func stale() throws {
        let authentication = try Exchange.authentication(Server().challenge())
        let (first, _) = try apply(authentication)
        let renewed = try Exchange.challenge(Server(nonce: "n2").challenge(", stale=TRUE"))
        #expect(try authentication.update(with: renewed, to: first) == .apply)
        let (second, sent) = try apply(authentication)
        #expect(sent["nonce"] == "n2" && sent["nc"] == "00000001")
        let refusal = try Exchange.challenge(Server(nonce: "n3").challenge(", stale=false"))
        #expect(try authentication.update(with: refusal, to: second) == .refused)
        #expect(authentication.error?.number == .badUserName)
    }

    /// A server that accepted a key and then drops its nonce without sending `stale` gets the key once more.
    @Test func forgottenNonce() throws {
        let authentication = try Exchange.authentication(Server().challenge())
        let (first, _) = try apply(authentication)
        #expect(try authentication.update(with: HTTPResponse(status: .ok), to: first) == .accepted)
        let (second, _) = try apply(authentication)
        let forgotten = try Exchange.challenge(Server(nonce: "n2").challenge())
        #expect(try authentication.update(with: forgotten, to: second) == .apply)
        let (third, _) = try apply(authentication)
        #expect(try authentication.update(with: forgotten, to: third) == .refused)
    }

    /// Two concurrent requests both receive a first challenge: the credential was not rejected.
    @Test func challengedTwice() throws {
        let authentication = try Exchange.authentication(Server().challenge())
        let plain = try Exchange.request()
        let again = try Exchange.challenge(Server(nonce: "n2").challenge())
        #expect(try authentication.update(with: again, to: plain) == .apply)
        #expect(try apply(authentication).sent["nonce"] == "n2")
    }

    // Parity: HA-012, HA-038
    @Test("HA-012, HA-038: nextnonce and the proof") func nextNonceAndProof() throws {
        let server = Server(rest: "qop=\"auth\", algorithm=SHA-256")
        let authentication = try Exchange.authentication(server.challenge())
        let (request, sent) = try apply(authentication)
        let proof = try #require(try server.response(sent, method: ""))
        let info = "rspauth=\"\(proof)\", qop=auth, nc=\(sent["nc"]!), cnonce=\"\(sent["cnonce"]!)\", nextnonce=\"n2\""
        let answer = try Exchange.response(.ok, [(.authenticationInfo, info)])
        #expect(try authentication.update(with: answer, to: request) == .accepted)
        let (_, next) = try apply(authentication)
        #expect(next["nonce"] == "n2" && next["nc"] == "00000001")
    }

    @Test(arguments: ["rspauth=\"0\"", "rspauth=RIGHT, nc=00000002", "rspauth=RIGHT, cnonce=\"other\"", "rspauth=\"\""])
    func wrongProof(_ info: String) throws {
        let authentication = try Exchange.authentication(Server().challenge())
        let (request, sent) = try apply(authentication)
        let right = try #require(try Server().response(sent, method: ""))
        let answer = try Exchange.response(
            .ok, [(.authenticationInfo, info.replacing("RIGHT", with: "\"\(right)\""))])
        #expect(throws: HTTPAuthError.self) { try authentication.update(with: answer, to: request) }
        #expect(authentication.error?.code == .serverNotAuthentic)
    }

    @Test(
        "a required proof is verified regardless of the server's qop",
        arguments: [
            "qop=auth-int, rspauth=\"0\"", "rspauth=\"0\", qop=\"auth-int\"", "rspauth=\"\"", "qop=auth-int",
            "rspauth=0",
        ], [AuthenticationBody.unknown, .bytes([])])
    func requiredProofIsCompared(_ info: String, _ body: AuthenticationBody) throws {
        var options = DigestOptions()
        options.requiresServerProof = true
        var policy = AuthenticationPolicy()
        policy.methods = [.digest(options)]
        let authentication = try Exchange.authentication(Server().challenge(), policy: policy)
        let (request, _) = try apply(authentication)
        let answer = try Exchange.response(.ok, [(.authenticationInfo, info)])
        #expect(throws: HTTPAuthError.self) { try authentication.update(with: answer, to: request, body: body) }
        #expect(authentication.error?.code == .serverNotAuthentic)
    }

    /// The server could name a `qop` whose proof cannot be checked.
    @Test("a proof is verified with the request's qop, also if no proof is required") func proofWithAnotherQop() throws
    {
        let authentication = try Exchange.authentication(Server().challenge())
        let (request, _) = try apply(authentication)
        let answer = try Exchange.response(.ok, [(.authenticationInfo, "qop=auth-int, rspauth=\"0\"")])
        let error = #expect(throws: HTTPAuthError.self) { try authentication.update(with: answer, to: request) }
        #expect(error?.code == .serverNotAuthentic)
    }

    @Test("a required proof of an unknown body is rejected")
    func requiredProofOfUnknownBody() throws {
        var options = DigestOptions()
        options.requiresServerProof = true
        var policy = AuthenticationPolicy()
        policy.methods = [.digest(options)]
        let server = Server(rest: "qop=\"auth-int\"")
        for (body, isAccepted) in [(AuthenticationBody.unknown, false), (.bytes([1, 2]), true)] {
            let authentication = try Exchange.authentication(server.challenge(), policy: policy)
            let (request, sent) = try apply(authentication)
            let proof = try #require(try server.response(sent, method: "", body: [1, 2]))
            let answer = try Exchange.response(.ok, [(.authenticationInfo, "rspauth=\"\(proof)\", qop=auth-int")])
            let accepted = (try? authentication.update(with: answer, to: request, body: body)) == .accepted
            #expect(accepted == isAccepted)
        }
    }

    /// The response of another HTTP client, as a status, pairs of names and values, and bytes.
    @Test func aProofInAResponseOfAnotherClient() throws {
        var options = DigestOptions()
        options.requiresServerProof = true
        var policy = AuthenticationPolicy()
        policy.methods = [.digest(options)]
        let server = Server(rest: "qop=\"auth-int\"")
        for (body, isAccepted) in [(nil, false), ([1, 2], true), ([1, 3], false)] as [([UInt8]?, Bool)] {
            let authentication = try Exchange.authentication(server.challenge(), policy: policy)
            let (request, sent) = try apply(authentication)
            let proof = try #require(try server.response(sent, method: "", body: [1, 2]))
            let fields = [("Authentication-Info", "rspauth=\"\(proof)\", qop=auth-int")]
            let verdict = try? authentication.update(status: 200, fields: fields, to: request, body: body)
            #expect((verdict == .accepted) == isAccepted)
        }
        let authentication = try Exchange.authentication(server.challenge())
        let (request, _) = try apply(authentication)
        #expect(try authentication.update(with: Exchange.response(.ok, []), to: request, body: [1]) == .accepted)
        #expect(throws: HTTPAuthError.self) {
            try authentication.update(status: 200, fields: [("A", "b\r\nc")], to: request)
        }
    }

    @Test(
        "nextnonce in a response without a proof is ignored, and so is a field that cannot be read",
        arguments: [
            "garbage here", "nextnonce=\"evil\", garbage here", "rspauth=", "nextnonce=\"evil\"",
            "nextnonce=\"evil\", rspauth=PROOF, qop=auth-int",
        ])
    func unprovenNextNonce(_ info: String) throws {
        let server = Server(rest: "qop=\"auth-int\"")
        let authentication = try Exchange.authentication(server.challenge())
        let (request, sent) = try apply(authentication)
        let proof = try #require(try server.response(sent, method: "", body: [1]))
        let answer = try Exchange.response(
            .ok, [(.authenticationInfo, info.replacing("PROOF", with: "\"\(proof)\""))])
        #expect(try authentication.update(with: answer, to: request) == .accepted)
        #expect(try apply(authentication).sent["nonce"] == "n1")
    }

    @Test("only responses to the last value count towards the round limit") func lateAnswers() throws {
        var policy = AuthenticationPolicy()
        policy.limits.roundCount = 3
        let authentication = try Exchange.authentication(Server().challenge(), policy: policy)
        let requests = try (0..<32).map { _ in try apply(authentication).request }
        for (number, request) in requests.dropLast().enumerated() {
            let stale = try Exchange.challenge(Server(nonce: "late\(number)").challenge(", stale=true"))
            #expect(try authentication.update(with: stale, to: request) == .apply)
        }
        var verdicts: [AuthenticationVerdict] = []
        for number in 0..<4 {
            let request = try apply(authentication).request
            let stale = try Exchange.challenge(Server(nonce: "last\(number)").challenge(", stale=true"))
            verdicts.append(try authentication.update(with: stale, to: request))
        }
        #expect(verdicts == [.apply, .apply, .apply, .failed])
        #expect(authentication.error?.code == .tooManyRounds)
    }

    @Test("challenges of other realms do not count towards the round limit of Basic") func basicRounds() throws {
        var policy = AuthenticationPolicy()
        policy.limits.roundCount = 3
        let authentication = try Exchange.authentication("Basic realm=\"r\"", policy: policy)
        var request = try Exchange.request()
        try authentication.apply(to: &request, user: "joe", password: "secret")
        for _ in 0..<20 {
            #expect(
                try authentication.update(with: Exchange.challenge("Basic realm=\"s\""), to: request) == .otherRealm)
        }
        #expect(authentication.isValid)
        #expect(try authentication.update(with: Exchange.challenge("Basic realm=\"r\""), to: request) == .refused)
    }

    /// With `auth-int` the proof covers the body of the response, and is checked if the body is known.
    @Test func proofOfBody() throws {
        let server = Server(rest: "qop=\"auth-int\"")
        let body = Array("hello".utf8)
        let authentication = try Exchange.authentication(server.challenge())
        let (request, sent) = try apply(authentication)
        let proof = try #require(try server.response(sent, method: "", body: body))
        let answer = try Exchange.response(.ok, [(.authenticationInfo, "rspauth=\"\(proof)\", qop=auth-int")])
        #expect(try authentication.update(with: answer, to: request, body: .bytes(body)) == .accepted)
        #expect(try authentication.update(with: answer, to: request, body: .unknown) == .accepted)
        #expect(throws: HTTPAuthError.self) {
            try authentication.update(with: answer, to: request, body: .bytes([1]))
        }
    }

    @Test("a 407 needs no proof only if the request went through a proxy") func proofOfProxyStatus() throws {
        var options = DigestOptions()
        options.requiresServerProof = true
        var policy = AuthenticationPolicy()
        policy.methods = [.digest(options)]
        let authentication = try Exchange.authentication(Server().challenge(), policy: policy)
        let (request, _) = try apply(authentication)
        let answer = try HTTPResponse(status: .proxyAuthenticationRequired)
        #expect(try authentication.update(with: answer, to: request, through: Exchange.proxy) == .accepted)
        #expect(throws: HTTPAuthError(.serverNotAuthentic, scheme: "Digest", detail: "the response has no rspauth")) {
            try authentication.update(with: answer, to: request)
        }
    }

    @Test func requiredProof() throws {
        var options = DigestOptions()
        options.requiresServerProof = true
        var policy = AuthenticationPolicy()
        policy.methods = [.digest(options)]
        let authentication = try Exchange.authentication(Server().challenge(), policy: policy)
        let (request, _) = try apply(authentication)
        #expect(throws: HTTPAuthError(.serverNotAuthentic, scheme: "Digest", detail: "the response has no rspauth")) {
            try authentication.update(with: HTTPResponse(status: .ok), to: request)
        }
    }

    @Test func integrity() throws {
        let body = Array("name=value".utf8)
        let only = Server(rest: "qop=auth-int")
        let (_, sent) = try apply(Exchange.authentication(only.challenge()), body: .bytes(body))
        #expect(sent["qop"] == "auth-int")
        #expect(try only.response(sent, body: body) == sent["response"])
        #expect(throws: HTTPAuthError(.bodyUnknown, scheme: "Digest")) {
            try apply(Exchange.authentication(only.challenge()), body: .unknown)
        }
        var options = DigestOptions()
        options.prefersIntegrity = true
        var policy = AuthenticationPolicy()
        policy.methods = [.digest(options)]
        let both = Server(rest: "qop=\"auth, auth-int\"").challenge()
        #expect(try apply(Exchange.authentication(both), body: .bytes(body)).sent["qop"] == "auth")
        #expect(try apply(Exchange.authentication(both, policy: policy), body: .bytes(body)).sent["qop"] == "auth-int")
        #expect(try apply(Exchange.authentication(both, policy: policy), body: .unknown).sent["qop"] == "auth")
    }

    @Test func userNames() throws {
        let hashed = try Exchange.authentication(
            "Digest realm=\"api@example.org\", nonce=\"n\", algorithm=SHA-512-256, qop=auth, charset=UTF-8, userhash=true"
        )
        let (_, sent) = try apply(hashed, user: "Jäsøn Doe")
        #expect(sent["username"] == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
        #expect(sent["userhash"] == "true")
        let extended = try Exchange.authentication(Server().challenge(", charset=UTF-8"))
        #expect(try apply(extended, user: "Jäsøn Doe").sent["username*"] == "UTF-8''J%C3%A4s%C3%B8n%20Doe")
        #expect(try apply(extended, user: "joe").sent["username"] == "joe")
        #expect(try apply(Exchange.authentication(Server().challenge()), user: "é").sent["username"] == "é")
        #expect(throws: HTTPAuthError.self) { try apply(extended, user: "a\r\nb") }
    }

    /// The strongest of several algorithms is chosen, in any order.
    @Test func strongestAlgorithm() throws {
        let authentication = try Exchange.authentication(
            "Digest realm=\"r\", nonce=\"1\"", "Digest realm=\"r\", nonce=\"2\", algorithm=SHA-512-256",
            "Digest realm=\"r\", nonce=\"3\", algorithm=SHA-256", "Digest realm=\"r\", nonce=\"4\", algorithm=SHA-999")
        let (request, sent) = try apply(authentication)
        #expect(sent["nonce"] == "2")
        let renewed = try Exchange.challenge(
            "Digest realm=\"r\", nonce=\"5\", stale=true",
            "Digest realm=\"r\", nonce=\"6\", algorithm=SHA-512-256, stale=true")
        #expect(try authentication.update(with: renewed, to: request) == .apply)
        #expect(try apply(authentication).sent["nonce"] == "6")
    }

    @Test(arguments: [
        ("Digest realm=\"r\"", HTTPAuthError.Code.malformedChallenge),
        ("Digest nonce=\"n\"", .malformedChallenge),
        ("Digest qop=", .malformedChallenge),
        ("Digest realm=\"r\", nonce=\"n\", algorithm=SHA-1", .unsupportedChallenge),
        ("Digest realm=\"r\", nonce=\"n\", qop=\"auth-conf\"", .unsupportedChallenge),
        ("Digest realm=\"r\", nonce=\"n\", nonce=\"m\"", .malformedChallenge),
    ])
    func rejects(_ challenge: String, _ code: HTTPAuthError.Code) throws {
        let authentication = try Exchange.authentication(challenge)
        #expect(authentication.error?.code == code)
    }

    @Test("values that each request would repeat are limited", arguments: ["realm", "nonce", "opaque"])
    func repeatedValues(_ name: String) throws {
        for total in [8192, 8193] {
            var values = ["realm": "r", "nonce": "n", "opaque": "o"]
            values[name] = String(repeating: "x", count: total - 2)
            let text = "Digest " + values.map { "\($0.key)=\"\($0.value)\"" }.joined(separator: ", ")
            #expect(try Exchange.authentication(text).isValid == (total == 8192))
        }
    }

    @Test func noMD5() throws {
        var options = DigestOptions()
        options.allowsMD5 = false
        var policy = AuthenticationPolicy()
        policy.methods = [.digest(options), .basic]
        #expect(try Exchange.authentication(Server().challenge(), "Basic", policy: policy).method == .basic)
    }
}
