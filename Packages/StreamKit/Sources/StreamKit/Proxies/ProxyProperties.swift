public import HostResolver

extension StreamProperty where Value == SOCKSProxy {
    /// A SOCKS proxy to connect through. Nil (default): none.
    ///
    /// Equivalent to ``StreamProperty/proxies`` with this one hop; if both are set, `proxies` takes precedence.
    /// Replaces `kCFStreamPropertySOCKSProxy`.
    public static var socksProxy: Self { .init(setting: "StreamKit.socksProxy", access: .beforeOpen) }
}

extension StreamProperty where Value == [ProxyRoute] {
    /// The routes to the target in order of preference. The next one is tried when a proxy of the previous one cannot
    /// be reached or does not speak its protocol. If a proxy answers and refuses, that is its decision, and no other
    /// route is tried.
    ///
    /// If empty (default), the connection is direct. Proxies are never used unless set here; ``ProxySettings`` finds
    /// the ones to use. Replaces `kCFStreamPropertySOCKSProxy`, `kCFStreamPropertyHTTPProxy` and
    /// `kCFStreamPropertyFTPProxy`.
    public static var proxies: Self { .init(setting: "StreamKit.proxies", access: .beforeOpen, default: []) }
}

extension StreamProperty where Value == ProxyRoute {
    /// The route that was taken among ``StreamProperty/proxies``, once open. Nil before, and if none were set.
    public static var proxyRoute: Self { .init(setting: "StreamKit.proxyRoute", access: .readOnly) }
}

extension StreamProperty where Value == SocketAddress {
    /// The address from which the last SOCKS proxy connects to the target, if the proxy reports it.
    public static var socksBoundAddress: Self { .init(setting: "StreamKit.socksBoundAddress", access: .readOnly) }
}

extension StreamProperties {
    /// The routes to try; nil if the connection is simply direct.
    var proxyRoutes: [ProxyRoute]? {
        let routes = self[.proxies] ?? []
        if !routes.isEmpty { return routes == [.direct] ? nil : routes }
        return self[.socksProxy].map { [ProxyRoute($0)] }
    }
}
