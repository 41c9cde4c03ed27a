public import Foundation

// The keys that Foundation does not have on Linux; the strings are those of Apple's constants.
extension Stream.PropertyKey {
    /// TLS with a dictionary of ``StreamSSLSetting``s. To be set only. Replaces `kCFStreamPropertySSLSettings`.
    ///
    /// Before the stream is opened TLS begins with the connection; on an open stream it begins at once, as protocols with
    /// a STARTTLS command want it.
    public static let sslSettingsKey = Stream.PropertyKey("kCFStreamPropertySSLSettings")

    /// TLS with everything that a `TLSConfiguration` can say, which is the value. Replaces `kCFStreamPropertySSLContext`.
    public static let sslContextKey = Stream.PropertyKey("kCFStreamPropertySSLContext")

    /// The certificates that the peer sent, its own first: an array of `Data`, each in DER. To be read only.
    ///
    /// Replaces `kCFStreamPropertySSLPeerCertificates`.
    public static let sslPeerCertificatesKey = Stream.PropertyKey("kCFStreamPropertySSLPeerCertificates")

    /// The peer's certificate chain and what came of checking it, once TLS runs: a `TLSInformation`. To be read only.
    ///
    /// ```swift
    /// let trust = input.property(forKey: .sslPeerTrustKey) as? TLSInformation
    /// ```
    ///
    /// Replaces `kCFStreamPropertySSLPeerTrust`, which is a `SecTrust`.
    public static let sslPeerTrustKey = Stream.PropertyKey("kCFStreamPropertySSLPeerTrust")

    /// Continue at the end of a file: a Boolean. Replaces `kCFStreamPropertyAppendToFile`.
    public static let appendToFileKey = Stream.PropertyKey("kCFStreamPropertyAppendToFile")

    /// The descriptor, as `Data` of four bytes. To be read only. Replaces `kCFStreamPropertySocketNativeHandle`.
    public static let socketNativeHandleKey = Stream.PropertyKey("kCFStreamPropertySocketNativeHandle")

    /// Close the descriptor at the end: a Boolean. Replaces `kCFStreamPropertyShouldCloseNativeSocket`.
    public static let shouldCloseNativeSocketKey = Stream.PropertyKey("kCFStreamPropertyShouldCloseNativeSocket")

    /// The name that the stream was made with. To be read only. Replaces `kCFStreamPropertySocketRemoteHostName`.
    public static let socketRemoteHostNameKey = Stream.PropertyKey("kCFStreamPropertySocketRemoteHostName")

    /// The peer's port: a number. To be read only. Replaces `kCFStreamPropertySocketRemotePortNumber`.
    public static let socketRemotePortNumberKey = Stream.PropertyKey("kCFStreamPropertySocketRemotePortNumber")
}
