import HTTPAuthTesting
import Testing

@testable import HTTPAuth

@Suite struct AuthenticationTokenTests {
    private let acceptor = NTLMAcceptor()

    private func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }

    private func answer() throws -> [UInt8] {
        let account = try NTLMAccount(user: "alice", domain: nil, proof: .password(Secret("open sesame")))
        let binding = Array("tls-server-end-point:x".utf8)
        var machine = NTLMMachine(account: account, channelBinding: binding, targetName: "HTTP/localhost")
        _ = machine.start()
        return try machine.answer(acceptor.message, time: 0, random: Array(0..<24))
    }

    @Test func ntlm() throws {
        let first = try AuthenticationToken(text: "Authorization: NTLM \(text(NTLMNegotiateMessage.ours.bytes))")
        #expect(first.kind == .ntlmNegotiate && first.description.hasPrefix("NTLM message 1"))
        let second = try AuthenticationToken(text: "NTLM \(text(acceptor.message))").description
        #expect(second.contains("target: PEERS") && second.contains("computer: HOST"))
        let bytes = try answer()
        let third = try AuthenticationToken(text: text(bytes)).description
        #expect(third.contains("user: alice") && third.contains("NTLMv2") && third.contains("integrity code: yes"))
        #expect(third.contains("target service: HTTP/localhost"))
        // The description excludes data that allows password guessing.
        let proof = try NTLMAuthenticateMessage(bytes).ntResponse.prefix(16)
        #expect(!third.contains(String(decoding: Hexadecimal.encode(proof), as: UTF8.self)))
    }

    /// Errors never repeat the input, which may be a password.
    @Test(arguments: [
        ("Authorization: Basic am9lOmh1bnRlcjI=", "the scheme Basic has no tokens"),
        ("am9lOmh1bnRlcjI=", "not an NTLM, SPNEGO or Kerberos token"),
        ("Negotiate am9lOmh1bnRlcjI=", "not an NTLM, SPNEGO or Kerberos token"),
        ("joe:hunter2", "not base 64"), ("", "not base 64"), ("NTLM", "not an NTLM"),
    ])
    func textWithoutToken(_ text: String, _ detail: String) {
        let failure = failure(of: { _ = try AuthenticationToken(text: text) })
        #expect(failure?.code == .malformedToken && failure?.detail?.hasPrefix(detail) == true)
        #expect(failure?.description.contains("am9l") == false && failure?.description.contains("hunter") == false)
    }

    @Test func spnego() throws {
        let initialToken = SPNEGOInitialToken(mechanisms: [.kerberos, .ntlm], token: NTLMNegotiateMessage.ours.bytes)
        let text = try AuthenticationToken(initialToken.bytes).description
        #expect(text.contains("mechanisms: Kerberos, NTLM") && text.contains("    NTLM message 1"))
        let reply = SPNEGOReplyToken(state: .reject, token: initialToken.bytes, signature: [1, 2])
        let refusal = try AuthenticationToken(reply.bytes).description
        #expect(refusal.contains("state: rejected") && refusal.contains("nested SPNEGO"))
        #expect(refusal.contains("signature: 2 bytes"))
    }

    /// RFC 4120 sections 5.5.1 and 5.9.1, in the frame of RFC 4121 section 4.1.
    @Test func kerberos() throws {
        func field(_ number: UInt8, _ contents: [UInt8]) -> [UInt8] {
            DERWriter.value(DERTag.context(number), contents)
        }
        func string(_ text: String) -> [UInt8] { DERWriter.value(DERTag.generalString, Array(text.utf8)) }
        let number = DERWriter.value(DERTag.integer, [5])
        let names = DERWriter.value(DERTag.sequence, string("HTTP") + string("localhost"))
        let ticket = DERWriter.value(
            DERTag.application(1),
            DERWriter.value(
                DERTag.sequence,
                field(0, number) + field(1, string("PEERS.TEST"))
                    + field(2, DERWriter.value(DERTag.sequence, field(0, number) + field(1, names)))))
        let request = DERWriter.value(
            DERTag.application(14),
            DERWriter.value(
                DERTag.sequence, field(0, number) + field(1, number) + field(2, number) + field(3, ticket)))
        let error = DERWriter.value(
            DERTag.application(30),
            DERWriter.value(
                DERTag.sequence,
                field(0, number) + field(4, number) + field(6, DERWriter.value(DERTag.integer, [37]))
                    + field(9, string("PEERS.TEST")) + field(11, string("skew"))))
        func framed(_ kind: UInt8, _ message: [UInt8]) -> [UInt8] {
            let mechanism = DERWriter.value(DERTag.identifier, MechanismIdentifier.kerberos.bytes)
            return DERWriter.value(DERTag.application(0), mechanism + [kind, 0] + message)
        }
        #expect(
            try AuthenticationToken(framed(1, request)).content
                == .kerberos(.request(service: "HTTP/localhost", realm: "PEERS.TEST")))
        #expect(try AuthenticationToken(framed(2, [1, 2, 3])).content == .kerberos(.reply))
        #expect(try AuthenticationToken(framed(3, error)).content == .kerberos(.error(code: 37, text: "skew")))
        #expect(throws: HTTPAuthError.self) { try AuthenticationToken(framed(9, [])) }
        for count in 0..<framed(1, request).count {
            #expect(throws: HTTPAuthError.self) { try AuthenticationToken(Array(framed(1, request)[..<count])) }
        }
        var damage = Damage(seed: 3)
        for whole in [framed(1, request), framed(3, error)] {
            for _ in 0..<10_000 { _ = try? AuthenticationToken(damage.applied(to: whole)).description }
        }
    }

    @Test func others() throws {
        let other = DERWriter.value(
            DERTag.application(0), DERWriter.value(DERTag.identifier, [0x2b, 6, 1]) + [1, 2, 3])
        #expect(try AuthenticationToken(other).description == "Token of mechanism 1.3.6.1, 3 bytes")
        for text in ["", "a b c d", "%%%%", "AAAA"] {
            #expect(throws: HTTPAuthError.self) { try AuthenticationToken(text: text) }
        }
    }
}
