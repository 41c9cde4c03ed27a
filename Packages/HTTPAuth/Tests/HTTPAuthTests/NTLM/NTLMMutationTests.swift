import Testing

@testable import HTTPAuth

/// Damaged challenges, identical in every run: the client throws, or sends a well-formed response.
@Suite struct NTLMMutationTests {
    @Test(arguments: 0..<8)
    func damagedChallenges(_ seed: Int) throws {
        var damage = Damage(seed: UInt64(seed) + 1)
        let account = try NTLMAccount(user: "alice", domain: nil, proof: .password(Secret("open sesame")))
        var acceptor = NTLMAcceptor()
        acceptor.values += [(.dnsTreeName, Array(utf16LittleEndian: "peers.test")), (.flags, [0, 0, 0, 0])]
        let message = acceptor.message
        var answered = 0
        for _ in 0..<4000 {
            let damaged = damage.applied(to: message)
            var machine = NTLMMachine(account: account, channelBinding: nil, targetName: "HTTP/localhost")
            _ = machine.start()
            guard let answer = try? machine.answer(damaged, time: 0, random: Array(repeating: 1, count: 24)) else {
                continue
            }
            answered += 1
            #expect(answer.count < 2 * NTLMReader.maximumByteCount)
            let read = try NTLMAuthenticateMessage(answer)
            #expect(read.targetInfo?.hasMIC == true && read.mic != nil)
        }
        // Both outcomes must occur often, or the amount of damage is wrong.
        #expect(answered > 100 && answered < 3900)
    }

    @Test func damagedOthers() throws {
        var damage = Damage(seed: 99)
        let third = NTLMAuthenticateMessage(
            flags: [.unicode, .version], domain: "PEERS", user: "alice", workstation: "PC",
            lmResponse: Array(repeating: 1, count: 24), ntResponse: Array(repeating: 2, count: 90),
            encryptedSessionKey: Array(repeating: 3, count: 16), version: .ours, mic: Array(repeating: 4, count: 16))
        for message in [third.bytes, NTLMNegotiateMessage.ours.bytes] {
            for _ in 0..<8000 {
                let damaged = damage.applied(to: message)
                _ = try? NTLMNegotiateMessage(damaged)
                if let read = try? NTLMAuthenticateMessage(damaged) { _ = (read.targetInfo, read.bytes) }
            }
        }
    }
}
