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
    let permit: Admission.Permit?

    init(logins: ProxyLogins, needsIdleConnection: Bool, upgrade: String?, permit: Admission.Permit?) {
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
    var keepsConnection: Bool
    var decodesContent = false
    var pool: HTTPConnectionPool?
    /// The options that few loads change; nil if all have their defaults.
    private var uncommon: Uncommon?
    /// What a session adds; nil for a stream of its own.
    var session: SessionSettings?

    /// Makes the default options. With a pool, the connection is kept in it.
    init(pool: HTTPConnectionPool? = nil) {
        keepsConnection = pool != nil
        self.pool = pool
    }

    /// Whether the request offers to switch to another protocol.
    var offersSwitch: Bool { session?.upgrade != nil }

    /// What the carrier of a request adds to it.
    var preparation: RequestPreparation {
        RequestPreparation(
            keepsConnection: keepsConnection, decodesContent: decodesContent, upgrade: session?.upgrade,
            keepsEmptyUserAgent: keepsEmptyUserAgent)
    }

    /// Whether no setting can route this load through a proxy: the common case, which then costs nothing.
    var namesNoProxy: Bool { uncommon?.hasProxies != true && properties.isEmpty }

    /// The time for which the connection may accept no bytes of the request; nil for no limit.
    var writeTimeout: Duration? {
        properties.isEmpty ? nil : properties[.writeTimeout].flatMap { $0 > .zero ? $0 : nil }
    }

    /// The endpoint that replaces the host of an origin; nil for the host itself.
    func endpoint(of origin: HTTPOrigin) -> HTTPEndpoint? {
        properties.isEmpty ? nil : properties[.httpEndpoints]?[origin]
    }

    /// The proxy settings that determine the routes; nil if the caller has named the routes.
    var usedProxySettings: ProxySettings? {
        guard let known = proxies, properties[.proxies]?.isEmpty != false, properties[.socksProxy] == nil else {
            return nil
        }
        return known
    }

    /// The proxy settings, which determine a route for each URL.
    var proxies: ProxySettings? {
        get { uncommon?.options.proxies }
        set { change { $0.proxies = newValue } }
    }

    /// The value of `Host` for the origin that the application named; nil for that of the URL.
    var host: String? {
        get { uncommon?.options.host }
        set { change { $0.host = newValue } }
    }

    /// Whether an empty `User-Agent` of the caller's is sent.
    var keepsEmptyUserAgent: Bool {
        get { uncommon?.options.keepsEmptyUserAgent ?? false }
        set { change { $0.keepsEmptyUserAgent = newValue } }
    }

    var limits: HTTPLimits {
        get { uncommon?.options.limits ?? .default }
        set { change { $0.limits = newValue } }
    }

    var crossOrigin: CrossOriginPolicy {
        get { uncommon?.options.crossOrigin ?? CrossOriginPolicy() }
        set { change { $0.crossOrigin = newValue } }
    }

    var decodedLength: Int64 {
        get { uncommon?.options.decodedLength ?? UncommonOptions().decodedLength }
        set { change { $0.decodedLength = newValue } }
    }

    var continueTimeout: Duration {
        get { uncommon?.options.continueTimeout ?? UncommonOptions().continueTimeout }
        set { change { $0.continueTimeout = newValue } }
    }

    var discardTimeout: Duration {
        get { uncommon?.options.discardTimeout ?? UncommonOptions().discardTimeout }
        set { change { $0.discardTimeout = newValue } }
    }

    var totalTimeout: Duration? {
        get { uncommon?.options.totalTimeout }
        set { change { $0.totalTimeout = newValue } }
    }

    var responseTimeout: Duration? {
        get { uncommon?.options.responseTimeout }
        set { change { $0.responseTimeout = newValue } }
    }

    /// Sets several options at once.
    mutating func set(_ limits: HTTPLimits, responseTimeout: Duration, discardTimeout: Duration) {
        change { options in
            options.limits = limits
            options.responseTimeout = responseTimeout > .zero ? responseTimeout : nil
            options.discardTimeout = discardTimeout
        }
    }

    private mutating func change(_ body: (inout UncommonOptions) -> Void) {
        var options = uncommon?.options ?? UncommonOptions()
        body(&options)
        uncommon = Uncommon(options)
    }

    private struct UncommonOptions {
        var proxies: ProxySettings?
        var host: String?
        var keepsEmptyUserAgent = false
        var limits = HTTPLimits.default
        var crossOrigin = CrossOriginPolicy()
        var decodedLength: Int64 = 1 << 30
        var totalTimeout: Duration?
        var responseTimeout: Duration?
        var continueTimeout = Duration.seconds(1)
        var discardTimeout = Duration.seconds(5)
    }

    /// A separate object, because a load is moved, copied and destroyed with each of its fields.
    private final class Uncommon: Sendable {
        let options: UncommonOptions
        /// Whether there are proxy settings. They are large: comparing them with nil would copy them.
        let hasProxies: Bool

        init(_ options: UncommonOptions) {
            self.options = options
            hasProxies = options.proxies != nil
        }
    }

    /// Sets a property of HTTP streams or of their connections; nil restores its default. Returns false for any other
    /// property.
    ///
    /// - Throws: `EINVAL` for a value that the property cannot have.
    mutating func set(_ value: borrowing StreamPropertyValue, named name: String) throws(StreamError) -> Bool {
        switch name {
        case StreamProperty<HTTPConnectionPool>.httpPool.name:
            pool = value.as(HTTPConnectionPool.self)
        case StreamProperty<Bool>.httpKeepsConnection.name:
            keepsConnection = value.as(Bool.self) ?? false
        case StreamProperty<ProxySettings>.httpProxySettings.name: proxies = value.as(ProxySettings.self)
        case StreamProperty<Bool>.httpFollowsRedirects.name: followsRedirects = value.as(Bool.self) ?? false
        case StreamProperty<CrossOriginPolicy>.httpCrossOriginPolicy.name:
            crossOrigin = value.as(CrossOriginPolicy.self) ?? CrossOriginPolicy()
        case StreamProperty<Bool>.httpDecodesContent.name: decodesContent = value.as(Bool.self) ?? false
        case StreamProperty<Int64>.httpDecodedLength.name:
            decodedLength = value.as(Int64.self) ?? LoadSettings().decodedLength
        case StreamProperty<Duration>.httpTotalTimeout.name: totalTimeout = value.as(Duration.self)
        case StreamProperty<Duration>.httpResponseTimeout.name:
            responseTimeout = value.as(Duration.self).flatMap { $0 > .zero ? $0 : nil }
        case StreamProperty<Duration>.httpDiscardTimeout.name:
            discardTimeout = value.as(Duration.self) ?? LoadSettings().discardTimeout
        case StreamProperty<Duration>.httpContinueTimeout.name:
            continueTimeout = value.as(Duration.self) ?? LoadSettings().continueTimeout
        case StreamProperty<HTTPLimits>.httpLimits.name: limits = value.as(HTTPLimits.self) ?? .default
        case StreamProperty<String>.httpHost.name:
            let text = value.as(String.self)
            if let text, !HTTPOrigin.isHost(text) { throw .invalidHost(text) }
            host = text
        case StreamProperty<Bool>.httpKeepsEmptyUserAgent.name: keepsEmptyUserAgent = value.as(Bool.self) ?? false
        // The stream itself enforces its read limit.
        case StreamProperty<Duration>.readTimeout.name: return false
        default:
            guard StreamKind.http.properties.honours(name) else { return false }
            properties.set(value.any, named: name)
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
        case StreamProperty<Int64>.httpDecodedLength.name: decodedLength
        case StreamProperty<Duration>.httpTotalTimeout.name: totalTimeout
        case StreamProperty<Duration>.httpResponseTimeout.name: responseTimeout
        case StreamProperty<Duration>.httpDiscardTimeout.name: discardTimeout
        case StreamProperty<Duration>.httpContinueTimeout.name: continueTimeout
        case StreamProperty<HTTPLimits>.httpLimits.name: limits
        case StreamProperty<String>.httpHost.name: host
        case StreamProperty<Bool>.httpKeepsEmptyUserAgent.name: keepsEmptyUserAgent
        default: properties.value(named: name)
        }
    }
}
