/// The first NTLM message, with the options of the client (MS-NLMP section 2.2.1.1).
struct NTLMNegotiateMessage: Hashable, Sendable {
    /// The flags that the client offers.
    var flags: NTLMFlags
    /// The domain; empty in the messages of this package.
    var domain: String
    /// The name of the client machine; empty in the messages of this package.
    var workstation: String
    /// The version of the client.
    var version: NTLMVersion?

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
    init(_ bytes: [UInt8]) throws(HTTPAuthError) {
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
    var bytes: [UInt8] {
        var writer = NTLMWriter(type: 1, headerSize: version == nil ? 32 : 40)
        writer.number(flags.rawValue)
        writer.field(Array(domain.utf8))
        writer.field(Array(workstation.utf8))
        if let version { writer.raw(version.bytes) }
        return writer.finished()
    }
}

/// The second NTLM message, with the server's challenge (MS-NLMP section 2.2.1.2).
struct NTLMChallengeMessage: Hashable, Sendable {
    /// The flags that the server accepted.
    let flags: NTLMFlags
    /// The challenge: eight random bytes.
    let challenge: [UInt8]
    /// The name of the server or its domain; empty if it sends none.
    let targetName: String
    /// The server's target information; nil if it sends none.
    let targetInfo: NTLMTargetInfo?
    /// The version of the server.
    let version: NTLMVersion?
    /// The encoded message, which the integrity code covers.
    let bytes: [UInt8]

