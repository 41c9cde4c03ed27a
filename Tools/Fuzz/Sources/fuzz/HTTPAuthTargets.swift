internal import Foundation
internal import HTTPMessage

@testable internal import CredentialStores
@testable internal import HTTPAuth

extension FuzzTarget {
    /// `WWW-Authenticate` fields, one per line of the input, up to the credentials of the next request.
    static let challenges = FuzzTarget(name: "challenges") { bytes in
        guard var response = try? HTTPResponse(status: .unauthorized),
            let url = URL(string: "https://www.test/"), var request = try? HTTPRequest(method: .get, url: url)
        else { preconditionFailure("the messages are valid") }
        for line in bytes.split(separator: 10) {
            try? response.fields.append(rawValue: Array(line), for: .wwwAuthenticate)
        }
        let limits = AuthenticationLimits.default
        let found = ChallengeParser().parse(response)
        precondition(found.challenges.count <= limits.challengeCount)
        precondition(found.challenges.allSatisfy { $0.parameters.count <= limits.parameterCount })
        precondition(found == ChallengeParser().parse(response))
        _ = try? ChallengeParser().parseParameters(bytes)

        let space = ProtectionSpace(.origin, scheme: "https", host: "www.test", port: 443)
        var policy = AuthenticationPolicy()
        policy.methods = [.ntlm, .digest, .basic]
        guard let authentication = HTTPAuthentication(response: response, from: space, policy: policy) else {
            preconditionFailure("a 401 starts authentication")
        }
        _ = (authentication.explain().description, authentication.domains, authentication.realm)
        for _ in 0..<3 {
            guard authentication.isValid,
                (try? authentication.apply(to: &request, user: "joe", password: "secret")) != nil
            else { return }
            precondition(request.fields[.authorization]?.contains("secret") != true)
            _ = try? authentication.update(with: response, to: request)
        }
    }

    /// NTLM challenge messages, and the authenticate messages that answer them.
    static let ntlmChallenge = FuzzTarget(name: "ntlm-challenge") { bytes in
        if let message = try? NTLMChallengeMessage(bytes) {
            _ = (message.targetName, message.targetInfo.map { "\($0)" })
        }
        _ = try? AuthenticationToken(bytes).description
        guard let account = try? NTLMAccount(user: "alice", domain: nil, proof: .password(Secret("open sesame"))) else {
            preconditionFailure("the account is valid")
        }
        var machine = NTLMMachine(
            account: account, channelBinding: Array("tls-server-end-point:x".utf8), targetName: "HTTP/localhost")
        _ = machine.start()
        let random = [UInt8](repeating: 1, count: NTLMMachine.randomByteCount)
        guard let answer = try? machine.answer(bytes, time: 0, random: random) else { return }
        guard let read = try? NTLMAuthenticateMessage(answer) else {
            preconditionFailure("our own message must decode")
        }
        precondition(read.targetInfo?.hasMIC == true && read.mic != nil)
    }

    /// SPNEGO and Kerberos tokens, as decoded by `netkit token decode` and by the negotiation.
    static let spnego = FuzzTarget(name: "spnego") { bytes in
        _ = try? AuthenticationToken(bytes).description
        _ = try? SPNEGOToken(bytes)
        _ = try? KerberosToken(contents: bytes[...])
        // Replies to an initial token that offers only NTLM, so that the input is the only data that the server controls.
        guard let account = try? NTLMAccount(user: "alice", domain: nil, proof: .password(Secret("open sesame"))) else {
            preconditionFailure("the account is valid")
        }
        let ntlm = NTLMMachine(account: account, channelBinding: nil, targetName: "HTTP/localhost")
        let random = [UInt8](repeating: 1, count: NTLMMachine.randomByteCount)
        var machine = SPNEGOMachine([NTLMMechanism(ntlm, time: 0, random: random)])
        guard (try? machine.start()) != nil else { preconditionFailure("the initial token is valid") }
        guard (try? machine.receive(bytes)) != nil else { return }
        _ = try? machine.receive(bytes)
    }

    /// D-Bus messages: a decoded message can be encoded, and decodes to the same message again.
    static let busMessages = FuzzTarget(name: "bus-messages") { bytes in
        if bytes.count >= DBusMessage.prefixCount {
            _ = try? DBusMessage.length(ofPrefix: Array(bytes[..<DBusMessage.prefixCount]))
        }
        guard let message = try? DBusMessage.decode(bytes) else { return }
        let again = message.encoded()
        guard again.count <= DBusMessage.maximumSize else { return }
        precondition((try? DBusMessage.decode(again)) == message)
    }
}
