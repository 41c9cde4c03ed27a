/// A way to a target: through these proxies, or none.
///
/// ```swift
/// let route = ProxyRoute(SOCKSProxy(host: "bastion.example"), SOCKSProxy(host: "10.0.0.1"))
/// try stream.set(.proxies, to: [route, .direct])       // the second way if the first proxy cannot be reached
/// ```
public struct ProxyRoute: Sendable {
    /// The proxies in the order in which they are gone through: the nearest first, each reached through those before it.
    public let hops: [any StreamProxy]

    /// No proxy.
    public static let direct = ProxyRoute(hops: [])

    /// A way through proxies, the nearest first.
    public init(hops: [any StreamProxy]) {
        self.hops = hops
    }

    /// A way through proxies, the nearest first.
    public init(_ hops: any StreamProxy...) {
        self.hops = hops
    }

    /// True without proxies.
    public var isDirect: Bool { hops.isEmpty }
}

extension ProxyRoute: Hashable {
    /// Equal if every proxy is, by all that makes it up: credentials and TLS, too.
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
        isDirect ? "direct" : hops.map { "\($0.kind) \($0.place)" }.joined(separator: ", ")
    }
}

extension StreamProxy {
    /// `host:port`, IPv6 in brackets: for reports and messages.
    var place: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }

    fileprivate func isSame(as other: any StreamProxy) -> Bool { other as? Self == self }
}
