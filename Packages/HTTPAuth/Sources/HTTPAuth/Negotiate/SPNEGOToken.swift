/// A token of SPNEGO, the negotiation within `Negotiate`.
public enum SPNEGOToken: Hashable, Sendable {
    /// The opening.
    case initial(SPNEGOInitialToken)
    /// Every other.
    case reply(SPNEGOReplyToken)

    /// The largest token that is read. Tickets with many group memberships have tens of kilobytes.
    static let maximumByteCount = 128 * 1024

    /// Reads a token, with GSSAPI's frame around an opening or without.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if it is none, or not in DER, or has more than 128 KiB.
    public init(_ bytes: [UInt8]) throws(HTTPAuthError) {
        guard bytes.count <= SPNEGOToken.maximumByteCount else {
            throw .spnego("\(bytes.count) bytes exceed the limit")
        }
        var reader = DERReader(bytes)
        switch reader.nextTag {
        case DERTag.application(0):
            var frame = DERReader(try reader.value(DERTag.application(0), "the frame"))
            try reader.end("the frame")
            let mechanism = MechanismIdentifier(bytes: Array(try frame.value(DERTag.identifier, "the mechanism")))
            guard mechanism == .spnego else { throw .spnego("the token is for \(mechanism), not SPNEGO") }
            self = .initial(try SPNEGOInitialToken(contents: try frame.value(DERTag.context(0), "NegTokenInit")))
            try frame.end("NegTokenInit")
        case DERTag.context(0):
            self = .initial(try SPNEGOInitialToken(contents: try reader.value(DERTag.context(0), "NegTokenInit")))
            try reader.end("NegTokenInit")
        default:
            self = .reply(try SPNEGOReplyToken(contents: try reader.value(DERTag.context(1), "NegTokenResp")))
            try reader.end("NegTokenResp")
        }
    }
}
