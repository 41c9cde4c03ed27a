/// A version of TLS. Older versions, which RFC 8996 forbids, cannot be expressed, so nothing can fall back to them.
///
/// Replaces `kCFStreamSocketSecurityLevelTLSv1` and `kCFStreamSocketSecurityLevelNegotiatedSSL`: the latter is the
/// default range of a ``TLSConfiguration``.
public enum TLSVersion: Int, Sendable, Hashable, CaseIterable, Comparable, CustomStringConvertible {
    /// TLS 1.2, RFC 5246.
    case tls12 = 0x0303
    /// TLS 1.3, RFC 8446.
    case tls13 = 0x0304

    /// Orders older versions before newer ones.
    public static func < (left: TLSVersion, right: TLSVersion) -> Bool {
        left.rawValue < right.rawValue
    }

    /// `TLS 1.3`.
    public var description: String {
        switch self {
        case .tls12: "TLS 1.2"
        case .tls13: "TLS 1.3"
        }
    }
}
