import HTTPAuth
import Testing

@Suite struct ChallengeParserTests {
    private func parse(_ text: String, _ leniency: ChallengeLeniency = .strict) -> ChallengeParser.Result {
        ChallengeParser(leniency: leniency).parse(Array(text.utf8))
    }

    @Test(arguments: [
        ("Basic", "Basic"),
        ("Basic realm=\"a\"", "Basic realm=\"a\""),
        ("basic\trealm = a", "basic realm=\"a\""),
        ("Basic realm=\"\"", "Basic realm=\"\""),
        (
            "Digest realm=\"a, b\", nonce=\"x=\\\"y\\\"\", qop=\"auth,auth-int\"",
            "Digest realm=\"a, b\", nonce=\"x=\\\"y\\\"\", qop=\"auth,auth-int\""
        ),
        (" , ,Basic ,, realm=a ,, x=y,", "Basic realm=\"a\", x=\"y\""),
        ("Negotiate, NTLM, Basic realm=\"a\"", "Negotiate|NTLM|Basic realm=\"a\""),
        (
            "Basic realm=\"a\", Digest realm=\"b\", nonce=1, Bearer",
            "Basic realm=\"a\"|Digest realm=\"b\", nonce=\"1\"|Bearer"
        ),
        ("Negotiate YII+/=, NTLM TlR~==", "Negotiate …|NTLM …"),
        ("", ""),
        (" , \t,", ""),
    ])
    func accepts(_ text: String, _ challenges: String) {
        let result = parse(text)
        #expect(result.challenges.map(\.description).joined(separator: "|") == challenges)
        #expect(result.errors.isEmpty)
    }

    @Test func tokens() {
        #expect(parse("Negotiate YII+/=").challenges.map(\.token) == ["YII+/="])
        #expect(parse("NTLM TlR-._~ , NTLM").challenges.map(\.token) == ["TlR-._~", nil])
        #expect(parse("X a=").challenges == [Challenge(scheme: "X", token: "a=")])
        #expect(parse("X a=b").challenges == [Challenge(scheme: "X", parameters: [.init("a", "b")])])
    }

    /// Challenges before the error in the same line are kept; the malformed one is dropped.
    @Test(arguments: [
        ("blah blah blah", 0),
        ("Basic realm=\"a", 0),
        ("Basic realm=\"a\"b", 0),
        ("Basic realm=a@b", 0),
        ("Basic realm=\"a\" x=y", 0),
        ("Basic realm=\"a\u{1}\"", 0),
        ("Basic a=b, realm=,", 0),
        ("=x", 0),
        ("Basic/ realm=a", 0),
        ("Negotiate abc=d=", 0),
        ("Negotiate, Basic realm=\"a\"b", 1),
        ("Other abc==, realm=a, Basic", 1),
        ("Basic realm=a, Basic realm=b, realm=c, Negotiate", 2),
    ])
    func rejects(_ text: String, _ kept: Int) {
        let result = parse(text)
        #expect(result.challenges.count == kept)
        #expect(result.errors.map(\.code) == [.malformedChallenge])
    }

    @Test func leniencies() {
        #expect(parse("Basic realm=\"a, b", .missingClosingQuote).challenges.first?["realm"] == "a, b")
        #expect(parse("Basic realm=\"a\\", .missingClosingQuote).challenges.first?["realm"] == "a")
        #expect(parse("Basic realm=a@b, x=1", .unquotedText).challenges.first?["realm"] == "a@b")
        #expect(parse("Basic realm=a\"b", .client).challenges.isEmpty)
    }

    /// An error in one line does not affect the others, and bytes that are not UTF-8 are preserved.
    // Parity: HA-020, HA-021
    @Test("HA-020, HA-021: several schemes, in one line or many") func lines() throws {
        var fields: HTTPFields = ["WWW-Authenticate": "Negotiate", "Proxy-Authenticate": "Basic"]
        try fields.append("broken broken broken", for: .wwwAuthenticate)
        try fields.append(rawValue: Array("Basic realm=\"caf".utf8) + [0xE9, 0x22], for: .wwwAuthenticate)
        let result = ChallengeParser().parse(fields, .wwwAuthenticate)
        #expect(result.challenges.map(\.scheme) == ["Negotiate", "Basic"])
        #expect(result.challenges.last?["REALM"] == "café")
        #expect(result.challenges.last?.parameter("realm")?.rawValue.last == 0xE9)
        #expect(result.errors.count == 1)
    }

    @Test func limits() {
        var parser = ChallengeParser()
        parser.limits.challengeCount = 2
        #expect(parser.parse(Array("A, B, C".utf8)).challenges.count == 2)
        parser.limits.parameterCount = 2
        #expect(parser.parse(Array("A b=1, c=2".utf8)).challenges.count == 1)
        #expect(parser.parse(Array("A b=1, c=2, d=3".utf8)).challenges.isEmpty)
        parser.limits.challengeLength = 3
        #expect(parser.parse(Array("A, B".utf8)).errors.count == 1)
    }

    @Test func parameterLists() throws {
        let parser = ChallengeParser()
        #expect(try parser.parseParameters(Array("a=1,b=\"2\"".utf8)) == [.init("a", "1"), .init("b", "2")])
        #expect(try parser.parseParameters([]).isEmpty)
        #expect(throws: HTTPAuthError.self) { try parser.parseParameters(Array("Basic a=1".utf8)) }
    }

