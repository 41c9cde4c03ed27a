/// A key in the dictionary of `Stream.PropertyKey.sslSettingsKey`. The dictionary may also contain its string.
///
/// ```swift
/// input.setProperty([StreamSSLSetting.peerNameKey: "mail.example.org"], forKey: .sslSettingsKey)
/// ```
///
/// A dictionary with an unknown key or value is refused, so that TLS is never weaker than intended.
public struct StreamSSLSetting: RawRepresentable, Hashable, Sendable {
    /// The name of Apple's constant.
    public let rawValue: String

    /// Makes a key from its name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A `StreamSocketSecurityLevel`. Default: the best level that both sides support. Replaces `kCFStreamSSLLevel`.
    public static let levelKey = StreamSSLSetting(rawValue: "kCFStreamSSLLevel")

    /// The name to send to the server and to find in its certificate; `NSNull` for any. Default: the stream's host
    /// name.
    ///
    /// Replaces `kCFStreamSSLPeerName`.
    public static let peerNameKey = StreamSSLSetting(rawValue: "kCFStreamSSLPeerName")

    /// False to verify nothing at all. Replaces `kCFStreamSSLValidatesCertificateChain`.
    public static let validatesCertificateChainKey = StreamSSLSetting(rawValue: "kCFStreamSSLValidatesCertificateChain")

    /// An array with one `TLSIdentity`, which contains the chain. Replaces `kCFStreamSSLCertificates`.
    public static let certificatesKey = StreamSSLSetting(rawValue: "kCFStreamSSLCertificates")

    /// True for the server's side, which needs certificates. Replaces `kCFStreamSSLIsServer`.
    public static let isServerKey = StreamSSLSetting(rawValue: "kCFStreamSSLIsServer")

    /// True to accept expired certificates. Replaces `kCFStreamSSLAllowsExpiredCertificates`.
    public static let allowsExpiredCertificatesKey = StreamSSLSetting(rawValue: "kCFStreamSSLAllowsExpiredCertificates")

    /// True to accept expired roots. Replaces `kCFStreamSSLAllowsExpiredRoots`.
    public static let allowsExpiredRootsKey = StreamSSLSetting(rawValue: "kCFStreamSSLAllowsExpiredRoots")

    /// True to accept unknown roots. Replaces `kCFStreamSSLAllowsAnyRoot`.
    public static let allowsAnyRootKey = StreamSSLSetting(rawValue: "kCFStreamSSLAllowsAnyRoot")
}
