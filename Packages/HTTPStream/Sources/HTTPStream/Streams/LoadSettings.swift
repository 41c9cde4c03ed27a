internal import HTTPMessage
internal import StreamKit

/// What a session adds to the options of a load. A separate object, because streams without a session have none of it.
final class SessionSettings: Sendable {
    /// The logins for the proxies of the route.
    let logins: ProxyLogins
    /// Whether to fail with ``ConnectionGone`` instead of opening a connection: the request's login is valid only on the idle one.
    let needsIdleConnection: Bool
    /// The protocol to which the request offers to switch; nil for none.
    let upgrade: String?
    /// The permission for the request, which ends when the connection is released; nil if there is no limit.
    let permit: OriginAdmission.Permit?

    init(logins: ProxyLogins, needsIdleConnection: Bool, upgrade: String?, permit: OriginAdmission.Permit?) {
        self.logins = logins
        self.needsIdleConnection = needsIdleConnection
        self.upgrade = upgrade
        self.permit = permit
    }
}

/// The options of a load, set before it begins.
struct LoadSettings: Sendable {
    /// The properties of the connection.
    var properties = StreamProperties()
    var followsRedirects = false
    var crossOrigin = CrossOriginPolicy()
    var keepsConnection = false
    var decodesContent = false
    var decodedLimit: Int64 = 1 << 30
    var continueLimit = Duration.seconds(1)
    var totalLimit: Duration?
    var responseLimit: Duration?
    var discardLimit = Duration.seconds(5)
    var limits = HTTPLimits.default
    var pool: HTTPConnectionPool?
    var proxies: ProxySettings? {
        get { proxyRules?.settings }
        set { proxyRules = newValue.map(ProxyRules.init) }
    }
    private var proxyRules: ProxyRules?
    /// What a session adds; nil for a stream of its own.
    var session: SessionSettings?

    /// Whether the request offers to switch to another protocol.
    var offersSwitch: Bool { session?.upgrade != nil }

    /// Whether no setting can route this load through a proxy: the common case, which then costs nothing.
    var namesNoProxy: Bool { proxyRules == nil && properties.isEmpty }

    /// The proxy settings that determine the routes; nil if the caller has named the routes.
    var usedProxySettings: ProxySettings? {
        guard let known = proxies, properties[.proxies]?.isEmpty != false, properties[.socksProxy] == nil else {
            return nil
        }
        return known
    }

    /// A separate object, because the settings are large and few loads have any.
    private final class ProxyRules: Sendable {
        let settings: ProxySettings

        init(_ settings: ProxySettings) {
            self.settings = settings
        }
    }

    /// Sets a property of HTTP streams or of their connections; nil restores its default. Returns false for any other
    /// property.
    mutating func set(_ value: (any Sendable)?, named name: String) -> Bool {
        switch name {
        case StreamProperty<Bool>.httpKeepsConnection.name:
            keepsConnection = value.flatMap(StreamProperty<Bool>.typed) ?? false
        case StreamProperty<HTTPConnectionPool>.httpPool.name:
            pool = value.flatMap(StreamProperty<HTTPConnectionPool>.typed)
        case StreamProperty<ProxySettings>.httpProxySettings.name: proxies = value as? ProxySettings
        case StreamProperty<Bool>.httpFollowsRedirects.name: followsRedirects = value as? Bool ?? false
        case StreamProperty<CrossOriginPolicy>.httpCrossOriginPolicy.name:
            crossOrigin = value as? CrossOriginPolicy ?? CrossOriginPolicy()
        case StreamProperty<Bool>.httpDecodesContent.name: decodesContent = value as? Bool ?? false
        case StreamProperty<Int64>.httpDecodedLimit.name:
            decodedLimit = value as? Int64 ?? LoadSettings().decodedLimit
        case StreamProperty<Duration>.httpTotalLimit.name: totalLimit = value as? Duration
        case StreamProperty<Duration>.httpResponseLimit.name:
            responseLimit = (value as? Duration).flatMap { $0 > .zero ? $0 : nil }
        case StreamProperty<Duration>.httpDiscardLimit.name:
            discardLimit = value as? Duration ?? LoadSettings().discardLimit
        case StreamProperty<Duration>.httpContinueLimit.name:
            continueLimit = value as? Duration ?? LoadSettings().continueLimit
        case StreamProperty<HTTPLimits>.httpLimits.name: limits = value as? HTTPLimits ?? .default
        // The stream itself enforces its read limit.
        case StreamProperty<Duration>.readLimit.name: return false
        default:
            guard StreamPropertyTable.connection.honours(name) else { return false }
            properties.set(value, named: name)
        }
        return true
    }

    /// The value of a property of HTTP streams, or of the connection if it was set.
    func value(named name: String) -> (any Sendable)? {
        switch name {
        case StreamProperty<Bool>.httpKeepsConnection.name: keepsConnection
        case StreamProperty<HTTPConnectionPool>.httpPool.name: pool
        case StreamProperty<ProxySettings>.httpProxySettings.name: proxies
        case StreamProperty<Bool>.httpFollowsRedirects.name: followsRedirects
        case StreamProperty<CrossOriginPolicy>.httpCrossOriginPolicy.name: crossOrigin
        case StreamProperty<Bool>.httpDecodesContent.name: decodesContent
        case StreamProperty<Int64>.httpDecodedLimit.name: decodedLimit
        case StreamProperty<Duration>.httpTotalLimit.name: totalLimit
        case StreamProperty<Duration>.httpResponseLimit.name: responseLimit
        case StreamProperty<Duration>.httpDiscardLimit.name: discardLimit
        case StreamProperty<Duration>.httpContinueLimit.name: continueLimit
        case StreamProperty<HTTPLimits>.httpLimits.name: limits
        default: properties.value(named: name)
        }
    }
}
