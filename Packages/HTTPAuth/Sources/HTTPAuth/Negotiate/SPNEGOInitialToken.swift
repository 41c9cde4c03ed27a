/// The first SPNEGO token: the mechanisms of a side and, optionally, a token of the first one (RFC 4178 section 4.2.1).
public struct SPNEGOInitialToken: Hashable, Sendable {
    /// The supported mechanisms, in order of preference.
    public let mechanisms: [MechanismIdentifier]
    /// The obsolete request flags; nil if there are none.
    public let requestFlags: [UInt8]?
    /// The first token of the first mechanism; nil if there is none.
    public let token: [UInt8]?
    /// The hint that Windows servers send in place of a name; it is always the same.
    public let hint: String?
    /// The signature of the mechanism list; nil if there is none.
    public let signature: [UInt8]?

    init(mechanisms: [MechanismIdentifier], token: [UInt8]?) {
        self.mechanisms = mechanisms
        self.token = token
        requestFlags = nil
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
        requestFlags = try reader.optional(DERTag.context(1), DERTag.bitString, "reqFlags").map { Array($0) }
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
