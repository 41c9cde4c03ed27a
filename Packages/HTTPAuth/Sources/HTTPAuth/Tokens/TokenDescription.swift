/// Describes tokens as lines of text.
enum TokenDescription {
    static func lines(of token: AuthenticationToken) -> [String] {
        switch token {
        case .ntlmNegotiate(let message): lines(of: message)
        case .ntlmChallenge(let message): lines(of: message)
        case .ntlmAuthenticate(let message): lines(of: message)
        case .spnego(.initial(let token)): lines(of: token)
        case .spnego(.reply(let token)): lines(of: token)
        case .kerberos(let token): [line(of: token)]
        case .other(let mechanism, let count): ["Token of mechanism \(mechanism), \(count) bytes"]
        }
    }

    private static func lines(of message: NTLMNegotiateMessage) -> [String] {
        ["NTLM message 1: negotiate", "  flags: \(message.flags)"]
            + named("domain", message.domain) + named("workstation", message.workstation)
            + named("version", message.version?.description)
    }

    private static func lines(of message: NTLMChallengeMessage) -> [String] {
        ["NTLM message 2: challenge", "  target: \(message.targetName)", "  flags: \(message.flags)"]
            + named("version", message.version?.description) + lines(of: message.targetInfo)
    }

    private static func lines(of message: NTLMAuthenticateMessage) -> [String] {
        let version = message.ntResponse.count > 24 ? "NTLMv2" : message.ntResponse.isEmpty ? "anonymous" : "NTLMv1"
        return ["NTLM message 3: authenticate", "  user: \(message.user)"]
            + named("domain", message.domain) + named("workstation", message.workstation)
            + [
                "  response: \(version), \(message.ntResponse.count) bytes (not shown: it would allow password guessing)",
                "  integrity code: \(message.mic == nil ? "no" : "yes")", "  flags: \(message.flags)",
            ]
            + named("version", message.version?.description) + lines(of: message.targetInfo)
    }

    private static func lines(of info: NTLMTargetInfo?) -> [String] {
        guard let info else { return [] }
        return ["  target information:"]
            + info.values.map { value in "    \(name(value.identifier)): \(text(value.identifier, value.bytes, info))" }
    }

    private static func name(_ identifier: NTLMTargetInfo.Identifier) -> String {
        switch identifier {
        case .computerName: "computer"
        case .domainName: "domain"
        case .dnsComputerName: "DNS computer"
        case .dnsDomainName: "DNS domain"
        case .dnsTreeName: "DNS forest"
        case .flags: "flags"
        case .timestamp: "time"
        case .singleHost: "client machine"
        case .targetName: "target service"
        case .channelBindings: "channel binding"
        default: "value \(identifier.rawValue)"
        }
    }

    private static func text(
        _ identifier: NTLMTargetInfo.Identifier, _ bytes: [UInt8], _ info: NTLMTargetInfo
    ) -> String {
        switch identifier {
        case .computerName, .domainName, .dnsComputerName, .dnsDomainName, .dnsTreeName, .targetName:
            return bytes.utf16LittleEndianText
        case .flags: return "0x\(String(info.flags, radix: 16))\(info.hasMIC ? ", integrity code present" : "")"
        case .timestamp:
            let seconds = info.timestamp.flatMap(FileTime.unixNanoseconds).map { $0 / 1_000_000_000 }
            return seconds.map { "\($0) seconds since 1970" } ?? "out of range"
        case .channelBindings:
            return bytes.allSatisfy { $0 == 0 } ? "none" : String(decoding: Hexadecimal.encode(bytes), as: UTF8.self)
        default: return "\(bytes.count) bytes"
        }
    }

    private static func lines(of token: SPNEGOInitialToken) -> [String] {
        ["SPNEGO: initial token"]
            + ["  mechanisms: \(token.mechanisms.map(\.description).joined(separator: ", "))"]
            + named("hint", token.hint) + named("signature", token.signature.map { "\($0.count) bytes" })
            + inner(token.token)
    }

    private static func lines(of token: SPNEGOReplyToken) -> [String] {
        let state: String? =
            switch token.state {
            case .acceptCompleted: "accepted, complete"
            case .acceptIncomplete: "accepted, incomplete"
            case .reject: "rejected"
            case .requestSignature: "accepted, incomplete, signature requested"
            case nil: nil
            }
        return ["SPNEGO: reply token"] + named("state", state) + named("mechanism", token.mechanism?.description)
            + named("signature", token.signature.map { "\($0.count) bytes" }) + inner(token.token)
    }

    private static func inner(_ token: [UInt8]?) -> [String] {
        guard let token else { return [] }
        guard let inside = try? AuthenticationToken(token) else {
            return ["  token: \(token.count) bytes in an unknown format"]
        }
        // Nested SPNEGO is not valid, and decoding it would let a message nest as deeply as it is long.
        if case .spnego = inside { return ["  token: \(token.count) bytes of nested SPNEGO"] }
        return ["  token:"] + lines(of: inside).map { "    \($0)" }
    }

    private static func line(of token: KerberosToken) -> String {
        switch token {
        case .request(let service, let realm): "Kerberos: ticket for \(service)@\(realm)"
        case .reply: "Kerberos: server proof"
        case .error(let code, let text): "Kerberos: error \(code)\(text.map { ", \($0)" } ?? "")"
        }
    }

    private static func named(_ name: String, _ value: String?) -> [String] {
        value.map { $0.isEmpty ? [] : ["  \(name): \($0)"] } ?? []
    }
}
