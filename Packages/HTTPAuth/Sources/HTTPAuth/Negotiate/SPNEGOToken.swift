/// A token of SPNEGO, the negotiation inside `Negotiate`.
public enum SPNEGOToken: Hashable, Sendable {
    /// The first token.
    case initial(SPNEGOInitialToken)
    /// A later token.
    case reply(SPNEGOReplyToken)

    /// The maximum size of a token in bytes. Tickets of users in many groups have tens of kilobytes.
    static let maximumByteCount = 128 * 1024

    /// Parses a token. The GSSAPI frame around the first token is optional.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the bytes are not a SPNEGO token in DER, or are longer than
    ///   128 KiB.
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
