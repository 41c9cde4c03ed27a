/// The third NTLM message, with the client's response (MS-NLMP section 2.2.1.3).
///
/// The responses are not secret, but they allow offline password guessing.
public struct NTLMAuthenticateMessage: Hashable, Sendable {
    /// The negotiated flags.
    public internal(set) var flags: NTLMFlags
    /// The domain of the account; empty if the user name contains it.
    public internal(set) var domain: String
    /// The user name: `alice` or `alice@example.org`.
    public internal(set) var user: String
    /// The name of the client machine. This package sends it only if ``NTLMOptions/workstation`` is set.
    public internal(set) var workstation: String
    /// The LM response. With NTLMv2 it is zeros or a 24-byte NTLMv2 value.
    public internal(set) var lmResponse: [UInt8]
    /// The NT response: 24 bytes for NTLMv1, longer for NTLMv2.
    public internal(set) var ntResponse: [UInt8]
    /// The encrypted session key.
    public internal(set) var encryptedSessionKey: [UInt8]
    /// The version of the client.
    public internal(set) var version: NTLMVersion?
    /// The message integrity code (MIC) over all three messages.
    public internal(set) var mic: [UInt8]?

    static let micOffset = 72

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

    /// Parses a message.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the bytes are not such a message or a field is outside the
    ///   message.
    public init(_ bytes: [UInt8]) throws(HTTPAuthError) {
        let reader = try NTLMReader(bytes, type: 3, headerSize: 64)
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
        // No flag tells whether there is an integrity code. The response does; this only checks whether there is room
        // for one.
        let offset = NTLMAuthenticateMessage.micOffset
        let hasRoom = payload >= offset + 16 && bytes.count >= offset + 16
        mic = hasRoom ? reader.bytes(at: offset, count: 16) : nil
    }

    /// The target information in an NTLMv2 response; nil for other responses.
    public var targetInfo: NTLMTargetInfo? {
        guard ntResponse.count >= 44 else { return nil }
        return try? NTLMTargetInfo(Array(ntResponse[44...]))
    }

    /// The encoded message.
    public var bytes: [UInt8] {
        var writer = NTLMWriter(type: 3, headerSize: mic != nil ? 88 : version != nil ? 72 : 64)
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
