internal import CFNetworkC
internal import CoreFoundation
internal import Foundation
internal import HTTPMessage
internal import HTTPStream
internal import HostResolver
internal import StreamKit

/// A property of a stream under its key: the conversions of its value from and to objects of CoreFoundation.
struct StreamKey: Sendable {
    /// The value; nil if the stream has none, or none yet.
    let value: @Sendable (StreamState) -> AnyObject?
    /// Sets the value, nil for the default. Returns whether the stream honours it. Nil for a property that is only read.
    let set: (@Sendable (StreamState, AnyObject?) -> Bool)?
}

/// The properties of one kind of stream, beyond those that Foundation's streams have.
typealias StreamKeys = [String: StreamKey]

extension StreamKey {
    /// A property that is only read.
    static func reading(_ value: @escaping @Sendable (StreamState) -> AnyObject?) -> StreamKey {
        StreamKey(value: value, set: nil)
    }

    /// A CFBoolean.
    static func flag(_ property: StreamProperty<Bool>) -> StreamKey {
        StreamKey(
            value: { $0.value(property).map { $0 ? kCFBooleanTrue : kCFBooleanFalse } },
            set: { stream, value in
                guard let value else { return stream.set(property, to: nil) }
                guard let flag = value as? NSNumber else { return false }
                return stream.set(property, to: flag.boolValue)
            })
    }

    /// A CFString. A password is not read back.
    static func text(_ property: StreamProperty<String>, isSecret: Bool = false) -> StreamKey {
        StreamKey(
            value: { isSecret ? nil : $0.value(property).map { NSString(string: $0) } },
            set: { stream, value in
                guard let value else { return stream.set(property, to: nil) }
                guard let text = value as? String else { return false }
                return stream.set(property, to: text)
            })
    }

    /// A CFNumber that is not negative.
    static func count(_ property: StreamProperty<UInt64>) -> StreamKey {
        StreamKey(
            value: { $0.value(property).map { NSNumber(value: $0) } },
            set: { stream, value in
                guard let value else { return stream.set(property, to: nil) }
                guard let number = value as? NSNumber, number.int64Value >= 0 else { return false }
                return stream.set(property, to: number.uint64Value)
            })
    }

    /// A dictionary, which is read back as it was set. `apply` sets its contents.
    static func dictionary(
        _ key: String, _ apply: @escaping @Sendable (StreamState, NSDictionary?) -> Bool
    ) -> StreamKey {
        StreamKey(
            value: { $0.settings[key] },
            set: { stream, value in
                let dictionary = (value as? [AnyHashable: Any]).map { NSDictionary(dictionary: $0) }
                if value != nil, dictionary == nil { return false }
                guard apply(stream, dictionary) else { return false }
                stream.settings[key] = dictionary
                return true
            })
    }
}

extension [String: StreamKey] {
    /// The properties that have no meaning on Linux: they have no value, and cannot be set.
    private static let meaningless = [
        __kCFStreamPropertySSLContext, __kCFStreamPropertyNoCellular,
        __kCFStreamPropertyConnectionIsCellular, __kCFStreamPropertyAllowExpensiveNetworkAccess,
        __kCFStreamPropertyConnectionIsExpensive, __kCFStreamPropertyAllowConstrainedNetworkAccess,
        __kCFStreamPropertySocketExtendedBackgroundIdleMode,
    ].map { (string($0), StreamKey.reading { _ in nil }) }

    /// The properties of connections.
    static let socket: StreamKeys = honoured.merging(meaningless) { $1 }

    private static let honoured: StreamKeys = [
        string(kCFStreamPropertySOCKSProxy): .socksProxy,
        string(__kCFStreamPropertySSLSettings): .sslSettings,
        string(kCFStreamPropertySocketSecurityLevel): .securityLevel,
        string(__kCFStreamPropertySSLPeerCertificates): .reading { stream in
            stream.value(.tlsInformation).map { CertificateContent.makeArray($0.peerCertificates).takeRetainedValue() }
        },
        string(__kCFStreamPropertySSLPeerTrust): .peerTrust,
        string(__kCFStreamPropertySocketRemoteHost): .reading { stream in
            stream.value(.remoteHost).flatMap { HostState.makeHost(nil, $0.copy())?.takeRetainedValue() }
        },
        string(__kCFStreamPropertySocketRemoteNetService): .reading { stream in
            stream.value(.remoteService).flatMap { service in
                NetServiceState.makeService(
                    nil, domain: service.domain, type: service.type, .init(name: service.name, port: 0)
                )?.takeRetainedValue()
            }
        },
        string(__kCFStreamPropertyCONNECTProxy): .connectProxy,
        string(__kCFStreamPropertyCONNECTResponse): .reading { stream in
            stream.value(.httpProxyResponse).flatMap { HTTPMessageState.makeMessage(AnyHTTPMessage($0)) }
        },
    ]
}

