/// The third of NTLM's three messages, the client's answer: MS-NLMP section 2.2.1.3.
///
/// Its responses are no secret in themselves, but who has them can try passwords against them for as long as he likes.
public struct NTLMAuthenticateMessage: Hashable, Sendable {
    /// What is in force.
    public internal(set) var flags: NTLMFlags
    /// The domain of the account; empty if the user's name says it all.
    public internal(set) var domain: String
    /// The user's name, `alice` or `alice@example.org`.
    public internal(set) var user: String
    /// The client's machine; we name none unless told to.
    public internal(set) var workstation: String
    /// The response by the old hash; with NTLMv2 zeros, or an NTLMv2 computation of 24 bytes.
    public internal(set) var lmResponse: [UInt8]
    /// The response: 24 bytes in NTLMv1, more in NTLMv2.
    public internal(set) var ntResponse: [UInt8]
    /// The session key, encrypted.
    public internal(set) var encryptedSessionKey: [UInt8]
    /// The client's version.
    public internal(set) var version: NTLMVersion?
    /// The integrity code over the three messages.
    public internal(set) var mic: [UInt8]?

    static let micPlace = 72

    init(
        flags: NTLMFlags, domain: String, user: String, workstation: String, lmResponse: [UInt8], ntResponse: [UInt8],
        encryptedSessionKey: [UInt8], version: NTLMVersion?, mic: [UInt8]?
    ) {
        self.flags = flags
        self.domain = domain
        self.user = user
        self.workstation = workstation
        self.lmResponse = lmResponse
        self.ntResponse = ntResponse
        self.encryptedSessionKey = encryptedSessionKey
        self.version = version
        self.mic = mic
    }

    /// Reads a message.
    ///
    /// - Throws: ``HTTPAuthError`` if it is no such message, or one of its fields does not lie within it.
    public init(_ bytes: [UInt8]) throws(HTTPAuthError) {
        let reader = try NTLMReader(bytes, type: 3, fixed: 64)
        let flags = NTLMFlags(rawValue: reader.number(at: 60))
        self.flags = flags
        lmResponse = try reader.field(at: 12, "the LM response")
        ntResponse = try reader.field(at: 20, "the NT response")
        encryptedSessionKey = try reader.field(at: 52, "the session key")
        let names = [
            try reader.field(at: 28, "the domain"), try reader.field(at: 36, "the user name"),
            try reader.field(at: 44, "the workstation"),
        ].map { flags.contains(.unicode) ? $0.utf16LittleEndianText : String(decoding: $0, as: UTF8.self) }
        (domain, user, workstation) = (names[0], names[1], names[2])
        let payload = reader.payloadStart(fieldsAt: [12, 20, 28, 36, 44, 52])
        version = reader.version(at: 64, flags, before: payload)
        // Nothing in the header says whether there is a code. The response does; where it cannot, its room tells.
        let place = NTLMAuthenticateMessage.micPlace
        let hasRoom = payload >= place + 16 && bytes.count >= place + 16
        mic = hasRoom ? reader.bytes(at: place, count: 16) : nil
    }

    /// What the client says about the server and itself, from an NTLMv2 response.
    public var targetInfo: NTLMTargetInfo? {
        guard ntResponse.count >= 44 else { return nil }
        return try? NTLMTargetInfo(Array(ntResponse[44...]))
    }

    /// The message as sent.
    public var bytes: [UInt8] {
        var writer = NTLMWriter(type: 3, fixed: mic != nil ? 88 : version != nil ? 72 : 64)
        writer.field(lmResponse)
        writer.field(ntResponse)
        for name in [domain, user, workstation] {
            writer.field(flags.contains(.unicode) ? Array(utf16LittleEndian: name) : Array(name.utf8))
        }
        writer.field(encryptedSessionKey)
        writer.number(flags.rawValue)
        if version != nil || mic != nil { writer.raw(version?.bytes ?? Array(repeating: 0, count: 8)) }
        if let mic { writer.raw(mic) }
        return writer.finished()
    }
}
