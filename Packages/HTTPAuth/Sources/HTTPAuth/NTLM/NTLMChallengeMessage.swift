/// The second NTLM message, with the server's challenge (MS-NLMP section 2.2.1.2).
public struct NTLMChallengeMessage: Hashable, Sendable {
    /// The flags that the server accepted.
    public let flags: NTLMFlags
    /// The challenge: eight random bytes.
    public let challenge: [UInt8]
    /// The name of the server or its domain; empty if it sends none.
    public let targetName: String
    /// The server's target information; nil if it sends none.
    public let targetInfo: NTLMTargetInfo?
    /// The version of the server.
    public let version: NTLMVersion?
    /// The encoded message, which the integrity code covers.
    public let bytes: [UInt8]

    /// Parses a message of at least 32 bytes; very old servers omit the fields after the challenge.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the bytes are not such a message, are longer than 16 KiB, or
    ///   a field is outside the message.
    public init(_ bytes: [UInt8]) throws(HTTPAuthError) {
        let reader = try NTLMReader(bytes, type: 2, headerSize: 32)
        self.bytes = bytes
        flags = NTLMFlags(rawValue: reader.number(at: 20))
        challenge = reader.bytes(at: 24, count: 8)
        let name = try reader.field(at: 12, "the target name")
        targetName = flags.contains(.unicode) ? name.utf16LittleEndianText : String(decoding: name, as: UTF8.self)
        var offsets = [12]
        var info: NTLMTargetInfo?
        // The field exists only if the payload of the other field starts after it.
        if reader.payloadStart(fieldsAt: [12]) >= 48, bytes.count >= 48 {
            offsets.append(40)
            let list = try reader.field(at: 40, "the target information")
            info = list.isEmpty ? nil : try NTLMTargetInfo(list)
        }
        targetInfo = info
        version = reader.version(at: 48, flags, before: reader.payloadStart(fieldsAt: offsets))
    }
}
