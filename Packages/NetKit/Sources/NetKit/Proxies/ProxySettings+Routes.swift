public import FoundationEssentials
internal import HTTPMessage
public import StreamKit

extension ProxyServer {
    /// The proxy as an HTTP proxy; nil if it speaks SOCKS.
    ///
    /// User and password, if there are any, are sent with the first request as Basic credentials (RFC 7617), as every
    /// program does that takes them from a proxy's URL.
    ///
    /// - Parameter tls: for a proxy of kind `ProxyServer.Kind.https`.
    /// - Throws: `EINVAL` for a user with a colon in it, which Basic cannot carry.
    public func httpProxy(tls: TLSConfiguration = TLSConfiguration()) throws(StreamError) -> HTTPProxy? {
        guard kind == .http || kind == .https else { return nil }
        var proxy = HTTPProxy(host: host, port: port, tls: kind == .https ? tls : nil)
        guard let user else { return proxy }
        guard !user.contains(":") else {
            throw StreamError(
                posix: 22,  // EINVAL
                Sentence("proxy.user", "The user for the proxy %1 has a colon, which Basic cannot carry.", proxy.place))
        }
        let credentials = Data("\(user):\(password ?? "")".utf8).base64EncodedString()
        do throws(HTTPMessageError) {
            try proxy.fields.set("Basic \(credentials)", for: .proxyAuthorization)
        } catch {
            throw StreamError(error)
        }
        return proxy
    }

    /// The proxy as one hop of a way.
    ///
    /// - Parameter tls: for a proxy of kind `ProxyServer.Kind.https`.
    public func hop(tls: TLSConfiguration = TLSConfiguration()) throws(StreamError) -> any StreamProxy {
        if let proxy = try httpProxy(tls: tls) { return proxy }
        return socksProxy ?? SOCKSProxy(host: host, port: port, user: user, password: password)
    }
}

extension ProxySettings {
    /// The ways for a URL, for `StreamProperty.proxies`.
    ///
    /// ```swift
    /// try stream.set(.proxies, to: try ProxySettings.environment().routes(for: url))
    /// ```
    ///
    /// - Throws: `ENOTSUP` if a script is to decide; `resolvedRoutes(for:scripts:)` runs it.
    public func routes(for url: URL) throws(StreamError) -> [ProxyRoute] {
        try choices(for: url).routes()
    }
}

extension [ProxyChoice] {
    /// The ways that these choices are.
    ///
    /// - Throws: `ENOTSUP` if a script is to decide; `ProxySettings.resolvedRoutes(for:scripts:)` runs it.
    public func routes() throws(StreamError) -> [ProxyRoute] {
        var routes: [ProxyRoute] = []
        for choice in self {
            switch choice {
            case .direct: routes.append(.direct)
            case .server(let server): routes.append(ProxyRoute(hops: [try server.hop()]))
            case .script:
                throw StreamError(
                    posix: 95,  // ENOTSUP
                    Sentence("proxy.script", "Which proxy to use is up to a script, which has not been run."))
            }
        }
        return routes
    }
}
