/// One port of an HTTP server: plain, or TLS with certain versions and certificates.
///
/// Listeners are identified by value: `nginx.url(.tls13Only, "/hello")`.
public struct HTTPListener: Hashable, Sendable {
    /// Whether the server requests a certificate of the client.
    public enum ClientCertificate: Hashable, Sendable {
        /// Not requested.
        case ignored
        /// Requested; the client may send none.
        case optional
        /// Required; without a valid one, the response is an error.
        case required
    }

    /// A name that distinguishes otherwise equal listeners.
    public var name: String
    /// The server's certificate; nil means no TLS.
    public var certificate: ServerCertificate?
    /// The versions of TLS that the server offers.
    public var versions: Set<TLSVersion>
    /// Whether the server requests a client certificate.
    public var clientCertificate: ClientCertificate

    /// Creates a listener.
    public init(
        _ name: String, certificate: ServerCertificate?, versions: Set<TLSVersion> = Set(TLSVersion.allCases),
        clientCertificate: ClientCertificate = .ignored
    ) {
        self.name = name
        self.certificate = certificate
        self.versions = versions
        self.clientCertificate = clientCertificate
    }

    /// HTTP without TLS.
    public static let plain = Self("plain", certificate: nil)
    /// HTTP without TLS on another port: another origin.
    public static let secondOrigin = Self("second-origin", certificate: nil)
    /// TLS 1.2 and 1.3 with a valid certificate.
    public static let tls = Self.tls(.good)
    /// TLS 1.2 only.
    public static let tls12Only = Self("tls12-only", certificate: .good, versions: [.tls12])
    /// TLS 1.3 only.
    public static let tls13Only = Self("tls13-only", certificate: .good, versions: [.tls13])
    /// Requests a client certificate of the shared authority, but does not require it.
    public static let clientOptional = Self("client-optional", certificate: .good, clientCertificate: .optional)
    /// Requires a client certificate of the shared authority.
    public static let clientRequired = Self("client-required", certificate: .good, clientCertificate: .required)

    /// TLS 1.2 and 1.3 with this certificate.
    public static func tls(_ certificate: ServerCertificate) -> Self {
        Self("tls-\(certificate.rawValue)", certificate: certificate)
    }

    /// All of the above, with every certificate.
    public static let all: [Self] =
        [.plain, .secondOrigin, .tls, .tls12Only, .tls13Only, .clientOptional, .clientRequired]
        + ServerCertificate.allCases.filter { $0 != .good }.map { .tls($0) }

    /// The scheme of this listener's URLs.
    var scheme: String { certificate == nil ? "http" : "https" }
}

/// A version of TLS that a peer offers.
public enum TLSVersion: String, Hashable, Sendable, CaseIterable, Comparable {
    /// TLS 1.2 (RFC 5246).
    case tls12 = "TLSv1.2"
    /// TLS 1.3 (RFC 8446).
    case tls13 = "TLSv1.3"

    /// Orders the older version first.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
