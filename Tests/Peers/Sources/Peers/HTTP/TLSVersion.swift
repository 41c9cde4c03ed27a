/// A version of TLS that a peer offers.
public enum TLSVersion: String, Hashable, Sendable, CaseIterable, Comparable {
    /// TLS 1.2 (RFC 5246).
    case tls12 = "TLSv1.2"
    /// TLS 1.3 (RFC 8446).
    case tls13 = "TLSv1.3"

    /// Orders the older version first.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
