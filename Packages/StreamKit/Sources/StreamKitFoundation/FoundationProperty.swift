internal import Foundation
internal import StreamKit

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
    case forbidsCellular
    case isCellular
    case allowsExpensiveAccess
    case isExpensive
    case allowsConstrainedAccess

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
        case .forbidsCellular: Stream.PropertyKey("kCFStreamPropertyNoCellular")
        case .isCellular: Stream.PropertyKey("kCFStreamPropertyConnectionIsCellular")
        case .allowsExpensiveAccess: Stream.PropertyKey("kCFStreamPropertyAllowExpensiveNetworkAccess")
        case .isExpensive: Stream.PropertyKey("kCFStreamPropertyConnectionIsExpensive")
        case .allowsConstrainedAccess: Stream.PropertyKey("kCFStreamPropertyAllowConstrainedNetworkAccess")
        }
    }

    init?(_ key: Stream.PropertyKey) {
        guard let found = FoundationProperty.allCases.first(where: { $0.key == key }) else { return nil }
        self = found
    }

    // MARK: Reading

    func value(of stream: BridgedConnection) -> AnyObject? {
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
        case .forbidsCellular: stream.value(.forbidsCellular).map { NSNumber(value: $0) }
        case .isCellular: stream.value(.isCellular).map { NSNumber(value: $0) }
        case .allowsExpensiveAccess: stream.value(.allowsExpensiveAccess).map { NSNumber(value: $0) }
        case .isExpensive: stream.value(.isExpensive).map { NSNumber(value: $0) }
        case .allowsConstrainedAccess: stream.value(.allowsConstrainedAccess).map { NSNumber(value: $0) }
        }
    }

    // MARK: Setting

    func set(_ value: AnyObject?, on stream: BridgedConnection) -> Bool {
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
        case .forbidsCellular: Self.setFlag(value, .forbidsCellular, on: stream)
        case .allowsExpensiveAccess: Self.setFlag(value, .allowsExpensiveAccess, on: stream)
        case .allowsConstrainedAccess: Self.setFlag(value, .allowsConstrainedAccess, on: stream)
        case .peerCertificates, .peerTrust, .dataWritten, .nativeHandle, .remoteHostName, .remotePort, .isCellular,
            .isExpensive:
            false
        }
    }

    /// Calls `set` with a `Value` or nil. Returns false for any other object.
    private static func set<Value>(_ value: AnyObject?, as type: Value.Type, _ set: (Value?) -> Bool) -> Bool {
        guard let value else { return set(nil) }
        guard let typed = value as? Value else { return false }
        return set(typed)
    }

    private static func setFlag(
        _ value: AnyObject?, _ property: StreamProperty<Bool>, on stream: BridgedConnection
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

    private static func setServiceType(_ value: AnyObject?, on stream: BridgedConnection) -> Bool {
        guard let value else { return stream.set(.serviceType, to: nil) }
        let name = (value as? StreamNetworkServiceTypeValue)?.rawValue ?? value as? String
        guard let type = serviceNames.first(where: { name == "kCFStreamNetworkServiceType\($0.0)" })?.1 else {
            return false
        }
        return stream.set(.serviceType, to: type)
    }
}
