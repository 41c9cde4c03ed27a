/// A decoded token of NTLM or Negotiate, as `netkit token decode` shows it.
///
/// ```swift
/// let token = try AuthenticationToken(text: "WWW-Authenticate: NTLM TlRMTVNTUAACAAAA…")
/// print(token)
/// ```
///
/// The description contains nothing that helps to guess a password: for responses and keys it gives only the length.
public enum AuthenticationToken: Hashable, Sendable {
    /// The first NTLM message.
    case ntlmNegotiate(NTLMNegotiateMessage)
    /// The second NTLM message.
    case ntlmChallenge(NTLMChallengeMessage)
    /// The third NTLM message.
    case ntlmAuthenticate(NTLMAuthenticateMessage)
    /// A SPNEGO token, with a token of a mechanism inside.
    case spnego(SPNEGOToken)
    /// A Kerberos token without SPNEGO.
    case kerberos(KerberosToken)
    /// A token of an unknown mechanism.
    case other(MechanismIdentifier, byteCount: Int)

    /// Decodes a token. Its first bytes determine the type.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the type is unknown or the token violates its rules.
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

    /// Decodes a token in base 64. The scheme and the field name may precede it.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the text is not base 64, or for the reasons of ``init(_:)``.
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
    /// One line for each part of the token; nested parts are indented.
    public var description: String { TokenDescription.lines(of: self).joined(separator: "\n") }
}
