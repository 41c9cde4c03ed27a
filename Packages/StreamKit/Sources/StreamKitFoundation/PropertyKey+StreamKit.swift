public import Foundation

// Keys that Foundation lacks on Linux. The strings are those of Apple's constants.
extension Stream.PropertyKey {
    /// TLS as a dictionary of ``StreamSSLSetting``s. Write-only. Replaces `kCFStreamPropertySSLSettings`.
    ///
    /// Set before opening, TLS begins with the connection. Set on an open stream, it begins at once, for protocols with
    /// a STARTTLS command.
    public static let sslSettingsKey = Stream.PropertyKey("kCFStreamPropertySSLSettings")

    /// TLS with all options of a `TLSConfiguration`, which is the value. Replaces `kCFStreamPropertySSLContext`.
    public static let sslContextKey = Stream.PropertyKey("kCFStreamPropertySSLContext")

    /// The certificates that the peer sent, its own first: an array of `Data`, each in DER. Read-only.
    ///
    /// Replaces `kCFStreamPropertySSLPeerCertificates`.
    public static let sslPeerCertificatesKey = Stream.PropertyKey("kCFStreamPropertySSLPeerCertificates")

    /// The peer's certificate chain and the result of its verification, once TLS is open: a `TLSInformation`.
    /// Read-only.
    ///
    /// ```swift
    /// let trust = input.property(forKey: .sslPeerTrustKey) as? TLSInformation
    /// ```
    ///
    /// Replaces `kCFStreamPropertySSLPeerTrust`, which is a `SecTrust`.
    public static let sslPeerTrustKey = Stream.PropertyKey("kCFStreamPropertySSLPeerTrust")

    /// Whether to continue at the end of a file: a Boolean. Replaces `kCFStreamPropertyAppendToFile`.
    public static let appendToFileKey = Stream.PropertyKey("kCFStreamPropertyAppendToFile")

    /// The descriptor, as `Data` of four bytes. Read-only. Replaces `kCFStreamPropertySocketNativeHandle`.
    public static let socketNativeHandleKey = Stream.PropertyKey("kCFStreamPropertySocketNativeHandle")

    /// Whether to close the descriptor at the end: a Boolean. Replaces `kCFStreamPropertyShouldCloseNativeSocket`.
    public static let shouldCloseNativeSocketKey = Stream.PropertyKey("kCFStreamPropertyShouldCloseNativeSocket")

    /// The host name that the stream was made with. Read-only. Replaces `kCFStreamPropertySocketRemoteHostName`.
    public static let socketRemoteHostNameKey = Stream.PropertyKey("kCFStreamPropertySocketRemoteHostName")

    /// The peer's port: a number. Read-only. Replaces `kCFStreamPropertySocketRemotePortNumber`.
    public static let socketRemotePortNumberKey = Stream.PropertyKey("kCFStreamPropertySocketRemotePortNumber")
}
