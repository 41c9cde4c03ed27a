/// A key in the dictionary of `Stream.PropertyKey.sslSettingsKey`. Its strings may stand there as well.
///
/// ```swift
/// input.setProperty([StreamSSLSetting.peerNameKey: "mail.example.org"], forKey: .sslSettingsKey)
/// ```
///
/// A dictionary with a key or value that is not known here is refused, lest TLS be weaker than was meant.
public struct StreamSSLSetting: RawRepresentable, Hashable, Sendable {
    /// The name of Apple's constant.
    public let rawValue: String

    /// A key by name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A `StreamSocketSecurityLevel`. Default: the best that both sides have. Replaces `kCFStreamSSLLevel`.
    public static let levelKey = StreamSSLSetting(rawValue: "kCFStreamSSLLevel")

    /// The name to tell the server and to find in its certificate; `NSNull` for any. Default: what the stream was made with.
    ///
    /// Replaces `kCFStreamSSLPeerName`.
    public static let peerNameKey = StreamSSLSetting(rawValue: "kCFStreamSSLPeerName")

    /// False to check nothing at all. Replaces `kCFStreamSSLValidatesCertificateChain`.
    public static let validatesCertificateChainKey = StreamSSLSetting(rawValue: "kCFStreamSSLValidatesCertificateChain")

    /// An array with one's `TLSIdentity`, which holds the chain. Replaces `kCFStreamSSLCertificates`.
    public static let certificatesKey = StreamSSLSetting(rawValue: "kCFStreamSSLCertificates")

    /// True for the server's side; needs certificates. Replaces `kCFStreamSSLIsServer`.
    public static let isServerKey = StreamSSLSetting(rawValue: "kCFStreamSSLIsServer")

    /// True to accept certificates whose dates are over. Replaces `kCFStreamSSLAllowsExpiredCertificates`.
    public static let allowsExpiredCertificatesKey = StreamSSLSetting(rawValue: "kCFStreamSSLAllowsExpiredCertificates")

    /// True to accept roots whose dates are over. Replaces `kCFStreamSSLAllowsExpiredRoots`.
    public static let allowsExpiredRootsKey = StreamSSLSetting(rawValue: "kCFStreamSSLAllowsExpiredRoots")

    /// True to accept roots that nobody knows. Replaces `kCFStreamSSLAllowsAnyRoot`.
    public static let allowsAnyRootKey = StreamSSLSetting(rawValue: "kCFStreamSSLAllowsAnyRoot")
}
