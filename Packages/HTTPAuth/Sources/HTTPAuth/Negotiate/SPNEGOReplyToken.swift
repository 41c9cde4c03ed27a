/// A later SPNEGO token of either side: the state and a token of the chosen mechanism (RFC 4178 section 4.2.2).
public struct SPNEGOReplyToken: Hashable, Sendable {
    /// The state of the negotiation.
    public enum State: UInt8, Hashable, Sendable, CaseIterable {
        /// The negotiation is complete.
        case acceptCompleted = 0
        /// More tokens follow.
        case acceptIncomplete = 1
        /// The negotiation was rejected.
        case reject = 2
        /// More tokens follow, and both sides must sign the mechanism list.
        case requestSignature = 3
    }

    /// The state of the negotiation; nil if the token does not contain it.
    public let state: State?
    /// The mechanism that the server chose; only in its first token.
    public let mechanism: MechanismIdentifier?
    /// The next token of the mechanism; nil if there is none.
    public let token: [UInt8]?
    /// The signature of the mechanism list; nil if there is none.
    public let signature: [UInt8]?

    init(state: State?, mechanism: MechanismIdentifier? = nil, token: [UInt8]?, signature: [UInt8]?) {
        self.state = state
        self.mechanism = mechanism
        self.token = token
        self.signature = signature
    }

    /// Parses the contents of the token, inside its tag.
    init(contents: ArraySlice<UInt8>) throws(HTTPAuthError) {
        var outer = DERReader(contents)
        var reader = DERReader(try outer.value(DERTag.sequence, "NegTokenResp"))
        try outer.end("NegTokenResp")
        var state: State?
        if let value = try reader.optional(DERTag.context(0), DERTag.enumerated, "negState") {
            guard value.count == 1, let number = value.first, let known = State(rawValue: number) else {
                throw .spnego("unknown negState")
            }
            state = known
        }
        self.state = state
        mechanism = try reader.optional(DERTag.context(1), DERTag.identifier, "supportedMech").map {
            MechanismIdentifier(bytes: Array($0))
        }
        token = try reader.optional(DERTag.context(2), DERTag.octetString, "responseToken").map { Array($0) }
        signature = try reader.optional(DERTag.context(3), DERTag.octetString, "mechListMIC").map { Array($0) }
        try reader.end("NegTokenResp")
    }

    /// The encoded token.
    var bytes: [UInt8] {
        var contents: [UInt8] = []
        if let state {
            contents += DERWriter.value(
                DERTag.context(0), DERWriter.value(DERTag.enumerated, [state.rawValue]))
        }
        if let mechanism {
            contents += DERWriter.value(
                DERTag.context(1), DERWriter.value(DERTag.identifier, mechanism.bytes))
        }
        if let token {
            contents += DERWriter.value(DERTag.context(2), DERWriter.value(DERTag.octetString, token))
        }
        if let signature {
            contents += DERWriter.value(DERTag.context(3), DERWriter.value(DERTag.octetString, signature))
        }
        return DERWriter.value(DERTag.context(1), DERWriter.value(DERTag.sequence, contents))
    }
}