    /// Parses a message of at least 32 bytes; very old servers omit the fields after the challenge.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the bytes are not such a message, are longer than 16 KiB, or
    ///   a field is outside the message.
    init(_ bytes: [UInt8]) throws(HTTPAuthError) {
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

/// The third NTLM message, with the client's response (MS-NLMP section 2.2.1.3).
///
/// The responses are not secret, but they allow offline password guessing.
struct NTLMAuthenticateMessage: Hashable, Sendable {
    /// The negotiated flags.
    var flags: NTLMFlags
    /// The domain of the account; empty if the user name contains it.
    var domain: String
    /// The user name: `alice` or `alice@example.org`.
    var user: String
    /// The name of the client machine. This package sends it only if ``NTLMOptions/workstation`` is set.
    var workstation: String
    /// The LM response. With NTLMv2 it is zeros or a 24-byte NTLMv2 value.
    var lmResponse: [UInt8]
    /// The NT response: 24 bytes for NTLMv1, longer for NTLMv2.
    var ntResponse: [UInt8]
    /// The encrypted session key.
    var encryptedSessionKey: [UInt8]
    /// The version of the client.
    var version: NTLMVersion?
    /// The message integrity code (MIC) over all three messages.
    var mic: [UInt8]?

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
    init(_ bytes: [UInt8]) throws(HTTPAuthError) {
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
    var targetInfo: NTLMTargetInfo? {
        guard ntResponse.count >= 44 else { return nil }
        return try? NTLMTargetInfo(Array(ntResponse[44...]))
    }

    /// The encoded message.
    var bytes: [UInt8] {
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

/// The options that client and server negotiate in an NTLM login (MS-NLMP section 2.2.2.5).
struct NTLMFlags: OptionSet, Hashable, Sendable {
    /// The 32 bits as sent.
    let rawValue: UInt32

    /// Creates flags from any bits, including unnamed ones.
    init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Text is UTF-16LE.
    static let unicode = NTLMFlags(rawValue: 1 << 0)
    /// Text is in an OEM code page.
    static let oem = NTLMFlags(rawValue: 1 << 1)
    /// The client requests the target name.
    static let requestTarget = NTLMFlags(rawValue: 1 << 2)
    /// Messages of the session are signed.
    static let sign = NTLMFlags(rawValue: 1 << 4)
    /// Messages of the session are encrypted.
    static let seal = NTLMFlags(rawValue: 1 << 5)
    /// The session key is derived from the LM hash. This package never offers it.
    static let lanManagerKey = NTLMFlags(rawValue: 1 << 7)
    /// NTLM authentication is supported.
    static let ntlm = NTLMFlags(rawValue: 1 << 9)
    /// The login is anonymous. This package never offers it.
    static let anonymous = NTLMFlags(rawValue: 1 << 11)
    /// The first message contains a domain.
    static let domainSupplied = NTLMFlags(rawValue: 1 << 12)
    /// The first message contains the name of the client machine.
    static let workstationSupplied = NTLMFlags(rawValue: 1 << 13)
    /// A session key is derived even if nothing is signed.
    static let alwaysSign = NTLMFlags(rawValue: 1 << 15)
    /// The target name is that of a domain.
    static let targetIsDomain = NTLMFlags(rawValue: 1 << 16)
    /// The target name is that of a server.
    static let targetIsServer = NTLMFlags(rawValue: 1 << 17)
    /// Signatures use HMAC-MD5; without this flag they are checksums.
    static let extendedSessionSecurity = NTLMFlags(rawValue: 1 << 19)
    /// The second message contains target information.
    static let targetInfo = NTLMFlags(rawValue: 1 << 23)
    /// The messages contain a version.
    static let version = NTLMFlags(rawValue: 1 << 25)
    /// Keys have 128 bits.
    static let keys128 = NTLMFlags(rawValue: 1 << 29)
    /// The client chooses the session key and sends it encrypted.
    static let keyExchange = NTLMFlags(rawValue: 1 << 30)
    /// Keys have 56 bits.
    static let keys56 = NTLMFlags(rawValue: 1 << 31)
}

extension NTLMFlags: CustomStringConvertible {
    private static let names: [(flag: NTLMFlags, name: String)] = [
        (.unicode, "unicode"), (.oem, "OEM"), (.requestTarget, "request target"), (.sign, "sign"), (.seal, "seal"),
        (.lanManagerKey, "LM key"), (.ntlm, "NTLM"), (.anonymous, "anonymous"), (.domainSupplied, "domain supplied"),
        (.workstationSupplied, "workstation supplied"), (.alwaysSign, "always sign"),
        (.targetIsDomain, "target is a domain"), (.targetIsServer, "target is a server"),
        (.extendedSessionSecurity, "extended session security"), (.targetInfo, "target information"),
        (.version, "version"), (.keys128, "128-bit keys"), (.keyExchange, "key exchange"), (.keys56, "56-bit keys"),
    ]

    /// The names of the flags that are set, with the unnamed bits as one number.
    var description: String {
        var parts = NTLMFlags.names.filter { contains($0.flag) }.map(\.name)
        let unnamed = NTLMFlags.names.reduce(self) { $0.subtracting($1.flag) }
        if !unnamed.isEmpty { parts.append("0x" + String(unnamed.rawValue, radix: 16)) }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }
}

/// The version field of NTLM messages (MS-NLMP section 2.2.2.10). It is informational; nothing depends on it.
struct NTLMVersion: Hashable, Sendable, CustomStringConvertible {
    /// The major version of the system: 10 for Windows 10 and 11.
    var major: UInt8
    /// The minor version of the system.
    var minor: UInt8
    /// The build of the system.
    var build: UInt16
    /// The NTLM revision: 15 in all current systems.
    var revision: UInt8

    /// Creates a version.
    init(major: UInt8, minor: UInt8, build: UInt16, revision: UInt8 = 15) {
        self.major = major
        self.minor = minor
        self.build = build
        self.revision = revision
    }

    /// The version that this package sends. Some servers (gss-ntlmssp 1.2) reject messages without one, but no server
    /// checks the numbers.
    static let ours = NTLMVersion(major: 10, minor: 0, build: 0)

    /// `10.0 (build 19041), NTLM revision 15`
    var description: String { "\(major).\(minor) (build \(build)), NTLM revision \(revision)" }

    var bytes: [UInt8] {
        [major, minor, UInt8(truncatingIfNeeded: build), UInt8(truncatingIfNeeded: build >> 8), 0, 0, 0, revision]
    }
}
