internal import StreamKit

/// The versions of HTTP that a load may use, or that a server serves: the value of ``HTTPOptions/versions`` and of
/// ``HTTPServer/Configuration/versions``.
@nonexhaustive
public enum HTTPVersions: Sendable, Hashable {
    /// HTTP/1.1 alone.
    case http1
    /// HTTP/2 for `https` URLs if the server chooses it (ALPN, RFC 9113 §3.2), and HTTP/1.1 otherwise.
    case automatic
    /// HTTP/2 alone. For an `http` URL, the connection begins with HTTP/2: the caller knows that the server supports it (prior knowledge, RFC
    /// 9113 §3.3). For an `https` URL, the load fails with `HTTPErrorNumber.parseFailure` if the server does not choose HTTP/2.
    case http2

    /// The protocols to offer to a server over TLS, the preferred one first.
    var applicationProtocols: [String] {
        switch self {
        case .http1: [Self.http1Protocol]
        case .automatic: [Self.http2Protocol, Self.http1Protocol]
        case .http2: [Self.http2Protocol]
        }
    }

    /// The name of HTTP/1.1 in ALPN (RFC 7301 §6).
    static let http1Protocol = "http/1.1"
    /// The name of HTTP/2 in ALPN (RFC 9113 §3.2).
    static let http2Protocol = "h2"
}

extension TLSInformation {
    /// Whether the connection may carry HTTP/2.
    var isAdequateForHTTP2: Bool { Self.isAdequateForHTTP2(version, cipher: cipher) }

    /// Whether a connection may carry HTTP/2: with TLS 1.2, only keys that are made for the connection and authenticated encryption are
    /// permitted (RFC 9113 §9.2.2).
    static func isAdequateForHTTP2(_ version: TLSVersion, cipher: String) -> Bool {
        if version > .tls12 { return true }
        let hasOwnKeys = cipher.hasPrefix("TLS_ECDHE_") || cipher.hasPrefix("TLS_DHE_")
        return hasOwnKeys && ["_GCM_", "_CCM", "_CHACHA20_"].contains { cipher.contains($0) }
    }
}
