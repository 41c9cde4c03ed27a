import HTTPAuthTesting
import Testing

@testable import HTTPAuth

@Suite struct SPNEGOMachineTests {
    private func reply(
        _ state: SPNEGOReplyToken.State?, _ mechanism: MechanismIdentifier? = nil, token: [UInt8]? = nil,
        signature: [UInt8]? = nil
    ) -> [UInt8] {
        SPNEGOReplyToken(state: state, mechanism: mechanism, token: token, signature: signature).bytes
    }

    private func sent(_ bytes: [UInt8]?) throws -> SPNEGOReplyToken? {
        guard let bytes, case .reply(let token) = try SPNEGOToken(bytes) else { return nil }
        return token
    }

    private func list(_ mechanisms: MechanismIdentifier...) -> [UInt8] { SPNEGOInitialToken.signedList(mechanisms) }

    @Test func oneLeg() throws {
        let kerberos = ScriptedMechanism(.kerberos, [1], nil)
        var machine = SPNEGOMachine([kerberos])
        #expect(
            try SPNEGOToken(try machine.start()) == .initial(SPNEGOInitialToken(mechanisms: [.kerberos], token: [1])))
        #expect(try machine.receive(reply(.acceptCompleted, .kerberosOfMicrosoft, token: [2])) == nil)
        #expect(machine.isComplete && kerberos.received == [nil, [2]])
    }

    @Test func twoLegs() throws {
        let ntlm = ScriptedMechanism(.ntlm, [1], [3])
        ntlm.alwaysSigns = true
        var machine = SPNEGOMachine([ntlm])
        _ = try machine.start()
        let answer = try sent(try machine.receive(reply(.acceptIncomplete, .ntlm, token: [2])))
        #expect(
            answer
                == SPNEGOReplyToken(
                    state: .acceptIncomplete, token: [3], signature: [ScriptedMechanism.clientKey] + list(.ntlm)))
        let proof = [ScriptedMechanism.serverKey] + list(.ntlm)
        #expect(try machine.receive(reply(.acceptCompleted, signature: proof)) == nil)
        #expect(machine.isComplete && machine.isServerProven)
    }

    /// If the server chooses the second mechanism, both sides must sign the list, because it may have been shortened.
    @Test func secondChoiceIsSigned() throws {
        let ntlm = ScriptedMechanism(.ntlm, [4], [5])
        var machine = SPNEGOMachine([ScriptedMechanism(.kerberos, [1], nil), ntlm])
        _ = try machine.start()
        let first = try sent(try machine.receive(reply(.requestSignature, .ntlm)))
        #expect(first?.token == [4] && first?.signature == nil)
        let second = try sent(try machine.receive(reply(.acceptIncomplete, token: [6])))
        #expect(second?.signature == [ScriptedMechanism.clientKey] + list(.kerberos, .ntlm))
        #expect(machine.mechanism == .ntlm)
        var unsigned = machine
        let error = failure(of: { _ = try unsigned.receive(reply(.acceptCompleted)) })
        #expect(error?.code == .serverNotAuthentic)
        let proof = [ScriptedMechanism.serverKey] + list(.kerberos, .ntlm)
        #expect(try machine.receive(reply(.acceptCompleted, signature: proof)) == nil)
    }

    @Test func shortenedListIsDetected() throws {
        var machine = SPNEGOMachine([ScriptedMechanism(.kerberos, [1]), ScriptedMechanism(.ntlm, [4], [5])])
        _ = try machine.start()
        _ = try machine.receive(reply(.requestSignature, .ntlm))
        _ = try machine.receive(reply(.acceptIncomplete, token: [6]))
        let forged = [ScriptedMechanism.serverKey] + list(.ntlm)
        #expect(
            failure(of: { _ = try machine.receive(reply(.acceptCompleted, signature: forged)) })?.code
                == .serverNotAuthentic)
        #expect(failure(of: { _ = try machine.receive(reply(.acceptCompleted)) })?.code == .outOfOrder)
    }

    @Test func mechanismThatWasNotOffered() throws {
        var machine = SPNEGOMachine([ScriptedMechanism(.kerberos, [1], nil)])
        _ = try machine.start()
        let error = failure(of: { _ = try machine.receive(reply(.acceptIncomplete, .ntlm)) })
        #expect(error?.code == .loginRefused && error?.description.contains("NTLM") == true)
    }

    @Test func firstUsableMechanism() throws {
        let missing = HTTPAuthError(.ticketMissing)
        let ntlm = ScriptedMechanism(.ntlm, [1], [2])
        var machine = SPNEGOMachine([ScriptedMechanism(.kerberos, nil, failure: missing), ntlm])
        #expect(
            try SPNEGOToken(try machine.start()) == .initial(SPNEGOInitialToken(mechanisms: [.ntlm], token: [1])))
        var none = SPNEGOMachine([ScriptedMechanism(.kerberos, nil, failure: missing)])
        #expect(throws: missing) { try none.start() }
        #expect(failure(of: { _ = try none.start() })?.code == .outOfOrder)
    }

    @Test func rejection() throws {
        var machine = SPNEGOMachine([ScriptedMechanism(.kerberos, [1], nil)])
        _ = try machine.start()
        #expect(failure(of: { _ = try machine.receive(reply(.reject)) })?.code == .loginRefused)
        // The mechanism finds the reason in the token.
        let kerberos = ScriptedMechanism(.kerberos, [1], nil)
        var other = SPNEGOMachine([kerberos])
        _ = try other.start()
        #expect(failure(of: { _ = try other.receive(reply(.reject, .kerberos, token: [8])) })?.code == .loginRefused)
        #expect(kerberos.received.last == [8])
    }

    @Test func invalidReplies() throws {
        func afterInitialToken(_ replies: [UInt8]...) -> HTTPAuthError.Code? {
            var machine = SPNEGOMachine([
                ScriptedMechanism(.kerberos, [1], nil), ScriptedMechanism(.ntlm, [4], [5], [6]),
            ])
            return failure(of: {
                _ = try machine.start()
                for reply in replies { _ = try machine.receive(reply) }
            })?.code
        }
        // A token for the first mechanism after the second was chosen, another mechanism later, and a reply after the
        // end.
        #expect(afterInitialToken(reply(.acceptIncomplete, .ntlm, token: [1])) == .malformedToken)
        #expect(
            afterInitialToken(reply(.acceptIncomplete, .ntlm), reply(.acceptIncomplete, .kerberos)) == .malformedToken)
        #expect(afterInitialToken(reply(.acceptCompleted, token: [1]), reply(.acceptCompleted)) == .outOfOrder)
        // No token and nothing to wait for, an early signature, an initial token, and invalid bytes.
        #expect(afterInitialToken(reply(.acceptIncomplete, .kerberos, token: [1])) == .malformedToken)
        #expect(
            afterInitialToken(reply(.acceptIncomplete, .ntlm, signature: [1])) == .malformedToken)
        #expect(afterInitialToken(SPNEGOInitialToken(mechanisms: [.ntlm], token: nil).bytes) == .malformedToken)
        #expect(afterInitialToken([1, 2, 3]) == .malformedToken)
    }

    @Test func roundsAreBounded() throws {
        let answers = ScriptedMechanism(.kerberos, [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1])
        var machine = SPNEGOMachine([answers])
        _ = try machine.start()
        for _ in 0..<SPNEGOMachine.maximumRounds { _ = try machine.receive(reply(.acceptIncomplete, token: [1])) }
        #expect(failure(of: { _ = try machine.receive(reply(.acceptIncomplete, token: [1])) })?.code == .tooManyRounds)
    }

    /// With NTLM inside, both signatures are verified against the server side.
    @Test func ntlmInside() throws {
        let acceptor = NTLMAcceptor()
        let account = try NTLMAccount(user: "alice", domain: nil, proof: .password(Secret("open sesame")))
        let ntlm = NTLMMechanism(
            NTLMMachine(account: account, channelBinding: nil, targetName: "HTTP/localhost"), time: 0,
            random: Array(0..<24))
        var machine = SPNEGOMachine([ntlm])
        guard case .initial(let initialToken) = try SPNEGOToken(try machine.start()) else {
            throw HTTPAuthError(.outOfOrder)
        }
        let reply = try machine.receive(self.reply(.acceptIncomplete, .ntlm, token: acceptor.message))
        let answer = try #require(try sent(reply))
        let third = try #require(answer.token)
        let first = try #require(initialToken.token)
        let key = try #require(try acceptor.accept(third, first: first, password: "open sesame"))
        let session = NTLMSession(key: key, flags: try NTLMAuthenticateMessage(third).flags)
        #expect(answer.signature == (try session.signature(of: list(.ntlm), by: .client)))
        var forged = machine
        let own = try session.signature(of: list(.ntlm), by: .client)
        #expect(
            failure(of: { _ = try forged.receive(self.reply(.acceptCompleted, signature: own)) })?.code
                == .serverNotAuthentic)
        let proof = try session.signature(of: list(.ntlm), by: .server)
        #expect(try machine.receive(self.reply(.acceptCompleted, signature: proof)) == nil)
        #expect(machine.isServerProven)
    }
}
