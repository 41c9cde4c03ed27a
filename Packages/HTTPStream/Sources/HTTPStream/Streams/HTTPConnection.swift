internal import EventLoops
internal import HTTPAuth
internal import HTTPMessage
@_spi(Packages) internal import StreamKit

/// One connection to a server, as the pool keeps it.
final class HTTPConnection: IdleConnection, @unchecked Sendable {
    // Unchecked: it has one owner at a time, which uses it inside a lock: the load that took or made it, or the pool.

    let pair: StreamPair
    let key: HTTPConnectionKey
    /// The proxy at which the connection ends; nil if it leads to the origin itself.
    let proxy: HTTPProxy?
    /// Whether the connection has carried a request before, so that the server may have closed it meanwhile.
    @exclusivity(unchecked) var isReused = false
    /// What carries requests.
    let line: Line
    /// Tells other loads what has become of the connection, which is being opened and may be one of HTTP/2; nil if none waits for that.
    let dial: HTTPDial?

    enum Line {
        /// One request at a time.
        case http1(HTTP1Link)
        /// A stream for each request; the pair belongs to the link.
        case http2(HTTP2ClientLink)
    }

    init(
        pair: StreamPair, key: HTTPConnectionKey, limits: HTTPLimits, proxy: HTTPProxy? = nil, dial: HTTPDial? = nil
    ) {
        self.pair = pair
        self.dial = dial
        self.key = key
        self.proxy = proxy
        line = .http1(HTTP1Link(pair, limits: limits))
    }

    /// Makes the use of a shared connection by one request.
    init(sharing link: HTTP2ClientLink, isReused: Bool, proxy: HTTPProxy? = nil) {
        pair = link.pair
        key = link.key
        self.proxy = proxy
        line = .http2(link)
        dial = nil
        self.isReused = isReused
    }

    /// Whether the connection uses TLS to the origin.
    var isSecure: Bool { key.origin.isSecure }

    /// Whether there is a ``proxy``, which is large: comparing it with nil would copy it.
    var endsAtProxy: Bool { if case .none = proxy { false } else { true } }

    /// What TLS has agreed on with the origin; nil for another connection. Requires that the connection is open.
    var security: ConnectionSecurity? {
        if !isSecure { return nil }
        return switch line {
        case .http1(let link): link.security
        case .http2(let link): link.security
        }
    }

    func close() { pair.close() }

    /// Whether the connection can carry another request: it is open and no unexpected bytes have arrived.
    ///
    /// Bytes that a server sends without a request, or the end of the connection, must not be taken for the response to the next
    /// request. The socket is therefore checked, which costs a system call, unless a read has emptied it within the time `trust`
    /// before `now`.
    func isIdle(_ now: Moment, trusting trust: Duration = .zero) -> Bool {
        guard case .http1(let link) = line, link.buffer.isEmpty else { return false }
        return link.wasDrained(within: trust, before: now) && key.isPlain ? pair.isOpen : pair.isIdle
    }

    /// Releases memory that the last request has taken.
    func shrink() {
        if case .http1(let link) = line { link.buffer.shrink() }
    }
}

/// What TLS has agreed on for a connection. Loads keep it when they give up the connection.
final class ConnectionSecurity: Sendable {
    let information: TLSInformation
    /// The channel binding (RFC 5929).
    let binding: [UInt8]?

    /// Returns nil without TLS.
    init?(of pair: StreamPair) {
        guard let information = pair[.tlsInformation] else { return nil }
        self.information = information
        binding = pair[.serverEndPointBinding]
    }
}

/// The values that must be equal for two requests to share a connection.
///
/// These are the endpoint and the options of the connection: the loop, and every property that distinguishes connections
/// (`ConnectionShape`: TLS, proxies, the local address, …).
///
/// A connection that ends at a proxy serves all `http` origins, since each request names its origin to the proxy. A login that
/// belongs to the connection then takes place once, and not once per origin.
///
/// A class, because each load of a shared connection keeps its key.
final class HTTPConnectionKey: Hashable, Sendable {
    /// The endpoint: the origin, or the proxy that takes requests for any origin.
    let origin: HTTPOrigin
    /// The caller's own fields of a login that may belong to the connection.
    private let ownLogin: Secret?
    private let loop: ObjectIdentifier
    /// The options that differ from the default; nil for the default, which then costs nothing.
    private let options: Options?
    /// The properties for ``isUsual(for:_:loop:)``; ``options`` has what must be equal of them.
    private let properties: StreamProperties
    /// The beginning of the URLs whose requests can use the connection as it is; empty if there are no such URLs. See
    /// ``isUsual(for:_:loop:)``.
    private let usualPrefix: [UInt8]

    /// - Parameters:
    ///   - endpoint: the endpoint that replaces the host of the origin.
    ///   - isTunnelled: whether the proxies of the connection establish tunnels, regardless of the scheme.
    init(
        _ origin: HTTPOrigin, _ properties: StreamProperties, endpoint: HTTPEndpoint? = nil, loop: EventLoop,
        ownLogin: Secret? = nil, isTunnelled: Bool = false
    ) {
        self.origin =
            properties.isEmpty || isTunnelled
            ? origin : HTTPConnectionKey.end(of: properties[.proxies] ?? [], to: origin)
        self.ownLogin = ownLogin
        self.loop = ObjectIdentifier(loop)
        options =
            properties.isEmpty && endpoint == nil
            ? nil : Options(properties, endpoint: endpoint, isSecure: origin.isSecure)
        self.properties = options == nil ? StreamProperties() : properties
        let isRouted = endpoint != nil || properties[.socksProxy] != nil || options?.proxies.isEmpty == false
        // A load refuses TLS options for `http` when it plans its route.
        let isRefused = !origin.isSecure && properties[.tls] != nil
        usualPrefix = ownLogin == nil && !isRouted && !isRefused ? Array((origin.plainPrefix ?? "").utf8) : []
    }