/// The service of a pair, under its names as the program gave them.
struct RemoteService: Sendable {
    let name: String
    let type: String
    let domain: String
}

extension StreamProperty where Value == RemoteService {
    /// The service that a pair was created with.
    static var remoteService: Self { .init("CFNetwork.remoteService", access: .beforeOpen) }
}

extension StreamKey {
    /// The dictionary of a proxy that establishes tunnels.
    fileprivate static var connectProxy: StreamKey {
        .dictionary(string(__kCFStreamPropertyCONNECTProxy)) { stream, dictionary in
            guard stream.status == .notOpen else { return false }
            guard let dictionary else { return stream.set(.proxies, to: nil) }
            guard let proxy = HTTPProxy(dictionary: dictionary) else { return false }
            return stream.set(.socksProxy, to: nil) && stream.set(.proxies, to: [ProxyRoute(proxy)])
        }
    }

    /// The dictionary of a SOCKS proxy; the password is not read back.
    fileprivate static var socksProxy: StreamKey {
        let key = string(kCFStreamPropertySOCKSProxy)
        return StreamKey(
            value: { stream in
                guard let proxy = stream.value(.socksProxy) else { return nil }
                let version = proxy.version == .v4 ? kCFStreamSocketSOCKSVersion4 : kCFStreamSocketSOCKSVersion5
                let settings: [String: Any?] = [
                    string(kCFStreamPropertySOCKSProxyHost): proxy.host,
                    string(kCFStreamPropertySOCKSProxyPort): Int(proxy.port),
                    string(kCFStreamPropertySOCKSVersion): string(version),
                    string(kCFStreamPropertySOCKSUser): proxy.user,
                ]
                return NSDictionary(dictionary: settings.compactMapValues { $0 })
            },
            set: { $0.setFoundationValue($1, key) })
    }

    /// The certificates that the peer sent, to evaluate them as the stream does, or would without its relaxations.
    fileprivate static var peerTrust: StreamKey {
        .reading { stream in
            guard let tls = stream.value(.tlsInformation), !tls.peerCertificates.isEmpty else { return nil }
            let isAnyName = tls.verification == .insecureNoNameCheck
            let policy: TrustPolicy =
                stream.value(.tls)?.role == .server ? .client(nil) : .server(isAnyName ? nil : tls.peerName)
            return (TrustContent.make(tls.peerCertificates, [policy]) as Unmanaged<AnyObject>?)?.takeRetainedValue()
        }
    }

    /// The identity of TLS settings: a SecIdentityRef, with certificates of authorities after it, or PEM text in one or more CFData.
    fileprivate static func identity(_ parts: Any) -> TLSIdentity? {
        if let texts = parts as? [Data], !texts.isEmpty {
            return try? TLSIdentity(pem: [UInt8](texts.joined(separator: "\n".utf8)))
        }
        guard let objects = parts as? [AnyObject], let first = objects.first,
            let identity = IdentityContent.identity(of: first)
        else { return nil }
        let authorities = objects.dropFirst().map { CertificateContent.certificate(of: $0) }
        guard authorities.allSatisfy({ $0 != nil }) else { return nil }
        return identity.adding(authorities.compactMap { $0 })
    }

    /// The dictionary of TLS settings.
    fileprivate static var sslSettings: StreamKey {
        let key = string(__kCFStreamPropertySSLSettings)
        let certificates = string(__kCFStreamSSLCertificates)
        return .dictionary(key) { stream, settings in
            // A pair is set up through each of its streams, although one suffices.
            if stream.status != .notOpen, let settings, stream.settings[key] == settings { return true }
            guard let settings else { return stream.setFoundationValue(nil, key) }
            guard let parts = settings[certificates] else { return stream.setFoundationValue(settings, key) }
            guard let identity = identity(parts) else { return false }
            var converted = settings as? [AnyHashable: Any] ?? [:]
            converted[certificates] = [identity]
            return stream.setFoundationValue(NSDictionary(dictionary: converted), key)
        }
    }

    /// A level of security. The level of an open stream begins TLS at once, as the settings do.
    fileprivate static var securityLevel: StreamKey {
        let key = string(kCFStreamPropertySocketSecurityLevel)
        return StreamKey(
            value: { $0.foundationValue(key) },
            set: { stream, value in
                let kept = (value as? String).map { NSDictionary(object: $0, forKey: NSString(string: key)) }
                if stream.status != .notOpen, let kept, stream.settings[key] == kept { return true }
                guard stream.setFoundationValue(value, key) else { return false }
                stream.settings[key] = kept
                // Without TLS, the settings have no effect any more.
                if stream.value(.tls) == nil, stream.value(.tlsInformation) == nil {
                    stream.settings[string(__kCFStreamPropertySSLSettings)] = nil
                }
                return true
            })
    }
}
