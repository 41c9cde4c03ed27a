public import Foundation
internal import StreamKit

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

/// The properties that Foundation identifies by a key and an object, and the stream properties that they correspond to.
enum FoundationProperty: CaseIterable {
    case securityLevel
    case sslSettings
    case sslContext
    case peerCertificates
    case peerTrust
    case socksProxy
    case dataWritten
    case fileOffset
    case appendToFile
    case serviceType
    case nativeHandle
    case closesNativeSocket
    case remoteHostName
    case remotePort

    var key: Stream.PropertyKey {
        switch self {
        case .securityLevel: .socketSecurityLevelKey
        case .sslSettings: .sslSettingsKey
        case .sslContext: .sslContextKey
        case .peerCertificates: .sslPeerCertificatesKey
        case .peerTrust: .sslPeerTrustKey
        case .socksProxy: .socksProxyConfigurationKey
        case .dataWritten: .dataWrittenToMemoryStreamKey
        case .fileOffset: .fileCurrentOffsetKey
        case .appendToFile: .appendToFileKey
        case .serviceType: .networkServiceType
        case .nativeHandle: .socketNativeHandleKey
        case .closesNativeSocket: .shouldCloseNativeSocketKey
        case .remoteHostName: .socketRemoteHostNameKey
        case .remotePort: .socketRemotePortNumberKey
        }
    }

    init?(_ key: Stream.PropertyKey) {
        guard let found = FoundationProperty.allCases.first(where: { $0.key == key }) else { return nil }
        self = found
    }

    // MARK: Reading

    func value(of stream: BridgedStreams) -> AnyObject? {
        switch self {
        case .securityLevel: SecuritySettings.level(of: stream).map { NSString(string: $0) }
        case .sslSettings: nil
        case .sslContext: stream.value(.tls).map { $0 as AnyObject }
        case .peerCertificates:
            stream.value(.tlsInformation).map { tls in
                NSArray(array: tls.peerCertificates.map { NSData(data: Data($0.der)) })
            }
        case .peerTrust: stream.value(.tlsInformation).map { $0 as AnyObject }
        case .socksProxy: stream.value(.socksProxy).map(SOCKSSettings.dictionary(of:))
        case .dataWritten: stream.value(.dataWritten).map { NSData(data: Data($0)) }
        case .fileOffset: stream.value(.fileOffset).map { NSNumber(value: $0) }
        case .appendToFile: stream.value(.appendToFile).map { NSNumber(value: $0) }
        case .serviceType: stream.value(.serviceType).map { NSString(string: Self.name(of: $0)) }
        case .nativeHandle:
            stream.value(.nativeDescriptor).map { descriptor in
                withUnsafeBytes(of: descriptor) { NSData(data: Data($0)) }
            }
        case .closesNativeSocket: stream.value(.closesDescriptor).map { NSNumber(value: $0) }
        case .remoteHostName: stream.value(.remoteHostName).map { NSString(string: $0) }
        case .remotePort: stream.value(.remotePort).map { NSNumber(value: $0) }
        }
    }

    // MARK: Setting

    func set(_ value: AnyObject?, on stream: BridgedStreams) -> Bool {
        switch self {
        case .securityLevel: SecuritySettings.setLevel(value, on: stream)
        case .sslSettings: SecuritySettings.setSettings(value, on: stream)
        case .sslContext: Self.set(value, as: TLSConfiguration.self) { stream.secure($0, level: nil) }
        case .socksProxy: SOCKSSettings.set(value, on: stream)
        case .fileOffset:
            Self.set(value, as: NSNumber.self) { number in
                number.map { $0.int64Value >= 0 && stream.set(.fileOffset, to: $0.uint64Value) } ?? false
            }
        case .serviceType: Self.setServiceType(value, on: stream)
        case .appendToFile: Self.setFlag(value, .appendToFile, on: stream)
        case .closesNativeSocket: Self.setFlag(value, .closesDescriptor, on: stream)
        case .peerCertificates, .peerTrust, .dataWritten, .nativeHandle, .remoteHostName, .remotePort: false
        }
    }

    /// Calls `set` with a `Value` or nil. Returns false for any other object.
    private static func set<Value>(_ value: AnyObject?, as type: Value.Type, _ set: (Value?) -> Bool) -> Bool {
        guard let value else { return set(nil) }
        guard let typed = value as? Value else { return false }
        return set(typed)
    }

    private static func setFlag(
        _ value: AnyObject?, _ property: StreamProperty<Bool>, on stream: BridgedStreams
    ) -> Bool {
        set(value, as: NSNumber.self) { stream.set(property, to: $0?.boolValue) }
    }

    // MARK: Service types

    private static let serviceNames: [(String, NetworkServiceType)] = [
        ("Background", .background), ("Voice", .voice), ("Video", .video), ("CallSignaling", .callSignaling),
        ("ResponsiveData", .responsiveData), ("AVStreaming", .mediaStreaming), ("ResponsiveAV", .responsiveMedia),
        // Long without effect on Apple's platforms.
        ("VoIP", .standard),
    ]

