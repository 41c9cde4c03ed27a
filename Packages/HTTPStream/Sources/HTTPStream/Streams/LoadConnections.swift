internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
@_spi(Packages) internal import HTTPMessage
@_spi(Packages) internal import StreamKit

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

    /// Takes an idle connection or shares one, without making a key, for a request without a route or a login of its own: the common case.
    func takeUsual(
        for fetch: borrowing Fetch, at url: URL, _ loop: EventLoop, _ now: Moment, trusting trust: Duration,
        _ deferred: inout DeferredActions
    ) throws(StreamError) -> HTTPConnection? {
        // Another origin than the named one may get other TLS options.
        guard isDirect || routeIsInPropertiesOnly && fetch.isAtNamedOrigin, !offersSwitch,
            !fetch.request.hasFields || ownLogin(of: fetch.request) == nil
        else { return nil }
        let loop = ObjectIdentifier(loop)
        if options.versions != .http1,
            let link = pool.sharedUsual(for: url, options.connection, options.limits, loop: loop),
            try versions(of: fetch.request, for: link.key, endsAtProxy: false) != .http1
        {
            return HTTPConnection(sharing: link, isReused: true)
        }
        if options.versions == .http2 { return nil }
        return pool.takeUsual(for: url, options.connection, loop: loop, at: now, trusting: trust) {
            deferred.add(.close($0.pair))
        }
    }

    /// Takes an idle connection with this key.
    func takeIdle(
        _ key: HTTPConnectionKey, _ versions: HTTPVersions, _ now: Moment, trusting trust: Duration,
        _ deferred: inout DeferredActions
    ) -> HTTPConnection? {
        if versions == .http2 { return nil }
        return pool.take(key, at: now, trusting: trust) { deferred.add(.close($0.pair)) }
    }

    /// The versions of HTTP that a request may use.
    ///
    /// - Throws: an error if HTTP/2 alone is permitted for a request that cannot use it.
    /// - Parameters:
    ///   - key: the key of its connection.
    ///   - endsAtProxy: whether the connection ends at a proxy, which receives the request itself.
    func versions(
        of request: HTTPRequest, for key: HTTPConnectionKey, endsAtProxy: Bool
    ) throws(StreamError) -> HTTPVersions {
        let reason: String? =
            if pool.isOfOneLogin || key.isBound || session?.needsIdleConnection == true {
                "its login belongs to its connection"
            } else if offersSwitch ? !mayOpenTunnel(key) : request.fields.contains(.upgrade) {
                "it offers an upgrade"
            } else if request.version < .http11 {
                "it is one of \(request.version)"
            } else if endsAtProxy {
                "a proxy receives it"
            } else if pool.requiresHTTP1(key) {
                "the server demands HTTP/1.1"
            } else {
                nil
            }
        if let reason {
            if options.versions == .http2 { throw .http2NotPossible(reason) }
            return .http1
        }
        let offered = key.applicationProtocols
        if offered.isEmpty { return key.origin.isSecure || options.versions == .http2 ? options.versions : .http1 }
        guard offered.contains(HTTPVersions.http2Protocol) else { return .http1 }
        return key.permitsHTTP1 ? .automatic : .http2
    }

    /// Whether a request for another protocol may be one of HTTP/2 (RFC 8441): over a connection whose server accepts it, and if HTTP/2 alone
    /// is permitted, over a new one, to find out.
    private func mayOpenTunnel(_ key: HTTPConnectionKey) -> Bool {
        pool.shared(shareKey(key))?.acceptsConnectProtocol ?? (options.versions == .http2)
    }

    /// The time limit of opening a connection; nil for none.
    var openTimeout: Duration? {
        options.connection[.openTimeout].flatMap { $0 > .zero ? $0 : nil }
    }

    private func shareKey(_ key: HTTPConnectionKey) -> SharedLinks.Key {
        SharedLinks.Key(connection: key, limits: options.limits)
    }

    /// Returns a use of the connection that other requests with this key share; nil if there is none.
    func takeShared(_ key: HTTPConnectionKey, _ versions: HTTPVersions, proxy: HTTPProxy?) -> HTTPConnection? {
        if versions == .http1 { return nil }
        return pool.shared(shareKey(key)).map { HTTPConnection(sharing: $0, isReused: true, proxy: proxy) }
    }

    /// Returns the connection that carries the request, once a new one is open: the same one for HTTP/1.1, a use of it for HTTP/2.
    ///
    /// - Throws: an error if the server has not chosen a version that the load may use.
    func carried(
        _ connection: HTTPConnection, _ versions: HTTPVersions
    ) throws(StreamError) -> HTTPConnection {
        let made: HTTP2ClientLink? =
            switch connection.dial?.settle() {
            case .http2(let link)?: link
            case .http1?: nil
            // The others do not wait any more.
            case .failed?, nil: makeLink(connection.key, versions)(connection.pair)
            }
        guard let link = made else {
            if versions == .http2 { throw .http2NotChosen }
            return connection
        }
        return HTTPConnection(
            sharing: link, isReused: link.pair.input !== connection.pair.input, proxy: connection.proxy)
    }

    /// Makes the link of an open connection, if the server has chosen HTTP/2.
    private func makeLink(
        _ key: HTTPConnectionKey, _ versions: HTTPVersions
    ) -> @Sendable (StreamPair) -> HTTP2ClientLink? {
        { [pool, share = shareKey(key), isKept = options.keepsConnection] pair in
            let isHTTP2 =
                key.origin.isSecure
                ? pair[.tlsInformation]?.applicationProtocol == HTTPVersions.http2Protocol : versions == .http2
            return isHTTP2 ? pool.share(pair, share, isKept: isKept) : nil
        }
    }

    /// Begins to open a connection, unless there is one by now that the load may share, or another load opens one that may be of HTTP/2.
    ///
    /// - Parameters:
    ///   - shares: whether the load may share a connection.
    ///   - makePair: makes the streams of a connection.
    func open(
        _ key: HTTPConnectionKey, _ versions: HTTPVersions, _ attempts: Attempts?, shares: Bool,
        makePair: () -> StreamPair
    ) throws(StreamError) -> SharedLinks.Opening {
        guard shares, versions != .http1 else {
            let pair = makePair()
            try pair.open()
            return .begun(pair, nil)
        }
        return try pool.open(
            shareKey(key), waits: attempts?.waitsForDials != false, makePair: makePair,
            makeLink: makeLink(key, versions))
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
    ///   - proxyTLS: TLS to the proxy at which the connection ends, if it does.
    ///   - versions: the versions of HTTP that the requests may use.
    ///   - log: the load's log, which the connection uses as well.
    func makePair(
        for key: HTTPConnectionKey, _ plan: ConnectionPlan?, _ proxyTLS: TLSConfiguration?, _ versions: HTTPVersions,
        log: DeferredLog?, _ loop: EventLoop
    ) -> StreamPair {
        if let connect = pool.connect { return connect(key.origin, loop) }
        var properties = plan?.properties ?? StreamProperties()
        let route = plan?.route ?? HTTPRoute()
        properties[.proxies] = route.routes
        let ownTLS = properties[.tls]
        properties[.tls] = proxyTLS
        if key.origin.isSecure {
            var tls = ownTLS ?? TLSConfiguration()
            if versions == .http1 { tls.applicationProtocols.removeAll { $0 == HTTPVersions.http2Protocol } }
            if tls.applicationProtocols.isEmpty { tls.applicationProtocols = versions.applicationProtocols }
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
