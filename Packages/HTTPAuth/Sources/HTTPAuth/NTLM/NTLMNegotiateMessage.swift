/// The first NTLM message, with the options of the client (MS-NLMP section 2.2.1.1).
public struct NTLMNegotiateMessage: Hashable, Sendable {
    /// The flags that the client offers.
    public internal(set) var flags: NTLMFlags
    /// The domain; empty in the messages of this package.
    public internal(set) var domain: String
    /// The name of the client machine; empty in the messages of this package.
    public internal(set) var workstation: String
    /// The version of the client.
    public internal(set) var version: NTLMVersion?

    /// The message that this package sends: without names, and without options for NTLMv1.
    static let ours = NTLMNegotiateMessage(
        flags: [
            .unicode, .requestTarget, .sign, .ntlm, .alwaysSign, .extendedSessionSecurity, .targetInfo, .version,
            .keys128, .keyExchange, .keys56,
        ], domain: "", workstation: "", version: .ours)

    init(flags: NTLMFlags, domain: String, workstation: String, version: NTLMVersion?) {
        self.flags = flags
        self.domain = domain
        self.workstation = workstation
        self.version = version
    }

    /// Parses a message of at least 16 bytes; older clients omit the names.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the bytes are not such a message or a field is outside the
    ///   message.
    public init(_ bytes: [UInt8]) throws(HTTPAuthError) {
        let reader = try NTLMReader(bytes, type: 1, headerSize: 16)
        flags = NTLMFlags(rawValue: reader.number(at: 12))
        (domain, workstation, version) = ("", "", nil)
        guard bytes.count >= 32 else { return }
        // The names are in the client's code page, whatever the flags say.
        domain = String(decoding: try reader.field(at: 16, "the domain"), as: UTF8.self)
        workstation = String(decoding: try reader.field(at: 24, "the workstation"), as: UTF8.self)
        version = reader.version(at: 32, flags, before: reader.payloadStart(fieldsAt: [16, 24]))
    }

    /// The encoded message.
    public var bytes: [UInt8] {
        var writer = NTLMWriter(type: 1, headerSize: version == nil ? 32 : 40)
        writer.number(flags.rawValue)
        writer.field(Array(domain.utf8))
        writer.field(Array(workstation.utf8))
        if let version { writer.raw(version.bytes) }
        return writer.finished()
    }
}