    private static func name(of type: NetworkServiceType) -> String {
        "kCFStreamNetworkServiceType\(serviceNames.first { $0.1 == type }?.0 ?? "Default")"
    }

    private static func setServiceType(_ value: AnyObject?, on stream: BridgedStreams) -> Bool {
        guard let value else { return stream.set(.serviceType, to: nil) }
        let name = (value as? StreamNetworkServiceTypeValue)?.rawValue ?? value as? String
        guard let type = serviceNames.first(where: { name == "kCFStreamNetworkServiceType\($0.0)" })?.1 else {
            return false
        }
        return stream.set(.serviceType, to: type)
    }
}

/// The dictionary that describes a SOCKS proxy to Foundation's streams, with Foundation's keys or those of system
/// settings.
enum SOCKSSettings {
    private static let hosts = [StreamSOCKSProxyConfiguration.hostKey.rawValue, "SOCKSProxy"]
    private static let ports = [StreamSOCKSProxyConfiguration.portKey.rawValue, "SOCKSPort"]

    static func set(_ value: AnyObject?, on stream: BridgedStreams) -> Bool {
        guard stream.honours(.socksProxy) else { return false }
        guard let value else { return stream.set(.socksProxy, to: nil) }
        if let proxy = value as? SOCKSProxy { return stream.set(.socksProxy, to: proxy) }
        guard let settings = value as? [AnyHashable: Any] else { return false }
        var named: [String: Any] = [:]
        for (key, setting) in settings {
            guard let name = (key.base as? StreamSOCKSProxyConfiguration)?.rawValue ?? key.base as? String else {
                return false
            }
            named[name] = setting
        }
        // Turned off, or not for this host: no proxy, even if one was set before.
        if let isOn = named["SOCKSEnable"] as? NSNumber, !isOn.boolValue { return stream.set(.socksProxy, to: nil) }
        if isExempt(stream.value(.remoteHostName), named) { return stream.set(.socksProxy, to: nil) }
        guard let proxy = proxy(named) else { return false }
        return stream.set(.socksProxy, to: proxy)
    }

    private static func isExempt(_ host: String?, _ settings: [String: Any]) -> Bool {
        guard let host else { return false }
        let isLocal = (settings["ExcludeSimpleHostnames"] as? NSNumber)?.boolValue ?? false
        let exceptions = settings["ExceptionsList"] as? [String] ?? []
        return ProxyBypassList(exceptions: exceptions + (isLocal ? ["<local>"] : [])).covers(host: host)
    }

    private static func proxy(_ settings: [String: Any]) -> SOCKSProxy? {
        guard let host = hosts.lazy.compactMap({ settings[$0] as? String }).first, !host.isEmpty else { return nil }
        var proxy = SOCKSProxy(host: host)
        if let port = ports.lazy.compactMap({ settings[$0] as? NSNumber }).first {
            guard let port = UInt16(exactly: port.intValue), port > 0 else { return nil }
            proxy.port = port
        }
        if let version = settings[StreamSOCKSProxyConfiguration.versionKey.rawValue] {
            switch (version as? StreamSOCKSProxyVersion)?.rawValue ?? version as? String {
            case StreamSOCKSProxyVersion.version4.rawValue:
                proxy = SOCKSProxy(host: host, port: proxy.port, version: .v4)
            case StreamSOCKSProxyVersion.version5.rawValue: break
            default: return nil
            }
        }
        proxy.user = settings[StreamSOCKSProxyConfiguration.userKey.rawValue] as? String
        proxy.password = settings[StreamSOCKSProxyConfiguration.passwordKey.rawValue] as? String
        if proxy.password?.isEmpty == false, proxy.version == .v4 || proxy.user == nil { return nil }
        let limit = proxy.version == .v4 ? SOCKSProxy.maximumUserIDLength : SOCKSProxy.maximumFieldLength
        let isCarried =
            (proxy.user?.utf8.count ?? 0) <= limit && (proxy.password?.utf8.count ?? 0) <= SOCKSProxy.maximumFieldLength
        return isCarried ? proxy : nil
    }

    /// The proxy that was set, without the password.
    static func dictionary(of proxy: SOCKSProxy) -> NSDictionary {
        let version: StreamSOCKSProxyVersion = proxy.version == .v4 ? .version4 : .version5
        var settings: [String: Any] = [
            StreamSOCKSProxyConfiguration.hostKey.rawValue: proxy.host,
            StreamSOCKSProxyConfiguration.portKey.rawValue: Int(proxy.port),
            StreamSOCKSProxyConfiguration.versionKey.rawValue: version.rawValue,
        ]
        settings[StreamSOCKSProxyConfiguration.userKey.rawValue] = proxy.user
        return NSDictionary(dictionary: settings)
    }
}
