/// A token of SPNEGO, the negotiation inside `Negotiate`.
enum SPNEGOToken: Hashable, Sendable {
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
    init(_ bytes: [UInt8]) throws(HTTPAuthError) {
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

/// The first SPNEGO token: the mechanisms of a side and, optionally, a token of the first one (RFC 4178 section 4.2.1).
struct SPNEGOInitialToken: Hashable, Sendable {
    /// The supported mechanisms, in order of preference.
    let mechanisms: [MechanismIdentifier]
    /// The first token of the first mechanism; nil if there is none.
    let token: [UInt8]?
    /// The hint that Windows servers send in place of a name; it is always the same.
    let hint: String?
    /// The signature of the mechanism list; nil if there is none.
    let signature: [UInt8]?

    init(mechanisms: [MechanismIdentifier], token: [UInt8]?) {
        self.mechanisms = mechanisms
        self.token = token
        hint = nil
        signature = nil
    }

    /// Parses the contents of the token, inside its tag.
    init(contents: ArraySlice<UInt8>) throws(HTTPAuthError) {
        var outer = DERReader(contents)
        var reader = DERReader(try outer.value(DERTag.sequence, "NegTokenInit"))
        try outer.end("NegTokenInit")
        guard let list = try reader.optional(DERTag.context(0), DERTag.sequence, "mechTypes") else {
            throw .spnego("mechTypes is missing")
        }
        var found: [MechanismIdentifier] = []
        var entries = DERReader(list)
        while !entries.isAtEnd {
            guard found.count < SPNEGOInitialToken.maximumMechanisms else { throw .spnego("too many mechanisms") }
            found.append(MechanismIdentifier(bytes: Array(try entries.value(DERTag.identifier, "a mechanism"))))
        }
        mechanisms = found
        // The request flags are obsolete.
        _ = try reader.optional(DERTag.context(1), DERTag.bitString, "reqFlags")
        token = try reader.optional(DERTag.context(2), DERTag.octetString, "mechToken").map { Array($0) }
        // MS-SPNG section 2.2.1 sends hints under the tag that RFC 4178 uses for the signature, and the signature under
        // the next tag.
        var hint: String?
        var signature: [UInt8]?
        if let contents = try reader.optional(DERTag.context(3), "mechListMIC") {
            var inner = DERReader(contents)
            if inner.nextTag == DERTag.sequence {
                var hints = DERReader(try inner.value(DERTag.sequence, "negHints"))
                hint = try hints.optional(DERTag.context(0), DERTag.generalString, "hintName").map {
                    String(decoding: $0, as: UTF8.self)
                }
            } else {
                signature = Array(try inner.value(DERTag.octetString, "mechListMIC"))
            }
            try inner.end("mechListMIC")
        }
        if signature == nil {
            signature = try reader.optional(DERTag.context(4), DERTag.octetString, "mechListMIC").map { Array($0) }
        }
        try reader.end("NegTokenInit")
        self.hint = hint
        self.signature = signature
    }

    /// The maximum number of mechanisms in a list; no system has as many.
    static let maximumMechanisms = 32

    /// The mechanism list in the encoding that is signed (RFC 4178 section 4.1).
    var signedList: [UInt8] { SPNEGOInitialToken.signedList(mechanisms) }

    static func signedList(_ mechanisms: [MechanismIdentifier]) -> [UInt8] {
        DERWriter.value(
            DERTag.sequence, mechanisms.flatMap { DERWriter.value(DERTag.identifier, $0.bytes) })
    }

    /// The encoded token, in a GSSAPI frame (RFC 2743 section 3.1). Hints and flags are omitted.
    var bytes: [UInt8] {
        var contents = DERWriter.value(DERTag.context(0), signedList)
        if let token {
            contents += DERWriter.value(DERTag.context(2), DERWriter.value(DERTag.octetString, token))
        }
        if let signature {
            contents += DERWriter.value(DERTag.context(3), DERWriter.value(DERTag.octetString, signature))
        }
        let inner = DERWriter.value(DERTag.context(0), DERWriter.value(DERTag.sequence, contents))
        return DERWriter.value(
            DERTag.application(0), DERWriter.value(DERTag.identifier, MechanismIdentifier.spnego.bytes) + inner)
    }
}

/// A later SPNEGO token of either side: the state and a token of the chosen mechanism (RFC 4178 section 4.2.2).
struct SPNEGOReplyToken: Hashable, Sendable {
    /// The state of the negotiation.
    enum State: UInt8, Hashable, Sendable, CaseIterable {
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
    let state: State?
    /// The mechanism that the server chose; only in its first token.
    let mechanism: MechanismIdentifier?
    /// The next token of the mechanism; nil if there is none.
    let token: [UInt8]?
    /// The signature of the mechanism list; nil if there is none.
    let signature: [UInt8]?

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

/// The object identifier of a GSSAPI mechanism.
struct MechanismIdentifier: Hashable, Sendable {
    /// The contents of the DER-encoded identifier, without tag and length.
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Kerberos 5, 1.2.840.113554.1.2.2.
    static let kerberos = MechanismIdentifier(bytes: [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2])
    /// Kerberos 5 under the number that Windows 2000 sent by mistake, and later versions still send:
    /// 1.2.840.48018.1.2.2.
    static let kerberosOfMicrosoft = MechanismIdentifier(
        bytes: [0x2a, 0x86, 0x48, 0x82, 0xf7, 0x12, 1, 2, 2])
    /// NTLM, 1.3.6.1.4.1.311.2.2.10.
    static let ntlm = MechanismIdentifier(bytes: [0x2b, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x0a])
    /// NegoEx, 1.3.6.1.4.1.311.2.2.30.
    static let negoEx = MechanismIdentifier(bytes: [0x2b, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x1e])
    /// SPNEGO itself, 1.3.6.1.5.5.2.
    static let spnego = MechanismIdentifier(bytes: [0x2b, 6, 1, 5, 5, 2])

    /// Returns whether both identifiers denote the same mechanism.
    func isEquivalent(to other: MechanismIdentifier) -> Bool {
        self == other || (isKerberos && other.isKerberos)
    }

    var isKerberos: Bool { self == .kerberos || self == .kerberosOfMicrosoft }

    /// The numbers separated by dots. If a number has more than 63 bits, the text ends with `…` there.
    var dotted: String {
        var numbers: [UInt64] = []
        var number: UInt64 = 0
        for byte in bytes {
            guard number < 1 << 56 else { return numbers.map(String.init).joined(separator: ".") + "…" }
            number = number << 7 | UInt64(byte & 0x7f)
            if byte & 0x80 != 0 { continue }
            if numbers.isEmpty {
                let first = min(number / 40, 2)
                numbers = [first, number - 40 * first]
            } else {
                numbers.append(number)
            }
            number = 0
        }
        return numbers.map(String.init).joined(separator: ".")
    }
}

extension MechanismIdentifier: CustomStringConvertible {
    /// The usual name; without one, the numbers.
    var description: String {
        switch self {
        case .kerberos: "Kerberos"
        case .kerberosOfMicrosoft: "Kerberos (Microsoft's number)"
        case .ntlm: "NTLM"
        case .negoEx: "NegoEx"
        case .spnego: "SPNEGO"
        default: dotted
        }
    }
}
