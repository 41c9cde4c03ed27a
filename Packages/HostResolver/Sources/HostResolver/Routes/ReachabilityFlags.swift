/// The reachability of a host, with the bits of `SCNetworkReachabilityFlags`.
///
/// ```swift
/// let flags = try ReachabilityFlags(of: [IPAddress("192.0.2.1")!])
/// if flags.contains(.reachable) { print("reachable") }
/// ```
///
/// The flags derive from the kernel's routes. No packet is sent, so a host that is switched off is still "reachable".
/// Bits without a meaning on Linux, such as those of dial-up connections, are never set.
public struct ReachabilityFlags: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt32

    /// Creates a set from its bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The host is reached through a transient connection, such as PPP. Never set.
    public static let transientConnection = ReachabilityFlags(rawValue: 1 << 0)
    /// There is a route to the host.
    public static let reachable = ReachabilityFlags(rawValue: 1 << 1)
    /// A connection must be established first. Never set.
    public static let connectionRequired = ReachabilityFlags(rawValue: 1 << 2)
    /// Traffic to the host establishes the connection. Never set.
    public static let connectionOnTraffic = ReachabilityFlags(rawValue: 1 << 3)
    /// The user must intervene to establish the connection, for example with a password. Never set.
    public static let interventionRequired = ReachabilityFlags(rawValue: 1 << 4)
    /// The connection is established on demand. Never set.
    public static let connectionOnDemand = ReachabilityFlags(rawValue: 1 << 5)
    /// The address belongs to this machine.
    public static let isLocalAddress = ReachabilityFlags(rawValue: 1 << 16)
    /// The host is on a link of this machine, without a router in between.
    public static let isDirect = ReachabilityFlags(rawValue: 1 << 17)

    /// Creates the flags for a route; empty for nil, and for a route on which the kernel sends nothing (refused, or on
    /// a link without a carrier).
    public init(_ route: Route?) {
        guard let route, !route.isDead else {
            self = []
            return
        }
        switch route.kind {
        case .local: self = [.reachable, .isLocalAddress, .isDirect]
        case .unicast, .broadcast, .multicast, .other:
            self = route.gateway == nil ? [.reachable, .isDirect] : .reachable
        case .refused: self = []
        }
    }

    /// Creates the flags of the first reachable address; empty if no address is reachable.
    ///
    /// The unspecified addresses, `0.0.0.0` and `::`, stand for the network in general: they are reachable if there is
    /// a default route, of either family, over a link that works. An IPv4-mapped address (`::ffff:a.b.c.d`), in which an IPv6
    /// socket reports an IPv4 peer, counts as the IPv4 address.
    ///
    /// - Throws: ``ResolverError`` in the domain ``ResolverError/Domain/systemConfiguration`` if the kernel cannot be
    ///   queried.
    public init(of addresses: [IPAddress]) throws(ResolverError) {
        guard var current = addresses.first else {
            self = []
            return
        }
        do throws(ResolverError) {
            self = try RouteSocket.withSocket { descriptor throws(ResolverError) in
                for address in addresses.map(\.unmapped) {
                    current = address
                    let flags =
                        address.isAny
                        ? try ReachabilityFlags.ofDefaultRoutes()
                        : ReachabilityFlags(try RouteSocket.route(to: address, over: descriptor))
                    if flags.contains(.reachable) { return flags }
                }
                return []
            }
        } catch {
            throw ResolverError(
                error.code, name: current.description, detail: error.detail, domain: .systemConfiguration,
                number: error.number)
        }
    }

    /// The flags of the network in general. The hosts behind a default route are not on its link, even if it names no
    /// router.
    private static func ofDefaultRoutes() throws(ResolverError) -> ReachabilityFlags {
        let messages = try RouteSocket.dump(RouteNetlink.getLink) + RouteSocket.dump(RouteNetlink.getRoute)
        return ReachabilityFlags(generalIn: NetworkSnapshot(messages))
    }

    init(generalIn network: NetworkSnapshot) {
        let working = Set(network.interfaces.filter(\.hasCarrier).map(\.index))
        let isReachable = network.defaultRoutes.contains { route in
            !route.isDead && route.interfaceIndex.map(working.contains) ?? true
        }
        self = isReachable ? .reachable : []
    }
}

extension ReachabilityFlags: CustomStringConvertible {
    /// The names of the flags that are set; `unreachable` if there are none.
    public var description: String {
        let names: [(ReachabilityFlags, String)] = [
            (.transientConnection, "transient connection"), (.reachable, "reachable"),
            (.connectionRequired, "connection required"), (.connectionOnTraffic, "connection on traffic"),
            (.interventionRequired, "intervention required"), (.connectionOnDemand, "connection on demand"),
            (.isLocalAddress, "local address"), (.isDirect, "direct"),
        ]
        let set = names.filter { contains($0.0) }.map(\.1)
        return set.isEmpty ? "unreachable" : set.joined(separator: ", ")
    }
}

/// The reachability of a host, now and after each change, from ``NetworkMonitor/reachability(of:)``.
public struct ReachabilityChanges: AsyncSequence, Sendable {
    /// The current flags.
    public typealias Element = ReachabilityFlags
    /// The sequence never fails.
    public typealias Failure = Never

    let changes: NetworkChanges
    let addresses: [IPAddress]

    /// Creates an iterator, which begins with the current flags.
    public func makeAsyncIterator() -> Iterator {
        Iterator(changes: changes.makeAsyncIterator(), addresses: addresses)
    }

    /// An iterator that returns the flags whenever they differ from the previous ones.
    public struct Iterator: AsyncIteratorProtocol {
        var changes: NetworkChanges.Iterator
        let addresses: [IPAddress]
        var last: ReachabilityFlags?

        /// Returns the next flags; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ReachabilityFlags? {
            await next()
        }

        /// Returns the next flags; nil at the end.
        public mutating func next() async -> ReachabilityFlags? {
            while true {
                let flags = (try? ReachabilityFlags(of: addresses)) ?? []
                if flags != last {
                    last = flags
                    return flags
                }
                guard await changes.next() != nil else { return nil }
            }
        }
    }
}
