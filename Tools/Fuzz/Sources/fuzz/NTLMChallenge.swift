@testable internal import HTTPAuth

extension FuzzTarget {
    /// NTLM's second message, and the third that answers it.
    static let ntlmChallenge = FuzzTarget(name: "ntlm-challenge") { bytes in
        if let message = try? NTLMChallengeMessage(bytes) {
            _ = (message.targetName, message.targetInfo.map { "\($0)" })
        }
        _ = try? AuthenticationToken(bytes).description
        guard let account = try? NTLMAccount(user: "alice", domain: nil, proof: .password(Secret("open sesame"))) else {
            preconditionFailure("a plain account")
        }
        var machine = NTLMMachine(
            account: account, channelBinding: Array("tls-server-end-point:x".utf8), targetName: "HTTP/localhost")
        _ = machine.start()
        let random = [UInt8](repeating: 1, count: NTLMMachine.randomByteCount)
        guard let answer = try? machine.answer(bytes, time: 0, random: random) else { return }
        guard let read = try? NTLMAuthenticateMessage(answer) else { preconditionFailure("our own message") }
        precondition(read.targetInfo?.hasMIC == true && read.mic != nil)
    }
}
