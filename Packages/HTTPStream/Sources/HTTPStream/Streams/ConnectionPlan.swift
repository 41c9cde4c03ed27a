internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// How a request reaches its origin if that differs from the default: the properties of the connection, and its route.
struct ConnectionPlan {
    let properties: StreamProperties
    let route: HTTPRoute
}

extension LoadSettings {
    /// The login of a request that may belong to its connection.
    func ownLogin(of request: HTTPRequest) -> Secret? {
        pool.isOfOneLogin ? nil : request.connectionLogin
    }

    /// Takes an idle connection without making a key, for a request without a route or a login of its own: the common case.
    func takeUsualIdle(
        at url: URL, _ loop: EventLoop, _ now: Moment, trusting trust: Duration, _ deferred: inout DeferredActions
    ) -> HTTPConnection? {
        pool.takeUsual(for: url, loop: ObjectIdentifier(loop), at: now, trusting: trust) {
            deferred.add(.close($0.pair))
        }
    }

    /// Takes an idle connection with this key.
    func takeIdle(
        _ key: HTTPConnectionKey, _ now: Moment, trusting trust: Duration, _ deferred: inout DeferredActions
    ) -> HTTPConnection? {
        pool.take(key, at: now, trusting: trust) { deferred.add(.close($0.pair)) }
    }

    /// The time for which an idle connection is not checked. A request that may be sent twice can use a connection that has just
    /// ended, because the load sends it again then.
    func trust(mayRepeat: Bool) -> Duration {
        mayRepeat && session?.needsIdleConnection != true ? HTTPConnectionPool.trust : .zero
    }

    /// Makes the streams of a connection for requests with this key.
    ///
    /// - Parameters:
    ///   - plan: nil for the default.
    ///   - log: the load's log, which the connection uses as well.
    func makePair(
        for key: HTTPConnectionKey, _ plan: ConnectionPlan?, log: DeferredLog?, _ loop: EventLoop
    ) -> StreamPair {
        if let connect = pool.connect { return connect(key.origin, loop) }
        var properties = plan?.properties ?? StreamProperties()
        let route = plan?.route ?? HTTPRoute()
        properties[.proxies] = route.routes
        properties[.tls] = route.proxy?.tls
        if key.origin.isSecure {
            var tls = key.tls ?? TLSConfiguration()
            if tls.applicationProtocols.isEmpty { tls.applicationProtocols = ["http/1.1"] }
            properties[.tls] = tls
        }
        properties[.writeTimeout] = nil  // the load enforces the limit itself
        log?.install(in: &properties)
        if let endpoint = key.endpoint, route.proxy == nil {
            properties[.proxies] = nil
            return StreamPair(to: endpoint, for: key.origin, properties, loop: loop)
        }
        let (host, port) = route.proxy.map { ($0.host, $0.port) } ?? (key.origin.host, key.origin.port)
        return StreamPair(host: host, port: port, properties: properties, loop: loop)
    }
}
