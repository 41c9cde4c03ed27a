import HTTPAuthTesting
import Testing

@testable import HTTPAuth

@Suite struct SPNEGOTokenTests {
    private let initialToken = SPNEGOInitialToken(mechanisms: [.kerberos, .ntlm], token: [1, 2, 3])
    private let reply = SPNEGOReplyToken(
        state: .acceptIncomplete, mechanism: .kerberosOfMicrosoft, token: Array(repeating: 7, count: 300),
        signature: [9])

    /// RFC 4178 section 4.2.1, byte for byte.
    @Test func encodedInitialToken() throws {
        let expected = bytes(
            """
            60 2c 06 06 2b0601050502 a0 22 30 20
              a0 17 30 15 06 09 2a864886f712010202 06 08 2b06010401823702
              a2 05 04 03 010203
            """)
        let initialToken = SPNEGOInitialToken(
            mechanisms: [.kerberos, MechanismIdentifier(bytes: bytes("2b06010401823702"))], token: [1, 2, 3])
        #expect(hexadecimal(initialToken.bytes) == hexadecimal(expected))
    }

    @Test func roundTrip() throws {
        #expect(try SPNEGOToken(initialToken.bytes) == .initial(initialToken))
        #expect(try SPNEGOToken(reply.bytes) == .reply(reply))
        // Some servers omit the GSSAPI frame.
        #expect(try SPNEGOToken(Array(initialToken.bytes.dropFirst(10))) == .initial(initialToken))
        let empty = SPNEGOReplyToken(state: nil, token: nil, signature: nil)
        #expect(try SPNEGOToken(empty.bytes) == .reply(empty))
    }

    @Test func everyTruncationIsRejected() {
        for whole in [initialToken.bytes, reply.bytes] {
            for count in 0..<whole.count {
                #expect(throws: HTTPAuthError.self) { try SPNEGOToken(Array(whole[..<count])) }
            }
            #expect(throws: HTTPAuthError.self) { try SPNEGOToken(whole + [0]) }
        }
    }

    /// Windows servers send hints in place of the signature.
    @Test func hints() throws {
        let hint = DERWriter.value(DERTag.generalString, Array("not_defined_in_RFC4178@please_ignore".utf8))
        let contents =
            DERWriter.value(DERTag.context(0), SPNEGOInitialToken.signedList([.negoEx, .kerberosOfMicrosoft]))
            + DERWriter.value(
                DERTag.context(3), DERWriter.value(DERTag.sequence, DERWriter.value(DERTag.context(0), hint)))
        let token = DERWriter.value(DERTag.context(0), DERWriter.value(DERTag.sequence, contents))
        guard case .initial(let read) = try SPNEGOToken(token) else { throw HTTPAuthError(.outOfOrder) }
        #expect(read.hint == "not_defined_in_RFC4178@please_ignore" && read.signature == nil && read.token == nil)
        #expect(read.mechanisms.map(\.description) == ["NegoEx", "Kerberos (Microsoft's number)"])
    }

    @Test(arguments: [
        ("", "missing"), ("a1", "truncated"), ("a180", "length"), ("a18100", "non-minimal"),
        ("a1820005 3003a00300", "non-minimal"),
        ("a185000000000a", "length"), ("a1847fffffff", "truncated"), ("a1ffffffff", "length"),
        ("a1023000 00", "unexpected bytes"),
        ("a1073005a003 0a0104", "negState"), ("a1083006a004 0a020000", "negState"), ("6000", "missing"),
        ("600b06092a864886f712010202", "Kerberos"), ("a0023000", "mechTypes"), ("a106 3004a1020500", "tag 5"),
        ("a1063004a3020400", ""),
    ])
    func broken(_ digits: String, _ reason: String) {
        let error = failure(of: { _ = try SPNEGOToken(bytes(digits)) })
        if reason.isEmpty { #expect(error == nil) } else { #expect(error?.description.contains(reason) == true) }
    }

    @Test func sizesAreBounded() {
        let many = SPNEGOInitialToken(
            mechanisms: Array(repeating: .ntlm, count: SPNEGOInitialToken.maximumMechanisms + 1), token: nil)
        #expect(throws: HTTPAuthError.self) { try SPNEGOToken(many.bytes) }
        let long = SPNEGOReplyToken(
            state: nil, token: Array(repeating: 0, count: SPNEGOToken.maximumByteCount), signature: nil)
        #expect(throws: HTTPAuthError.self) { try SPNEGOToken(long.bytes) }
        let large = SPNEGOReplyToken(state: nil, token: Array(repeating: 0, count: 100_000), signature: nil)
        #expect(throws: Never.self) { try SPNEGOToken(large.bytes) }
    }

    @Test(arguments: [
        (MechanismIdentifier.kerberos, "1.2.840.113554.1.2.2"), (.kerberosOfMicrosoft, "1.2.840.48018.1.2.2"),
        (.ntlm, "1.3.6.1.4.1.311.2.2.10"), (.negoEx, "1.3.6.1.4.1.311.2.2.30"), (.spnego, "1.3.6.1.5.5.2"),
        (MechanismIdentifier(bytes: [0x88, 0x37, 3]), "2.999.3"), (MechanismIdentifier(bytes: []), ""),
        (MechanismIdentifier(bytes: [0x2a] + Array(repeating: 0xff, count: 20)), "1.2…"),
    ])
    func dottedNumbers(_ identifier: MechanismIdentifier, _ text: String) {
        #expect(identifier.dotted == text)
    }

    /// Damaged tokens, identical in every run, are parsed or rejected.
    @Test(arguments: 0..<4)
    func damagedTokens(_ seed: Int) {
        var damage = Damage(seed: UInt64(seed) + 7)
        var read = 0
        for whole in [initialToken.bytes, reply.bytes] {
            for _ in 0..<10_000 {
                guard let token = try? SPNEGOToken(damage.applied(to: whole)) else { continue }
                read += 1
                switch token {
                case .initial(let token): _ = token.mechanisms.map(\.dotted)
                case .reply(let token): _ = token.bytes
                }
            }
        }
        #expect(read > 100 && read < 19_900)
    }
}
