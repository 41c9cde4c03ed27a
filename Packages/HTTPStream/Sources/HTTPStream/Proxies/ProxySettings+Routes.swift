public import FoundationEssentials
internal import HTTPAuth
public import StreamKit

extension ProxyServer {
    /// Returns the proxy as an HTTP proxy; nil for a SOCKS proxy.
    ///
    /// User and password, if any, become the proxy's ``HTTPProxy/account``: sent after the proxy's challenge, or before it if
    /// `ProxyServer.sendsLoginUnasked` is set.
    ///
    /// - Parameter tls: for a proxy of kind `ProxyServer.Kind.https`.
    /// - Throws: `EINVAL` for a password without a user, and for a user that contains a colon and is to be sent before a
    ///   challenge, since Basic cannot represent it.
    public func httpProxy(tls: TLSConfiguration = TLSConfiguration()) throws(StreamError) -> HTTPProxy? {
        guard kind == .http || kind == .https else { return nil }
        var proxy = HTTPProxy(host: host, port: port, tls: kind == .https ? tls : nil)
        proxy.usesTunnels = usesTunnels
        guard let user else {
            if password == nil { return proxy }
            throw StreamError(
                posix: 22,  // EINVAL
                Sentence(
                    "proxy.password", "The proxy %1 has a password and no user: set both, or neither.",
                    proxy.hostAndPort))
        }
        guard !sendsLoginUnasked || !user.utf8.contains(UInt8(ascii: ":")) else {
            throw StreamError(
                posix: 22,  // EINVAL
                Sentence(
                    "proxy.user", "The user for the proxy %1 contains a colon, which Basic cannot send.",
                    proxy.hostAndPort))
        }
        proxy.account = HTTPProxy.Account(
            user: user, password: Secret(password ?? ""), isSentUnasked: sendsLoginUnasked)
        return proxy
    }

    /// Returns the proxy as one hop of a route, without the hops of `ProxyServer.via`.
    ///
    /// - Parameter tls: for a proxy of kind `ProxyServer.Kind.https`.
    public func hop(tls: TLSConfiguration = TLSConfiguration()) throws(StreamError) -> any StreamProxy {
        if let proxy = try httpProxy(tls: tls) { return proxy }
        return socksProxy ?? SOCKSProxy(host: host, port: port, user: user, password: password)
    }

    /// The hops of the route through the proxy, including those of `ProxyServer.via`.
    fileprivate func hops(tls: TLSConfiguration) throws(StreamError) -> [any StreamProxy] {
        var hops: [any StreamProxy] = []
        for nearer in via { hops += try nearer.hops(tls: tls) }
        return hops + [try hop(tls: tls)]
    }
}

extension ProxySettings {
    /// Returns the routes for a URL, for `StreamProperty.proxies`.
    ///
    /// ```swift
    /// try stream.set(.proxies, to: try ProxySettings.environment().routes(for: url))
    /// ```
    ///
    /// - Throws: `ENOTSUP` if a script decides; `resolvedRoutes(for:scripts:)` runs it.
    public func routes(for url: URL) throws(StreamError) -> [ProxyRoute] {
        try choices(for: url).routes(tls: tls)
    }
}

extension [ProxyChoice] {
    /// Returns the routes of these choices.
    ///
    /// - Parameter tls: for proxies of kind `ProxyServer.Kind.https`; pass `ProxySettings.tls` for choices made from settings.
    /// - Throws: `ENOTSUP` if a script decides; `ProxySettings.resolvedRoutes(for:scripts:)` runs it.
    public func routes(tls: TLSConfiguration = TLSConfiguration()) throws(StreamError) -> [ProxyRoute] {
        var routes: [ProxyRoute] = []
        for choice in self {
            switch choice {
            case .direct: routes.append(.direct)
            case .server(let server): routes.append(ProxyRoute(hops: try server.hops(tls: tls)))
            case .script:
                throw StreamError(
                    posix: 95,  // ENOTSUP
                    Sentence("proxy.script", "A script chooses the proxy, and it has not been run."))
            }
        }
        return routes
    }
}
