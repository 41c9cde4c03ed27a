import EventLoops
import Testing

@testable import HTTPAuth

@Suite struct AuthenticationMachineTests {
    private func policy(_ methods: AuthenticationMethod...) -> AuthenticationPolicy {
        var policy = AuthenticationPolicy()
        policy.methods = methods
        return policy
    }

    private let offers = "Basic realm=\"b\", Foo, Digest realm=\"d\", nonce=\"n\""

    /// The strongest scheme is first by default; the caller's order and bans take precedence.
    // Parity: HA-021
    @Test("HA-021: the strongest scheme first, unless the caller decides otherwise") func order() throws {
        #expect(try Exchange.authentication(offers).method == .digest)
        #expect(try Exchange.authentication(offers, policy: policy(.basic, .digest)).method == .basic)
        var banned = AuthenticationPolicy()
        banned.banned = [.digest]
        let authentication = try Exchange.authentication(offers, policy: banned)
        #expect(authentication.method == .basic)
        #expect(authentication.explain().entries.map(\.outcome) == [.chosen, .unknown, .banned])
        #expect(
            authentication.explain().description == """
                Basic "b": chosen
                Foo: skipped, unknown scheme
                Digest "d": skipped, banned by the policy
                """)
        #expect(
            try Exchange.authentication(offers).explain().entries.map(\.outcome) == [.notNeeded, .unknown, .chosen])
    }

    /// A scheme that the caller excluded is not reported as unknown.
    @Test func leftOut() throws {
        let text = try Exchange.authentication("Negotiate, Foo", offers, policy: policy(.basic)).explain().description
        #expect(
            text == """
                Negotiate: skipped, not among the allowed schemes
                Foo: skipped, unknown scheme
                Basic "b": chosen
                Foo: skipped, unknown scheme
                Digest "d": skipped, not among the allowed schemes
                """)
    }

    // Parity: HA-020
    @Test("HA-020: schemes that are known by name only", arguments: AuthenticationMethod.unsupportedNames)
    func unsupported(_ name: String) throws {
        let authentication = try Exchange.authentication(name.uppercased(), "Basic realm=\"b\"")
        #expect(authentication.method == .basic)
        #expect(authentication.explain().entries.map(\.outcome) == [.unsupported, .chosen])
        let own = policy(ScriptedScheme.method(name))
        #expect(try Exchange.authentication(name, policy: own).explain().entries.map(\.outcome) == [.chosen])
        #expect(try Exchange.authentication(name).error?.code == .noUsableScheme)
    }

    @Test func encryptedOnly() throws {
        var policy = AuthenticationPolicy()
        policy.encryptedOnly = [.basic]
        let open = try Exchange.authentication("Basic realm=\"r\"", policy: policy)
        #expect(open.error?.code == .noUsableScheme && open.explain().entries.first?.outcome == .needsEncryption)
        let response = try Exchange.challenge("Basic realm=\"r\"")
        let space = ProtectionSpace(.origin, scheme: "https", host: "h", port: 443)
        #expect(HTTPAuthentication(response: response, from: space, policy: policy)?.isValid == true)
    }

    /// A scheme that fails when it receives its challenge, when it is applied, or in its work is replaced by the next
    /// one. A user name and password are used for any scheme; a credential for one realm is not.
    @Test(arguments: ["challenge", "apply", "work"])
    func fallsBack(_ stage: String) throws {
        let failure = HTTPAuthError(.unavailable, scheme: "Script", detail: "test")
        let script = ScriptedScheme.method { scheme in
            switch stage {
            case "challenge": scheme.startFailure = failure
            case "apply": scheme.respondFailure = failure
            default: scheme.work = { .failure(failure) }
            }
        }
        let policy = policy(script, .digest, .basic)
        let challenges = "Script realm=\"s\", Basic realm=\"b\", Digest realm=\"d\", nonce=\"n\""
        let authentication = try Exchange.authentication(challenges, policy: policy)
        var request = try Exchange.request()
        try authentication.apply(to: &request, user: "a", password: "b")
        #expect(request.credentials?.scheme == "Digest" && authentication.method == .digest)
        #expect(authentication.explain().entries.first?.outcome == .skipped(failure))

        let strict = try Exchange.authentication(challenges, policy: policy)
        let credential = Credential(user: "a", password: "b", for: Exchange.origin.with(realm: "s"))
        let wrongSpace = #expect(throws: HTTPAuthError.self) { try strict.apply(to: &request, credential) }
        #expect(wrongSpace?.code == .wrongProtectionSpace && wrongSpace?.detail?.hasSuffix("; \(failure)") == true)
        #expect(strict.isValid && strict.space.realm == "d")
        let none = try Exchange.authentication(challenges, policy: policy)
        #expect(throws: HTTPAuthError(.missingUserName, scheme: "Digest", detail: "\(failure)")) {
            try none.apply(to: &request, nil)
        }
        #expect(none.isValid && none.requiresUserNameAndPassword)
    }

    /// If several schemes cannot start, the error gives the reason of each.
    @Test func eachReasonIsNamed() throws {
        let failures = ["One", "Two"].map { HTTPAuthError(.unavailable, scheme: $0, detail: "test") }
        var policy = AuthenticationPolicy()
        policy.methods = failures.map { failure in
            ScriptedScheme.method(failure.scheme ?? "") { $0.respondFailure = failure }
        }
        let authentication = try Exchange.authentication("One, Two", policy: policy)
        var request = try Exchange.request()
        let error = #expect(throws: HTTPAuthError.self) { try authentication.apply(to: &request, nil) }
        #expect(error?.code == .noUsableScheme)
        #expect(error?.detail == "offered: One, Two; \(failures[0]); \(failures[1])")
    }

    /// The server has seen a login with the first scheme: another scheme would be a change in the middle of it.
    @Test func aSchemeThatWasUsedIsNotReplaced() throws {
        let failure = HTTPAuthError(.unavailable, scheme: "Script", detail: "test")
        let calls = Locked(0)
        let script = ScriptedScheme.method { scheme in
            scheme.work = {
                let number = calls.withLock { calls -> Int in
                    calls += 1
                    return calls
                }
                return number == 1 ? .success(BlockingWork.Output(bytes: [0x61], isComplete: false)) : .failure(failure)
            }
        }
        var policy = policy(script, .digest)
        policy.mayWeakenLogins = [.digest]
        let authentication = try Exchange.authentication("Script, Digest realm=\"d\", nonce=\"n\"", policy: policy)
        var request = try Exchange.request()
        try authentication.apply(to: &request, user: "a", password: "b")
        #expect(request.fields[.authorization] == "Script a")
        #expect(throws: failure) { try authentication.apply(to: &request, user: "a", password: "b") }
        #expect(authentication.method == script)
    }

    /// Work runs on another thread, for both the blocking and the asynchronous call.
    @Test func work() async throws {
        let script = ScriptedScheme.method { scheme in
            scheme.work = { .success(BlockingWork.Output(bytes: Array("done".utf8), isComplete: true)) }
        }
        let authentication = try Exchange.authentication("Script", policy: policy(script))
        var request = try Exchange.request()
        try await authentication.apply(to: &request, nil)
        #expect(request.fields[.authorization] == "Script done")
        try applyBlocking(authentication, to: &request)
        #expect(request.fields[.authorization] == "Script done")
    }

    private func applyBlocking(_ authentication: HTTPAuthentication, to request: inout HTTPRequest) throws {
        try authentication.apply(to: &request, nil)
    }

    /// Covers the legs of one exchange, a rejection that no other credential could fix, and the next scheme.
    @Test func legs() throws {
        let authentication = try Exchange.authentication(
            "Script, Basic realm=\"b\"", policy: policy(ScriptedScheme.method(), .basic))
        var request = try Exchange.request()
        try authentication.apply(to: &request, nil)
        #expect(request.fields[.authorization] == "Script leg1")
        #expect(try authentication.update(with: Exchange.challenge("Script abc=, Basic"), to: request) == .apply)
        try authentication.apply(to: &request, nil)
        #expect(request.fields[.authorization] == "Script leg2")
        #expect(try authentication.update(with: Exchange.challenge("Script, Basic realm=\"b\""), to: request) == .apply)
        #expect(authentication.method == .basic && authentication.requiresUserNameAndPassword)
        let alone = try Exchange.authentication("Script", policy: policy(ScriptedScheme.method()))
        try alone.apply(to: &request, nil)
        #expect(try alone.update(with: Exchange.challenge("Script"), to: request) == .failed)
        #expect(alone.error?.code == .loginRefused)
    }

    /// A server that keeps sending challenges reaches the limit.
    @Test func rounds() throws {
        var policy = policy(ScriptedScheme.method())
        policy.limits.roundCount = 4
        let authentication = try Exchange.authentication("Script", policy: policy)
        var request = try Exchange.request()
        var verdicts: [AuthenticationVerdict] = []
        for _ in 0..<5 {
            try authentication.apply(to: &request, nil)
            verdicts.append(try authentication.update(with: Exchange.challenge("Script abc"), to: request))
        }
        #expect(verdicts == [.apply, .apply, .apply, .apply, .failed])
        #expect(authentication.error?.code == .tooManyRounds)
    }

    /// A server that stops offering a scheme after it was used has rejected it.
    @Test func offersAnother() throws {
        let authentication = try Exchange.authentication("Basic realm=\"r\"")
        var request = try Exchange.request()
        try authentication.apply(to: &request, user: "a", password: "b")
        let other = try Exchange.challenge("Digest realm=\"r\", nonce=\"n\"")
        #expect(try authentication.update(with: other, to: request) == .apply)
        #expect(authentication.method == .digest)
    }

    /// Each request of many threads gets its own nonce count.
    // Parity: HA-014
    @Test("HA-014: one object on many threads") func manyThreads() async throws {
        let authentication = try Exchange.authentication("Digest realm=\"r\", nonce=\"n\", qop=auth")
        let counts = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    var request = try Exchange.request()
                    try await authentication.apply(to: &request, user: "a", password: "b")
                    return request.credentials?["nc"]
                }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(counts.count == 200)
    }
}
