internal import COpenSSL
public import HostResolver

/// A name that a certificate is valid for (RFC 5280 §4.2.1.6).
public enum CertificateName: Sendable, Hashable, CustomStringConvertible {
    /// A host name. Its first label may be `*`.
    case host(String)
    /// An IP address.
    case address(IPAddress)
    /// A mail address.
    case mail(String)
    /// A URI.
    case uri(String)

    /// The name without its kind.
    public var description: String {
        switch self {
        case .host(let name), .mail(let name), .uri(let name): name
        case .address(let address): address.description
        }
    }

    var isHost: Bool {
        switch self {
        case .host, .address: true
        case .mail, .uri: false
        }
    }

    /// Returns the names of these kinds, or only those of one type (`GEN_EMAIL`, …). Names of other kinds are skipped.
    static func all(of certificate: OpaquePointer, type: CInt? = nil) -> [CertificateName] {
        guard let found = X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) else {
            ERR_clear_error()
            return []
        }
        let stack = OpaquePointer(found)
        defer { GENERAL_NAMES_free(stack) }
        return (0..<max(0, OPENSSL_sk_num(stack))).compactMap { index in
            guard let entry = OPENSSL_sk_value(stack, index) else { return nil }
            let name = entry.assumingMemoryBound(to: GENERAL_NAME.self).pointee
            return type == nil || name.type == type ? CertificateName(name) : nil
        }
    }

    private init?(_ name: GENERAL_NAME) {
        switch name.type {
        case GEN_DNS: self = .host(CertificateName.text(name.d.dNSName))
        case GEN_EMAIL: self = .mail(CertificateName.text(name.d.rfc822Name))
        case GEN_URI: self = .uri(CertificateName.text(name.d.uniformResourceIdentifier))
        case GEN_IPADD:
            let octets = X509Text.bytes(name.d.iPAddress)
            if octets.count == 4 {
                self = .address(.v4(IPv4Address(octets[0], octets[1], octets[2], octets[3])))
            } else if let address = IPv6Address(octets: octets) {
                self = .address(.v6(address))
            } else {
                return nil
            }
        default: return nil
        }
    }

    /// Escapes every byte that is not printable ASCII: forged names hide behind NUL and other control characters.
    private static func text(_ string: UnsafePointer<ASN1_STRING>?) -> String {
        X509Text.bytes(string).reduce(into: "") { text, byte in
            if (0x20..<0x7F).contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "\\" + X509Text.hexadecimal([byte])
            }
        }
    }
}
