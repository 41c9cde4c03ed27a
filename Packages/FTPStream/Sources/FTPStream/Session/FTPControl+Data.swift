internal import StreamKit

/// Where data connections go, and how.
extension FTPControl {
    /// The address of the server.
    var peer: IPAddress? { (pair[.remoteAddress] ?? plain?[.remoteAddress])?.ipAddress }

    /// Whether the server is reached over IPv6; false behind a proxy, whose way to the server is not known here.
    var isIPv6: Bool {
        if case .v6? = peer?.unmapped { !isProxied } else { false }
    }

    /// TLS for a data connection; nil for none. It resumes the control connection's session.
    var dataConfiguration: TLSConfiguration? {
        guard machine.protectsData else { return nil }
        var configuration = key.configuration
        configuration.sessionGroup = sessionGroup
        configuration.peerName = configuration.peerName ?? key.proxy?.host ?? key.host
        return configuration
    }

    /// The way to the server leads through a proxy; nil for none.
    private var proxiedRoute: ProxyRoute? {
        (pair[.proxyRoute] ?? plain?[.proxyRoute]).flatMap { $0 == .direct ? nil : $0 }
    }

    var isProxied: Bool { proxiedRoute != nil }

    /// A connection to the peer of the control connection, whatever the server's reply says.
    func dataPair(
        to port: UInt16, _ properties: StreamProperties, loop: EventLoop
    ) throws(StreamError) -> StreamPair {
        var properties = properties
        properties[.tls] = dataConfiguration
        if let local = properties[.localAddress]?.ipAddress { properties[.localAddress] = .ip(local, port: 0) }
        if let route = proxiedRoute {
            // The peer is the proxy; what lies behind it is known by the name that the control connection was made with.
            properties[.proxies] = [route]
            properties[.socksProxy] = nil
            return StreamPair(host: key.proxy?.host ?? key.host, port: port, properties: properties, loop: loop)
        }
        guard let peer else { throw StreamError(.connectionLost(before: "reply to the setup of the transfer")) }
        return StreamPair(addresses: [.ip(peer, port: port)], name: key.host, properties: properties, loop: loop)
    }
}

extension IPAddress {
    /// The IPv4 address that an IPv4-mapped IPv6 address stands for, since that is what the peer sees; else the address itself.
    var unmapped: IPAddress {
        if case .v6(let address) = self, let inner = address.mappedIPv4 { .v4(inner) } else { self }
    }
}
