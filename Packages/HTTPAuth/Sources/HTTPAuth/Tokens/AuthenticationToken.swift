/// A token of NTLM or Negotiate, read for people: what `netkit token decode` shows.
///
/// ```swift
/// let token = try AuthenticationToken(text: "WWW-Authenticate: NTLM TlRMTVNTUAACAAAA…")
/// print(token)
/// ```
///
/// Nothing that could be used to guess a password is part of the description: of responses and keys it says how long
/// they are.
public enum AuthenticationToken: Hashable, Sendable {
    /// NTLM's first message.
    case ntlmNegotiate(NTLMNegotiateMessage)
    /// NTLM's second message.
    case ntlmChallenge(NTLMChallengeMessage)
    /// NTLM's third message.
    case ntlmAuthenticate(NTLMAuthenticateMessage)
    /// SPNEGO, with a token of a mechanism inside.
    case spnego(SPNEGOToken)
    /// Kerberos without SPNEGO around it.
    case kerberos(KerberosToken)
    /// A token of a mechanism that is not known here.
    case other(MechanismIdentifier, byteCount: Int)

    /// Reads a token by its first bytes.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if it is none of these, or breaks the rules of what it seems to be.
    public init(_ bytes: [UInt8]) throws(HTTPAuthError) {
        switch (NTLMReader.type(of: bytes), bytes.first) {
        case (1, _): self = .ntlmNegotiate(try NTLMNegotiateMessage(bytes))
        case (2, _): self = .ntlmChallenge(try NTLMChallengeMessage(bytes))
        case (3, _): self = .ntlmAuthenticate(try NTLMAuthenticateMessage(bytes))
        case (_, DERTag.application(0)):
            var reader = DERReader(bytes)
            var frame = DERReader(try reader.value(DERTag.application(0), "the frame"))
            let mechanism = MechanismIdentifier(bytes: Array(try frame.value(DERTag.identifier, "the mechanism")))
            if mechanism == .spnego {
                self = .spnego(try SPNEGOToken(bytes))
            } else if mechanism.isKerberos {
                self = .kerberos(try KerberosToken(contents: frame.rest))
            } else {
                self = .other(mechanism, byteCount: frame.rest.count)
            }
        case (_, DERTag.context(1)): self = .spnego(try SPNEGOToken(bytes))
        default:
            throw HTTPAuthError(.malformedToken, detail: "not an NTLM, SPNEGO or Kerberos token")
        }
    }

    /// Reads a token in base 64, with or without the scheme and the field's name before it.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if it is no base 64, or as ``init(_:)`` does.
    public init(text: String) throws(HTTPAuthError) {
        let words = text.split(whereSeparator: \.isWhitespace)
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
    /// A line for each thing that the token says; what is inside another thing is indented.
    public var description: String { TokenDescription.lines(of: self).joined(separator: "\n") }
}
