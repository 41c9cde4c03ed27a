/// A version of TLS that a peer offers.
public enum TLSVersion: String, Hashable, Sendable, CaseIterable, Comparable {
    /// RFC 5246.
    case tls12 = "TLSv1.2"
    /// RFC 8446.
    case tls13 = "TLSv1.3"

    /// The older version is the smaller one.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
