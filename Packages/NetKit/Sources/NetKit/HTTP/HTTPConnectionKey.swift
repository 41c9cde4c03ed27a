internal import EventLoops
internal import HTTPAuth
internal import StreamKit

/// Everything that must be equal for two requests to share a connection.
///
/// Not only whom it leads to, but how it was made: any difference in the loop or in a property that makes a connection
/// another one (`ConnectionShape`: TLS, proxies, the own address, …) is a different connection.
///
/// A connection that ends at a proxy, which is told of each request whom it is for, is one for all such origins: a login
/// that belongs to the connection then takes place once, and not for each origin anew.
struct HTTPConnectionKey: Hashable, Sendable {
    /// Whom it leads to: the origin, or the proxy that takes requests for any.
    let origin: HTTPOrigin
    /// The caller's own fields of a login that may belong to the connection.
    private let ownLogin: Secret?
    private let loop: ObjectIdentifier
    /// How it is made; nil for the usual way, so that this costs nothing.
    private let manner: Manner?

    init(_ origin: HTTPOrigin, _ properties: StreamProperties, loop: EventLoop, ownLogin: Secret? = nil) {
        self.origin = properties.isEmpty ? origin : HTTPConnectionKey.end(of: properties[.proxies] ?? [], to: origin)
        self.ownLogin = ownLogin
        self.loop = ObjectIdentifier(loop)
        manner = properties.isEmpty ? nil : Manner(properties, isSecure: origin.isSecure)
    }

    /// Where ways to an origin end: at the first one's proxy if each ends at one that takes requests.
    private static func end(of routes: [ProxyRoute], to origin: HTTPOrigin) -> HTTPOrigin {
        let ends = routes.map { $0.hops.last as? HTTPProxy }
        guard !origin.isSecure, let proxy = ends.first ?? nil, !ends.contains(nil) else { return origin }
        return HTTPOrigin(proxy)
    }

    /// Whether a proxy on the way was told this login.
    func uses(_ login: KnownAuthentication) -> Bool {
        manner?.proxies.contains { $0.hops.contains { ($0 as? HTTPProxy)?.login === login } } ?? false
    }

    /// It leads over plain TCP straight to the origin.
    var isPlain: Bool { manner == nil && !origin.isSecure }

    /// The caller's wishes for TLS.
    var tls: TLSConfiguration? { manner?.tls }

    static func == (left: HTTPConnectionKey, right: HTTPConnectionKey) -> Bool {
        left.loop == right.loop && left.origin == right.origin && left.ownLogin == right.ownLogin
            && (left.manner === right.manner || left.manner == right.manner)
    }

    /// Of the origin only: hashing a TLS configuration with its certificates would cost more than the few keys that
    /// differ in nothing else.
    func hash(into hasher: inout Hasher) {
        origin.hash(into: &hasher)
    }
}

extension HTTPConnectionKey {
    /// What was asked for beyond the usual. A class because it is kept in several places, and a TLS configuration is large.
    private final class Manner: Equatable, Sendable {
        let tls: TLSConfiguration?
        let proxies: [ProxyRoute]
        private let shape: ConnectionShape

        /// Nil if nothing that is set makes a difference.
        init?(_ properties: StreamProperties, isSecure: Bool) {
            var properties = properties
            if !isSecure { properties[.tls] = nil }  // the scheme decides
            tls = properties[.tls]
            proxies = properties[.proxies] ?? []
            if !proxies.isEmpty { properties[.socksProxy] = nil }  // they count
            shape = ConnectionShape(of: properties, in: .connection)
            if shape.isUsual { return nil }
        }

        static func == (left: Manner, right: Manner) -> Bool { left.shape == right.shape }
    }
}
