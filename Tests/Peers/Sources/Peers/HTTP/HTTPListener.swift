/// One port of an HTTP server: plain or TLS, and with TLS which versions and certificates.
///
/// Listeners are looked up by value: `nginx.url(.tls13Only, "/hello")`.
public struct HTTPListener: Hashable, Sendable {
    /// Whether the server asks the client for a certificate.
    public enum ClientCertificate: Hashable, Sendable {
        /// Not asked for.
        case ignored
        /// Asked for; the client may refuse.
        case optional
        /// Asked for; without a good one the answer is an error.
        case required
    }

    /// Tells apart two listeners that are the same otherwise.
    public var name: String
    /// What the server shows; nil means no TLS.
    public var certificate: ServerCertificate?
    /// The versions of TLS that the server offers.
    public var versions: Set<TLSVersion>
    /// Whether the server asks for a certificate.
    public var clientCertificate: ClientCertificate

    /// Describes a listener.
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
    /// TLS 1.2 and 1.3 with a good certificate.
    public static let tls = Self.tls(.good)
    /// TLS 1.2 only.
    public static let tls12Only = Self("tls12-only", certificate: .good, versions: [.tls12])
    /// TLS 1.3 only.
    public static let tls13Only = Self("tls13-only", certificate: .good, versions: [.tls13])
    /// Asks for a client certificate signed by our authority, and goes on without.
    public static let clientOptional = Self("client-optional", certificate: .good, clientCertificate: .optional)
    /// Insists on a client certificate signed by our authority.
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
