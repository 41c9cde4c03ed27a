/// A decoded token of NTLM or Negotiate, as `netkit token decode` shows it.
///
/// ```swift
/// let token = try AuthenticationToken(text: "WWW-Authenticate: NTLM TlRMTVNTUAACAAAA…")
/// print(token)
/// ```
///
/// The description contains nothing that helps to guess a password: for responses and keys it gives only the length.
public struct AuthenticationToken: Hashable, Sendable {
    /// The kind of token. The raw values are stable names for scripts.
    @nonexhaustive
    public enum Kind: String, Hashable, Sendable {
        /// The first NTLM message.
        case ntlmNegotiate = "ntlm-negotiate"
        /// The second NTLM message.
        case ntlmChallenge = "ntlm-challenge"
        /// The third NTLM message.
        case ntlmAuthenticate = "ntlm-authenticate"
        /// A SPNEGO token, with a token of a mechanism inside.
        case spnego
        /// A Kerberos token without SPNEGO.
        case kerberos
        /// A token of an unknown mechanism.
        case other
    }

    /// The decoded messages.
    enum Content: Hashable, Sendable {
        case ntlmNegotiate(NTLMNegotiateMessage)
        case ntlmChallenge(NTLMChallengeMessage)
        case ntlmAuthenticate(NTLMAuthenticateMessage)
        case spnego(SPNEGOToken)
        case kerberos(KerberosToken)
        case other(MechanismIdentifier, byteCount: Int)
    }

    let content: Content

    /// The kind of token.
    public var kind: Kind {
        switch content {
        case .ntlmNegotiate: .ntlmNegotiate
        case .ntlmChallenge: .ntlmChallenge
        case .ntlmAuthenticate: .ntlmAuthenticate
        case .spnego: .spnego
        case .kerberos: .kerberos
        case .other: .other
        }
    }

    /// Decodes a token. Its first bytes determine the type.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the type is unknown or the token violates its rules.
    public init(_ bytes: [UInt8]) throws(HTTPAuthError) {
        switch (NTLMReader.type(of: bytes), bytes.first) {
        case (1, _): content = .ntlmNegotiate(try NTLMNegotiateMessage(bytes))
        case (2, _): content = .ntlmChallenge(try NTLMChallengeMessage(bytes))
        case (3, _): content = .ntlmAuthenticate(try NTLMAuthenticateMessage(bytes))
        case (_, DERTag.application(0)):
            var reader = DERReader(bytes)
            var frame = DERReader(try reader.value(DERTag.application(0), "the frame"))
            let mechanism = MechanismIdentifier(bytes: Array(try frame.value(DERTag.identifier, "the mechanism")))
            if mechanism == .spnego {
                content = .spnego(try SPNEGOToken(bytes))
            } else if mechanism.isKerberos {
                content = .kerberos(try KerberosToken(contents: frame.rest))
            } else {
                content = .other(mechanism, byteCount: frame.rest.count)
            }
        case (_, DERTag.context(1)): content = .spnego(try SPNEGOToken(bytes))
        default:
            throw HTTPAuthError(.malformedToken, detail: "not an NTLM, SPNEGO or Kerberos token")
        }
    }

    /// Decodes a token in base 64. The scheme and the field name may precede it.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the text is not base 64, or for the reasons of ``init(_:)``.
    public init(text: String) throws(HTTPAuthError) {
        let words = text.utf8.split { $0 == 0x20 || (0x09...0x0D).contains($0) }.map { Substring($0) }
        if words.count > 1, let scheme = words.dropLast().last,
            !["ntlm", "negotiate", "kerberos"].contains(scheme.lowercased())
        {
            throw HTTPAuthError(.malformedToken, detail: "the scheme \(scheme) has no tokens")
        }
        guard let last = words.last, words.count <= 3, let bytes = Base64.decode(last) else {
            throw HTTPAuthError(.malformedToken, detail: "not base 64")
        }
        try self.init(bytes)
    }
}

extension AuthenticationToken: CustomStringConvertible {
    /// One line for each part of the token; nested parts are indented.
    public var description: String { TokenDescription.lines(of: self).joined(separator: "\n") }
}

/// Describes tokens as lines of text.
private enum TokenDescription {
    static func lines(of token: AuthenticationToken) -> [String] {
        switch token.content {
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
        if case .spnego = inside.content { return ["  token: \(token.count) bytes of nested SPNEGO"] }
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

/// The unencrypted part of a Kerberos token: its type, and the service of a ticket (RFC 4121 section 4.1).
enum KerberosToken: Hashable, Sendable {
    /// The client's ticket (AP-REQ), with its service and realm.
    case request(service: String, realm: String)
    /// The server's proof (AP-REP).
    case reply
    /// The server's error (KRB-ERROR), with its code (RFC 4120 section 7.5.9) and text.
    case error(code: Int, text: String?)

    /// Decodes the GSSAPI frame's contents after the mechanism: a two-byte token type and the message.
    init(contents: ArraySlice<UInt8>) throws(HTTPAuthError) {
        var reader = DERReader(contents.dropFirst(2))
        switch Array(contents.prefix(2)) {
        case [1, 0]:
            var fields = DERReader(try reader.value(DERTag.application(14), "AP-REQ"))
            var request = DERReader(try fields.value(DERTag.sequence, "AP-REQ"))
            try request.skip(through: 2)
            var outer = DERReader(try request.value(DERTag.context(3), "the ticket"))
            var ticket = DERReader(try outer.value(DERTag.application(1), "the ticket"))
            var parts = DERReader(try ticket.value(DERTag.sequence, "the ticket"))
            try parts.skip(through: 0)
            let realm = try parts.optional(DERTag.context(1), DERTag.generalString, "the realm") ?? []
            let service = try parts.optional(DERTag.context(2), DERTag.sequence, "the service") ?? []
            self = .request(
                service: try KerberosToken.name(service), realm: String(decoding: realm, as: UTF8.self))
        case [2, 0]: self = .reply
        case [3, 0]:
            var fields = DERReader(try reader.value(DERTag.application(30), "KRB-ERROR"))
            var error = DERReader(try fields.value(DERTag.sequence, "KRB-ERROR"))
            try error.skip(through: 5)
            let code = try error.optional(DERTag.context(6), DERTag.integer, "the error code") ?? []
            try error.skip(through: 10)
            let text = try error.optional(DERTag.context(11), DERTag.generalString, "the error text")
            self = .error(
                code: code.prefix(4).reduce(0) { $0 << 8 | Int($1) },
                text: text.map { String(decoding: $0, as: UTF8.self) })
        default: throw .spnego("unknown Kerberos token type")
        }
    }

    /// Returns the components of a name, separated by slashes.
    private static func name(_ bytes: ArraySlice<UInt8>) throws(HTTPAuthError) -> String {
        var reader = DERReader(bytes)
        try reader.skip(through: 0)
        var list = DERReader(try reader.optional(DERTag.context(1), DERTag.sequence, "the name") ?? [])
        var parts: [String] = []
        while !list.isAtEnd {
            parts.append(String(decoding: try list.value(DERTag.generalString, "a name component"), as: UTF8.self))
        }
        return parts.joined(separator: "/")
    }
}

extension DERReader {
    /// Skips the context-tagged fields up to and including this number.
    fileprivate mutating func skip(through number: UInt8) throws(HTTPAuthError) {
        while let tag = nextTag, tag & 0xe0 == 0xa0, tag <= DERTag.context(number) { _ = try value(tag, "a field") }
    }
}
