/// The object identifier of a GSSAPI mechanism.
public struct MechanismIdentifier: Hashable, Sendable {
    /// The contents of the DER-encoded identifier, without tag and length.
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Kerberos 5, 1.2.840.113554.1.2.2.
    public static let kerberos = MechanismIdentifier(bytes: [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2])
    /// Kerberos 5 under the number that Windows 2000 sent by mistake, and later versions still send:
    /// 1.2.840.48018.1.2.2.
    public static let kerberosOfMicrosoft = MechanismIdentifier(
        bytes: [0x2a, 0x86, 0x48, 0x82, 0xf7, 0x12, 1, 2, 2])
    /// NTLM, 1.3.6.1.4.1.311.2.2.10.
    public static let ntlm = MechanismIdentifier(bytes: [0x2b, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x0a])
    /// NegoEx, 1.3.6.1.4.1.311.2.2.30.
    public static let negoEx = MechanismIdentifier(bytes: [0x2b, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x1e])
    /// SPNEGO itself, 1.3.6.1.5.5.2.
    public static let spnego = MechanismIdentifier(bytes: [0x2b, 6, 1, 5, 5, 2])

    /// Returns whether both identifiers denote the same mechanism.
    func isEquivalent(to other: MechanismIdentifier) -> Bool {
        self == other || (isKerberos && other.isKerberos)
    }

    var isKerberos: Bool { self == .kerberos || self == .kerberosOfMicrosoft }

    /// The numbers separated by dots. If a number has more than 63 bits, the text ends with `…` there.
    public var dotted: String {
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
    public var description: String {
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
