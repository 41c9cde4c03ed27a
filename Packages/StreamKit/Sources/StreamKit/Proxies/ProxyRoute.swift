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
    var hostAndPort: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }

    fileprivate func isSame(as other: any StreamProxy) -> Bool { other as? Self == self }
}