    /// A line truncated at any byte, or with any byte replaced, may lose challenges but never traps.
    @Test func survivesDamage() {
        let line = Array("Digest realm=\"a\\\"b\", nonce=c, Negotiate YII+/==, ,Basic realm=\"d, e\"".utf8)
        for leniency in [ChallengeLeniency.strict, .client] {
            let parser = ChallengeParser(leniency: leniency)
            for index in line.indices {
                #expect(parser.parse(Array(line[..<index])).challenges.count <= 3)
                for byte in [0, UInt8(ascii: "\""), UInt8(ascii: "="), UInt8(ascii: ","), UInt8(ascii: "\\"), 0xFF] {
                    var damaged = line
                    damaged[index] = byte
                    #expect(parser.parse(damaged).challenges.count <= 6)
                }
            }
        }
    }
}

extension ChallengeParserTests {
    @Test("parameters may lack their commas, challenges may not") func missingCommas() {
        let line = Array(#"Digest realm="r" qop="auth" nonce="abc"  opaque=xyz, Basic realm="b""#.utf8)
        let found = ChallengeParser().parse(line)
        #expect(found.challenges.map(\.scheme) == ["Digest", "Basic"] && found.errors.isEmpty)
        #expect(found.challenges[0].parameters.map(\.name) == ["realm", "qop", "nonce", "opaque"])
        let strict = ChallengeParser(leniency: .strict).parse(line)
        #expect(strict.challenges.isEmpty && strict.errors.map(\.code) == [.malformedChallenge])
        let other = ChallengeParser().parse(Array(#"Digest realm="r" nonce="n" Basic realm="b""#.utf8))
        #expect(other.challenges.isEmpty && other.errors.count == 1)
    }
}

extension ChallengeParserTests {
    /// What servers send, and other clients log in to.
    @Test(
        "a client reads odd challenges, and those beside malformed ones",
        arguments: [
            ("Basic realm=My Site", "Basic realm=\"My Site\"", 0),
            ("Basic realm=My  Site , charset=UTF-8", "Basic realm=\"My  Site\", charset=\"UTF-8\"", 0),
            ("Basic realm=My Site charset=UTF-8", "Basic realm=\"My Site\", charset=\"UTF-8\"", 0),
            ("Basic realm=My Site; charset = UTF-8", "Basic realm=\"My Site\", charset=\"UTF-8\"", 0),
            ("Basic realm=My Site, Digest realm=\"r\"", "Basic realm=\"My Site\"|Digest realm=\"r\"", 0),
            ("Basic realm=\"x\"; charset=\"UTF-8\"", "Basic realm=\"x\", charset=\"UTF-8\"", 0),
            ("Basic realm=\"x\";", "Basic realm=\"x\"", 0),
            ("Digest realm=\"x\"; nonce=\"n\"", "Digest realm=\"x\", nonce=\"n\"", 0),
            ("Digest realm=\"x\", opaque=", "Digest realm=\"x\", opaque=\"\"", 0),
            ("Digest opaque=, realm=\"x\"", "Digest opaque=\"\", realm=\"x\"", 0),
            ("Basic realm=", "Basic realm=\"\"", 0), ("Basic realm= , NTLM", "Basic realm=\"\"|NTLM", 0),
            ("Digest realm=x, nonce=n, nonce=\"n\"", "Digest realm=\"x\", nonce=\"n\"", 0),
            ("Digest realm=x, Nonce=n, nonce=m, Basic realm=b", "Basic realm=\"b\"", 1),
            ("Foo bar baz, Basic realm=\"x\"", "Basic realm=\"x\"", 1),
            (
                "NTLM, Foo bar baz, a=b, c = \"d, Bad realm\", =, Basic realm=\"x\", Foo bar baz, Negotiate",
                "NTLM|Basic realm=\"x\"|Negotiate", 2
            ),
            ("=x, Basic realm=\"x\"", "Basic realm=\"x\"", 1), ("Basic/ realm=a,NTLM", "NTLM", 1),
            // A name within a damaged quoted string begins no challenge, and so cannot replace a stronger one.
            ("Digest realm=\"a\u{1}, Basic realm=b\", nonce=n", "", 1),
            ("Foo bar \"a, Basic realm=b", "", 1),
            ("Basic \"My Site\", charset=UTF-8", "Basic realm=\"My Site\", charset=\"UTF-8\"", 0),
            ("X \"My Site\"", "", 1),
            (
                "Digest realm=\"r\"; nonce=\"n\"; qop=auth; algorithm=MD5",
                "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=\"MD5\"", 0
            ),
            (
                "Digest realm=r, qop=auth,auth-int, nonce=n, Basic realm=b",
                "Digest realm=\"r\", qop=\"auth,auth-int\", nonce=\"n\"|Basic realm=\"b\"", 0
            ),
            (
                "Digest realm=r, nonce=n, qop=auth, Auth-Int", "Digest realm=\"r\", nonce=\"n\", qop=\"auth,Auth-Int\"",
                0
            ),
            ("X qop=auth,auth-int, Basic realm=b", "X qop=\"auth\"|auth-int|Basic realm=\"b\"", 0),
            ("X a=", "X …", 0), ("Digest opaque=a;b=c, realm=x", "Digest opaque=\"a;b=c\", realm=\"x\"", 0),
        ])
    func oddChallenges(_ line: String, _ challenges: String, _ errors: Int) {
        let result = ChallengeParser().parse(Array(line.utf8))
        #expect(result.challenges.map(\.description).joined(separator: "|") == challenges)
        #expect(result.errors.count == errors, "\(result.errors)")
    }

    @Test func malformedChallengesAreLimited() {
        var parser = ChallengeParser()
        parser.limits.challengeCount = 4
        let line = Array(repeating: "A b c", count: 100).joined(separator: ", ") + ", NTLM"
        let result = parser.parse(Array(line.utf8))
        #expect(result.challenges.isEmpty && result.errors.count == 4)
    }
}
