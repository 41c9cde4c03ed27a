internal import Foundation
internal import StreamKit

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

/// The security levels and dictionaries with which Foundation's streams turn TLS on.
enum SecuritySettings {
    private enum Level {
        case none
        case tls

        /// Returns nil for SSL 2 and 3 and for unknown levels, which are never replaced silently. "TLSv1" means TLS, in
        /// the versions that are still allowed.
        init?(_ name: String) {
            switch name {
            case StreamSocketSecurityLevel.none.rawValue: self = .none
            case StreamSocketSecurityLevel.tlSv1.rawValue, StreamSocketSecurityLevel.negotiatedSSL.rawValue: self = .tls
            default: return nil
            }
        }
    }

    /// The negotiated level; before the handshake, the level that was set; nil for a stream that is not a connection.
    static func level(of stream: BridgedStreams) -> String? {
        guard stream.isConnection else { return nil }
        if let negotiated = stream.value(.tlsInformation) { return level(of: negotiated.version).rawValue }
        let level: StreamSocketSecurityLevel = stream.value(.tls) == nil ? .none : .negotiatedSSL
        return stream.level ?? level.rawValue
    }

    /// The constant for a version. CFNetwork has the same one for all versions of TLS.
    private static func level(of version: TLSVersion) -> StreamSocketSecurityLevel {
        switch version {
        case .tls12, .tls13: .tlSv1
        }
    }

    /// Refused for HTTP streams, whose URL decides whether TLS is used.
    static func setLevel(_ value: AnyObject?, on stream: BridgedStreams) -> Bool {
        guard stream.isConnection else { return false }
        guard let value else { return stream.secure(nil, level: nil) }
        guard let name = name(of: value), let level = Level(name) else { return false }
        switch level {
        case .none: return stream.secure(nil, level: nil)
        // Settings that were made before, such as the peer's name, stay in effect.
        case .tls: return stream.secure(stream.value(.tls) ?? TLSConfiguration(), level: name)
        }
    }

    static func setSettings(_ value: AnyObject?, on stream: BridgedStreams) -> Bool {
        guard let value else { return stream.secure(nil, level: nil) }
        guard let settings = value as? [AnyHashable: Any] else { return false }
        var configuration = TLSConfiguration()
        var level = StreamSocketSecurityLevel.negotiatedSSL.rawValue
        for (key, setting) in settings {
            guard
                let key = (key.base as? StreamSSLSetting) ?? (key.base as? String).map(StreamSSLSetting.init(rawValue:))
            else { return false }
            if key == .levelKey {
                guard let name = name(of: setting as AnyObject) else { return false }
                level = name
            } else if !apply(setting as AnyObject, for: key, to: &configuration) {
                return false
            }
        }
        switch Level(level) {
        case nil: return false
        case .some(.none): return stream.secure(nil, level: nil)
        case .tls?: break
        }
        if configuration.role == .server, configuration.identity == nil { return false }
        return stream.secure(configuration, level: level)
    }

    private static func apply(
        _ value: AnyObject, for key: StreamSSLSetting, to configuration: inout TLSConfiguration
    ) -> Bool {
        if key == .peerNameKey {
            if value is NSNull {
                if configuration.verification == .full { configuration.verification = .insecureNoNameCheck }
                return true
            }
            guard let name = value as? String else { return false }
            configuration.peerName = name
            return true
        }
        if key == .certificatesKey {
            guard let identities = value as? [TLSIdentity], identities.count == 1 else { return false }
            configuration.identity = identities[0]
            return true
        }
        guard let flag = (value as? NSNumber)?.boolValue else { return false }
        switch key {
        case .validatesCertificateChainKey: if !flag { configuration.verification = .insecureNone }
        case .isServerKey: configuration.role = flag ? .server : .client
        case .allowsExpiredCertificatesKey: configuration.insecureAllowsExpiredCertificates = flag
        case .allowsExpiredRootsKey: configuration.insecureAllowsExpiredRoots = flag
        case .allowsAnyRootKey: configuration.insecureAllowsAnyRoot = flag
        default: return false
        }
        return true
    }

    private static func name(of value: AnyObject) -> String? {
        (value as? StreamSocketSecurityLevel)?.rawValue ?? value as? String
    }
}
