import HTTPAuthTesting
import Testing

@testable import HTTPAuth

/// The example of MS-NLMP section 4.2.4: user `User`, domain `Domain`, password `Password`.
@Suite struct NTLMResponseTests {
    private let challenge = bytes("0123456789abcdef")
    private let clientChallenge = bytes("aaaaaaaaaaaaaaaa")
    private let targetInfo = bytes(
        "02000c0044006f006d00610069006e00 01000c0053006500720076006500720000000000")

    private func key() throws -> [UInt8] {
        try NTHash.responseKey(NTHash.of(password: Secret("Password")), user: "User", domain: "Domain")
    }

    // Parity: HA-046
    @Test("HA-046: the hashes of the specification") func hashes() throws {
        let hash = try NTHash.of(password: Secret("Password"))
        #expect(hexadecimal(hash.withBytes { Array($0) }) == "a4f49c406510bdcab6824ee7c30fd852")
        #expect(hexadecimal(try key()) == "0c868a403bfd7a93a3001ef22ef02e3f")
    }

    @Test func responses() throws {
        let blob = NTLMResponse.blob(time: 0, clientChallenge: clientChallenge, targetInfo: targetInfo)
        let proof = try NTLMResponse.proof(key: try key(), challenge: challenge, blob: blob)
        #expect(hexadecimal(proof) == "68cd0ab851e51c96aabc927bebef6a1c")
        let lanManager = try NTLMResponse.lanManager(
            key: try key(), challenge: challenge, clientChallenge: clientChallenge)
        #expect(hexadecimal(lanManager) == "86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa")
        let sessionKey = try NTLMResponse.sessionKey(key: try key(), proof: proof)
        #expect(hexadecimal(sessionKey) == "8de40ccadbc14a82f15cb0ad0de95ca3")
        var stream = RC4(key: sessionKey)
        #expect(
            hexadecimal(stream.apply(to: Array(repeating: 0x55, count: 16))) == "c5dad2544fc9799094ce1ce90bc9d03e")
    }

    /// Section 4.2.4.4, with a key of 0x55 bytes: the signature with extended session security and key exchange.
    @Test func signs() throws {
        let flags: NTLMFlags = [.extendedSessionSecurity, .keyExchange, .keys128, .sign, .seal]
        let session = NTLMSession(key: Array(repeating: 0x55, count: 16), flags: flags)
        #expect(hexadecimal(try session.signingKey(.client)) == "4788dc861b4782f35d43fd98fe1a2d39")
        #expect(hexadecimal(try session.sealingKey(.client)) == "59f600973cc4960a25480a7c196e4c58")
        // The example encrypts the message first; a signature alone uses the first eight bytes of the stream.
        let text = [UInt8](utf16LittleEndian: "Plaintext")
        let checksum = try NTLMDigests.hmacMD5(key: session.signingKey(.client), [0, 0, 0, 0], text).prefix(8)
        var stream = RC4(key: try session.sealingKey(.client))
        let expected = [1, 0, 0, 0] + stream.apply(to: Array(checksum)) + [0, 0, 0, 0]
        #expect(try session.signature(of: text, by: .client) == expected)
        #expect(try session.signature(of: text, by: .server) != expected)
    }

    // Parity: HA-047
    @Test(
        "HA-047: user names in upper case",
        arguments: [
            ("alice", "ALICE"), ("Zoë", "ZOË"), ("straße", "STRAßE"), ("ŉ", "ŉ"), ("ﬁx", "ﬁX"), ("жук", "ЖУК"),
            ("ÿ", "Ÿ"),
            ("日本", "日本"),
        ])
    func upperCase(_ text: String, _ upper: String) {
        #expect(text.uppercasedByCharacter == upper)
    }

    @Test func passwordsAndHashes() throws {
        let hash = try NTHash.of(password: Secret("Password"))
        guard case .ntHash(let given) = try Credential.Proof.ntHash(hexadecimal: "A4F49C406510bdcab6824ee7c30fd852")
        else { throw HTTPAuthError(.outOfOrder) }
        #expect(given == hash)
        for text in ["", "a4f4", "g4f49c406510bdcab6824ee7c30fd852", String(repeating: "a", count: 33)] {
            #expect(throws: HTTPAuthError.self) { try Credential.Proof.ntHash(hexadecimal: text) }
        }
        #expect(throws: HTTPAuthError.ntlmPasswordTooLong) {
            try NTHash.of(password: Secret(bytes: Array(repeating: 65, count: NTHash.maximumPasswordLength + 1)))
        }
        #expect(throws: HTTPAuthError.self) { try NTHash.of(password: Secret(bytes: [0xff, 0xfe])) }
        #expect(
            hexadecimal(try NTHash.of(password: Secret("")).withBytes { Array($0) })
                == "31d6cfe0d16ae931b73c59d7e0c089c0")
    }
}
