public import HostResolver

extension StreamProperty where Value == SOCKSProxy {
    /// A SOCKS proxy to go through. Nil (default) for none.
    ///
    /// The same as ``StreamProperty/proxies`` with that one hop; if both are set, that one counts. Replaces
    /// `kCFStreamPropertySOCKSProxy`.
    public static var socksProxy: Self { .init(setting: "StreamKit.socksProxy", access: .beforeOpen) }
}

extension StreamProperty where Value == [ProxyRoute] {
    /// The ways to the target, best first: the next one is tried when a proxy of the one before cannot be reached or does not
    /// speak its protocol. A proxy that answers and refuses has decided; then no other way is tried.
    ///
    /// Empty (default): directly. Proxies are never used unless set here; ``ProxySettings`` tells which. Replaces
    /// `kCFStreamPropertySOCKSProxy`, `kCFStreamPropertyHTTPProxy` and `kCFStreamPropertyFTPProxy`.
    public static var proxies: Self { .init(setting: "StreamKit.proxies", access: .beforeOpen, default: []) }
}

extension StreamProperty where Value == ProxyRoute {
    /// Which of ``StreamProperty/proxies`` was taken, once open. Nil before, and if none were set.
    public static var proxyRoute: Self { .init(setting: "StreamKit.proxyRoute", access: .readOnly) }
}

extension StreamProperty where Value == SocketAddress {
    /// The address from which the last SOCKS proxy connects to the target, if it tells one.
    public static var socksBoundAddress: Self { .init(setting: "StreamKit.socksBoundAddress", access: .readOnly) }
}

extension StreamProperties {
    /// The ways to try; nil if there is nothing but the direct one.
    var proxyRoutes: [ProxyRoute]? {
        let routes = self[.proxies] ?? []
        if !routes.isEmpty { return routes == [.direct] ? nil : routes }
        return self[.socksProxy].map { [ProxyRoute($0)] }
    }
}
