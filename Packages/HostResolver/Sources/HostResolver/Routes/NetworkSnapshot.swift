internal import Glibc

/// The current state of this machine's network: interfaces with their addresses, default routes, neighbours.
///
/// ```swift
/// let network = try NetworkSnapshot.current()
/// for interface in network.interfaces where !interface.hasCarrier { print(interface.name, "is unplugged") }
/// ```
///
/// ``current()`` queries the kernel (rtnetlink(7)). The query sends no packet, never blocks and needs no privileges.
public struct NetworkSnapshot: Hashable, Sendable {
    /// The interfaces, sorted by index.
    public var interfaces: [NetworkInterface]
    /// The default routes of the main table, sorted by metric: the preferred route of each family comes first.
    public var defaultRoutes: [Route]
    /// The neighbour table: the hosts on the same links that the kernel knows.
    public var neighbors: [Neighbor]

    /// Creates a snapshot.
    @_spi(Packages) public init(
        interfaces: [NetworkInterface] = [], defaultRoutes: [Route] = [], neighbors: [Neighbor] = []
    ) {
        self.interfaces = interfaces
        self.defaultRoutes = defaultRoutes
        self.neighbors = neighbors
    }

    /// Queries the kernel for the current state.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/system`` if the kernel cannot be queried.
    public static func current() throws(ResolverError) -> NetworkSnapshot {
        var snapshot = NetworkSnapshot()
        for type in [RouteNetlink.getLink, RouteNetlink.getAddress, RouteNetlink.getRoute, RouteNetlink.getNeighbor] {
            snapshot.receive(try RouteSocket.dump(type), upTime: upTime)
        }
        return snapshot
    }

    /// The time since boot, not counting suspension. The kernel measures the lifetimes of addresses with this clock.
    private static var upTime: Duration {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }

    /// Creates a snapshot from the kernel's answers.
    init(_ messages: [NetlinkMessage]) {
        self.init()
        receive(messages)
    }

    /// Adds the kernel's answers to the snapshot. The message about an interface must precede those about its
    /// addresses.
    mutating func receive(_ messages: [NetlinkMessage], upTime: Duration = .zero) {
        var routes: [(metric: UInt32, Route)] = []
        for message in messages {
            if let interface = NetworkInterface(message) {
                interfaces.append(interface)
            } else if let (index, address) = InterfaceAddress.read(message, upTime: upTime) {
                if let position = interfaces.firstIndex(where: { $0.index == index }) {
                    interfaces[position].addresses.append(address)
                }
            } else if let neighbor = Neighbor(message) {
                neighbors.append(neighbor)
            } else if Route.isDefault(message), let route = Route(message), route.kind == .unicast {
                routes.append((Route.metric(of: message), route))
            }
        }
        interfaces.sort { $0.index < $1.index }
        // Routes with equal metrics keep the kernel's order. `sort` alone does not guarantee that it is stable.
        let order = routes.enumerated().sorted { ($0.element.metric, $0.offset) < ($1.element.metric, $1.offset) }
        defaultRoutes += order.map(\.element.1)
    }
}

/// An entry of the kernel's neighbour table: another host on a link (ARP, or RFC 4861 §5.1).
public struct Neighbor: Hashable, Sendable {
    /// The kernel's view of a neighbour's reachability.
    public enum State: Hashable, Sendable {
        /// It answered recently, or the entry is permanent.
        case reachable
        /// It answered earlier; its reachability has not been confirmed recently.
        case stale
        /// Its link-layer address is being resolved; there is no answer yet.
        case resolving
        /// It did not answer the resolution of its link-layer address.
        case failed
    }

    /// The neighbour's address.
    public var address: IPAddress
    /// The index of the interface through which it is reached.
    public var interfaceIndex: UInt32
    /// The kernel's view of its reachability.
    public var state: State

    /// Creates an entry.
    @_spi(Packages) public init(_ address: IPAddress, interfaceIndex: UInt32, state: State) {
        self.address = address
        self.interfaceIndex = interfaceIndex
        self.state = state
    }
}

extension Neighbor {
    private static let headerSize = 12  // struct ndmsg

    /// Parses a neighbour message of the kernel; nil for other messages, and for entries that are not hosts (multicast,
    /// broadcast).
    init?(_ message: NetlinkMessage) {
        guard message.type == RouteNetlink.newNeighbor, message.payload.count >= Neighbor.headerSize else { return nil }
        let header = message.payload[...]
        let state: State
        switch header.native(UInt16.self, at: 8) {
        case 0x01: state = .resolving  // NUD_INCOMPLETE
        case 0x02, 0x80: state = .reachable  // NUD_REACHABLE, NUD_PERMANENT
        case 0x04, 0x08, 0x10: state = .stale  // NUD_STALE, NUD_DELAY, NUD_PROBE
        case 0x20: state = .failed  // NUD_FAILED
        default: return nil
        }
        let attributes = message.attributes(after: Neighbor.headerSize)
        guard let octets = attributes[RouteNetlink.neighborAddress], let address = IPAddress(octets: octets[...]) else {
            return nil
        }
        self.init(address, interfaceIndex: header.native(UInt32.self, at: 4), state: state)
    }
}