    /// The endpoint of routes to an origin: the proxy of the first one, if each route ends at a proxy that takes requests.
    private static func end(of routes: [ProxyRoute], to origin: HTTPOrigin) -> HTTPOrigin {
        let ends = routes.map(\.requestProxy)
        guard !origin.isSecure, let proxy = ends.first ?? nil, !ends.contains(nil) else { return origin }
        return HTTPOrigin(proxy)
    }

    /// Whether requests to this URL, without a route and a login of their own, can use the connection.
    ///
    /// Compares the bytes of a URL in plain form, without making an origin of them. False does not exclude that the keys are equal.
    ///
    /// - Parameter properties: the properties of their connection.
    func isUsual(for url: UnsafeBufferPointer<UInt8>, _ properties: StreamProperties, loop: ObjectIdentifier) -> Bool {
        self.loop == loop && self.properties.isCopy(of: properties)
            && PlainAuthority.isIn(url, endingAfter: usualPrefix)
    }

    /// Whether a proxy of the route received this login.
    func uses(_ login: HTTPLogin) -> Bool {
        options?.proxies.contains { $0.hops.contains { ($0 as? HTTPProxy)?.login === login } } ?? false
    }

    /// Whether the caller lets the server choose HTTP/1.1.
    var permitsHTTP1: Bool { applicationProtocols.isEmpty || applicationProtocols.contains(HTTPVersions.http1Protocol) }

    /// Whether the connection belongs to a login of the caller's.
    var isBound: Bool { ownLogin != nil }

    /// Whether the connection leads over plain TCP directly to the origin.
    var isPlain: Bool { options == nil && !origin.isSecure }

    /// The protocols that the caller offers by ALPN, instead of those of the versions of HTTP.
    var applicationProtocols: [String] { options?.applicationProtocols ?? [] }

    /// The endpoint that replaces the host of the origin; nil for the host itself.
    var endpoint: HTTPEndpoint? { options?.endpoint }

    static func == (left: HTTPConnectionKey, right: HTTPConnectionKey) -> Bool {
        if left === right { return true }
        return left.loop == right.loop && left.origin == right.origin && left.ownLogin == right.ownLogin
            && left.options == right.options
    }

    /// Hashes the origin only: hashing a TLS configuration with its certificates would cost more than comparing the few keys that
    /// differ only there.
    func hash(into hasher: inout Hasher) {
        origin.hash(into: &hasher)
    }
}

extension HTTPConnectionKey {
    /// The options that differ from the default. A class, because a TLS configuration is large, and few keys have one.
    private final class Options: Equatable, Sendable {
        let applicationProtocols: [String]
        let proxies: [ProxyRoute]
        let endpoint: HTTPEndpoint?
        private let shape: ConnectionShape

        /// Returns nil if nothing distinguishes the connection from the default.
        init?(_ properties: StreamProperties, endpoint: HTTPEndpoint?, isSecure: Bool) {
            var properties = properties
            if !isSecure { properties[.tls] = nil }  // the scheme decides about TLS
            applicationProtocols = properties[.tls]?.applicationProtocols ?? []
            proxies = properties[.proxies] ?? []
            if !proxies.isEmpty { properties[.socksProxy] = nil }  // proxies take precedence
            shape = ConnectionShape(of: properties, in: StreamKind.http.properties)
            self.endpoint = endpoint
            if shape.isUsual, endpoint == nil { return nil }
        }

        static func == (left: Options, right: Options) -> Bool {
            left.shape == right.shape && left.endpoint == right.endpoint
        }
    }
}

extension HTTPRequest {
    /// The fields of a login made by the caller, if the login may belong to the whole connection; nil without such a login. Only
    /// a request with the same fields, which is therefore the same user's, may follow on that connection.
    ///
    /// NTLM and Negotiate belong to the connection, and schemes with similar names (`Nego2`, `Negotiate-x`) are treated like
    /// them: a false match costs a connection, but a missed one gives another user this user's rights. Comparing the scheme alone
    /// would not suffice, since two users of one program may both use NTLM.
    ///
    /// A login of several legs has another field on each leg. A caller that makes these fields needs a separate pool:
    /// ``HTTPConnectionPool/init(limits:ofOneUser:)``.
    var connectionLogin: Secret? {
        if fields.isEmpty { return nil }
        var isBound = false
        var text = ""
        for name in [HTTPFieldName.authorization, .proxyAuthorization] {
            // Each of several fields: a server may accept any of them.
            for value in fields.values(for: name) {
                let scheme = value.prefix { $0 != " " && $0 != "\t" }.lowercased()
                if ["ntlm", "nego", "kerberos"].contains(where: scheme.hasPrefix) { isBound = true }
                text += "\(name): \(value)\n"
            }
        }
        return isBound ? Secret(text) : nil
    }
}
