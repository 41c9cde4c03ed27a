/// The options that client and server negotiate in an NTLM exchange (MS-NLMP section 2.2.2.5).
public struct NTLMFlags: OptionSet, Hashable, Sendable {
    /// The 32 bits as sent.
    public let rawValue: UInt32

    /// Creates flags from any bits, including unnamed ones.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Text is UTF-16LE.
    public static let unicode = NTLMFlags(rawValue: 1 << 0)
    /// Text is in an OEM code page.
    public static let oem = NTLMFlags(rawValue: 1 << 1)
    /// The client requests the target name.
    public static let requestTarget = NTLMFlags(rawValue: 1 << 2)
    /// Messages of the session are signed.
    public static let sign = NTLMFlags(rawValue: 1 << 4)
    /// Messages of the session are encrypted.
    public static let seal = NTLMFlags(rawValue: 1 << 5)
    /// The session key is derived from the LM hash. This package never offers it.
    public static let lanManagerKey = NTLMFlags(rawValue: 1 << 7)
    /// NTLM authentication is supported.
    public static let ntlm = NTLMFlags(rawValue: 1 << 9)
    /// The login is anonymous. This package never offers it.
    public static let anonymous = NTLMFlags(rawValue: 1 << 11)
    /// The first message contains a domain.
    public static let domainSupplied = NTLMFlags(rawValue: 1 << 12)
    /// The first message contains the name of the client machine.
    public static let workstationSupplied = NTLMFlags(rawValue: 1 << 13)
    /// A session key is derived even if nothing is signed.
    public static let alwaysSign = NTLMFlags(rawValue: 1 << 15)
    /// The target name is that of a domain.
    public static let targetIsDomain = NTLMFlags(rawValue: 1 << 16)
    /// The target name is that of a server.
    public static let targetIsServer = NTLMFlags(rawValue: 1 << 17)
    /// Signatures use HMAC-MD5; without this flag they are checksums.
    public static let extendedSessionSecurity = NTLMFlags(rawValue: 1 << 19)
    /// The second message contains target information.
    public static let targetInfo = NTLMFlags(rawValue: 1 << 23)
    /// The messages contain a version.
    public static let version = NTLMFlags(rawValue: 1 << 25)
    /// Keys have 128 bits.
    public static let keys128 = NTLMFlags(rawValue: 1 << 29)
    /// The client chooses the session key and sends it encrypted.
    public static let keyExchange = NTLMFlags(rawValue: 1 << 30)
    /// Keys have 56 bits.
    public static let keys56 = NTLMFlags(rawValue: 1 << 31)
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
    public var description: String {
        var parts = NTLMFlags.names.filter { contains($0.flag) }.map(\.name)
        let unnamed = NTLMFlags.names.reduce(self) { $0.subtracting($1.flag) }
        if !unnamed.isEmpty { parts.append("0x" + String(unnamed.rawValue, radix: 16)) }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }
}
