@testable internal import HTTPAuth

extension FuzzTarget {
    /// Tokens of SPNEGO and Kerberos, as `netkit token decode` shows them and as the negotiation takes them.
    static let spnego = FuzzTarget(name: "spnego") { bytes in
        _ = try? AuthenticationToken(bytes).description
        _ = try? SPNEGOToken(bytes)
        _ = try? KerberosToken(contents: bytes[...])
        // Replies to an opening that offers NTLM alone: all that a server can send there is its own.
        guard let account = try? NTLMAccount(user: "alice", domain: nil, proof: .password(Secret("open sesame"))) else {
            preconditionFailure("a plain account")
        }
        let ntlm = NTLMMachine(account: account, channelBinding: nil, targetName: "HTTP/localhost")
        let random = [UInt8](repeating: 1, count: NTLMMachine.randomByteCount)
        var machine = SPNEGOMachine([NTLMMechanism(ntlm, time: 0, random: random)])
        guard (try? machine.start()) != nil else { preconditionFailure("an opening") }
        guard (try? machine.receive(bytes)) != nil else { return }
        _ = try? machine.receive(bytes)
    }
}
