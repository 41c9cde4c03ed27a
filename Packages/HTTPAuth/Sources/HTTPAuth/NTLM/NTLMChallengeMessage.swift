/// The second of NTLM's three messages, the server's challenge: MS-NLMP section 2.2.1.2.
public struct NTLMChallengeMessage: Hashable, Sendable {
    /// What the server takes of the client's offer.
    public let flags: NTLMFlags
    /// The eight random bytes that the response answers.
    public let challenge: [UInt8]
    /// The server's name for itself or its domain; empty if it gives none.
    public let targetName: String
    /// What the server says about itself; nil if it says nothing.
    public let targetInfo: NTLMTargetInfo?
    /// The server's version.
    public let version: NTLMVersion?
    /// The message as it came: the integrity code is made of it.
    public let bytes: [UInt8]

    /// Reads a message of 32 or more bytes; very old servers leave out what follows the challenge.
    ///
    /// - Throws: ``HTTPAuthError`` if it is no such message, has more than 16 KiB, or one of its fields does not lie
    ///   within it.
    public init(_ bytes: [UInt8]) throws(HTTPAuthError) {
        let reader = try NTLMReader(bytes, type: 2, fixed: 32)
        self.bytes = bytes
        flags = NTLMFlags(rawValue: reader.number(at: 20))
        challenge = reader.bytes(at: 24, count: 8)
        let name = try reader.field(at: 12, "the target name")
        targetName = flags.contains(.unicode) ? name.utf16LittleEndianText : String(decoding: name, as: UTF8.self)
        var places = [12]
        var info: NTLMTargetInfo?
        // Whether there is room for the field is a matter of where the other one's bytes begin.
        if reader.payloadStart(fieldsAt: [12]) >= 48, bytes.count >= 48 {
            places.append(40)
            let list = try reader.field(at: 40, "the target information")
            info = list.isEmpty ? nil : try NTLMTargetInfo(list)
        }
        targetInfo = info
        version = reader.version(at: 48, flags, before: reader.payloadStart(fieldsAt: places))
    }
}
