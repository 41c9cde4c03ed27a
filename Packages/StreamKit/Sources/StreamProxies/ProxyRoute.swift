@_spi(Packages) public import HostResolver

/// A route to a target: through any number of proxies, or direct.
///
/// ```swift
/// let route = ProxyRoute(SOCKSProxy(host: "bastion.example"), SOCKSProxy(host: "10.0.0.1"))
/// try stream.set(.proxies, to: [route, .direct])       // direct if the first proxy cannot be reached
/// ```
public struct ProxyRoute: Sendable {
    /// The proxies in order: the nearest first, each reached through those before it.
    public let hops: [any StreamProxy]

    /// The route without proxies.
    public static let direct = ProxyRoute(hops: [])

    /// Makes a route through proxies, the nearest first.
    public init(hops: [any StreamProxy]) {
        self.hops = hops
    }

    /// Makes a route through proxies, the nearest first.
    public init(_ hops: any StreamProxy...) {
        self.hops = hops
    }

    /// Whether the route has no proxies.
    public var isDirect: Bool { hops.isEmpty }
}

extension ProxyRoute: Hashable {
    /// Whether all proxies are equal, including their credentials and TLS configurations.
    public static func == (left: ProxyRoute, right: ProxyRoute) -> Bool {
        left.hops.count == right.hops.count && zip(left.hops, right.hops).allSatisfy { $0.isSame(as: $1) }
    }

    /// Hashes every proxy.
    public func hash(into hasher: inout Hasher) {
        for hop in hops { hop.hash(into: &hasher) }
    }
}

extension ProxyRoute: CustomStringConvertible {
    /// `SOCKS5 bastion.example:1080, HTTP 10.0.0.1:3128`, or `direct`.
    public var description: String {
        isDirect ? "direct" : hops.map { "\($0.kind) \($0.hostAndPort)" }.joined(separator: ", ")
    }
}

extension StreamProxy {
    /// `host:port`, with IPv6 in brackets, for reports and messages.
    package var hostAndPort: String { "\(URLAuthority.bracketed(host)):\(port)" }

    fileprivate func isSame(as other: any StreamProxy) -> Bool { other as? Self == self }
}

/// A proxy that forwards a connection to its target.
///
/// ``SOCKSProxy`` is one; HTTPStream's `HTTPProxy` is another. A proxy of your own provides its address and its protocol:
///
/// ```swift
/// struct Doorkeeper: StreamProxy {
///     let kind = "doorkeeper", host = "door.example", port: UInt16 = 4000
///     func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine { Knock() }
/// }
/// try stream.set(.proxies, to: [ProxyRoute(Doorkeeper())])
/// ```
///
/// Unequal proxies make different routes: only proxies that are equal may share connections.
public protocol StreamProxy: Hashable, Sendable {
    /// The kind of proxy in one word, for reports and messages: `SOCKS5`.
    var kind: String { get }

    /// Its name or address.
    var host: String { get }

    /// Its port.
    var port: UInt16 { get }

    /// TLS on the connection to the proxy itself; nil for none. The name to verify is ``host``, unless the
    /// configuration has one.
    var tls: TLSConfiguration? { get }

    /// Where the target's name is looked up.
    var nameLookup: ProxyNameLookup { get }

    /// Whether the proxy speaks HTTP. The error of a connection to it that fails then has `StreamErrorDetail.unreachableProxy`.
    var isHTTP: Bool { get }

    /// Returns the conversation that requests a connection to `target`. Called before anything is sent to the proxy.
    ///
    /// - Throws: if this proxy cannot connect to that target.
    func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine
}

extension StreamProxy {
    /// No TLS.
    public var tls: TLSConfiguration? { nil }

    /// By the proxy.
    public var nameLookup: ProxyNameLookup { .byProxy }

    /// No.
    public var isHTTP: Bool { false }
}

/// Where the name of a target behind a proxy is looked up.
public enum ProxyNameLookup: Sendable, Hashable {
    /// By the proxy, which receives the name. Nothing about the name is sent to a name server here.
    case byProxy

    /// Here, for these families. The proxy receives an address; the addresses are tried in turn.
    case here(AddressFamilies)
}

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
    package var proxyRoutes: [ProxyRoute]? {
        let routes = self[.proxies] ?? []
        if !routes.isEmpty { return routes == [.direct] ? nil : routes }
        return self[.socksProxy].map { [ProxyRoute($0)] }
    }
}
