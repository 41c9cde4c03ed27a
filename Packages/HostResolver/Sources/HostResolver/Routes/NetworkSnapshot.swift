internal import EventLoops
internal import Glibc

/// The current state of this machine's network: interfaces with their addresses, default routes, neighbours.
///
/// ```swift
/// let network = try NetworkSnapshot.current()
/// for interface in network.interfaces where !interface.hasCarrier { print(interface.name, "is unplugged") }
/// ```
///
/// Reading it queries the kernel (rtnetlink(7)). That sends no packet, never blocks and needs no privileges.
public struct NetworkSnapshot: Hashable, Sendable {
    /// The interfaces, sorted by index.
    public var interfaces: [NetworkInterface]
    /// The default routes of the main table, sorted by metric: the preferred route of each family comes first.
    public var defaultRoutes: [Route]
    /// The neighbour table: the machines on the same links that the kernel knows.
    public var neighbors: [Neighbor]

    /// The maximum number of messages of one kind. A machine with more routes or neighbours is described in part.
    static let mostMessages = 100_000

    /// Creates a snapshot.
    public init(interfaces: [NetworkInterface] = [], defaultRoutes: [Route] = [], neighbors: [Neighbor] = []) {
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

    /// The time since boot without suspension, which is the clock of the kernel's address times.
    private static var upTime: Duration {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }

    /// Adds the kernel's answers to the snapshot. Links must precede their addresses.
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

extension Route {
    private static let mainTable: UInt32 = 254

    /// Whether the message is a route of the main table with an empty destination.
    static func isDefault(_ message: NetlinkMessage) -> Bool {
        guard message.type == RouteNetlink.newRoute, message.payload.count >= RouteNetlink.routeHeaderSize,
            message.payload[1] == 0
        else { return false }
        let table = message.attributes(after: RouteNetlink.routeHeaderSize)[RouteNetlink.routeTable]
        let number = table.flatMap { $0.count == 4 ? $0[...].native(UInt32.self, at: 0) : nil }
        return number ?? UInt32(message.payload[4]) == mainTable
    }

    /// The metric of the route in a message; the lowest is preferred.
    static func metric(of message: NetlinkMessage) -> UInt32 {
        let bytes = message.attributes(after: RouteNetlink.routeHeaderSize)[RouteNetlink.routeMetric]
        return bytes.flatMap { $0.count == 4 ? $0[...].native(UInt32.self, at: 0) : nil } ?? 0
    }
}

extension RouteSocket {
    /// Returns all entries of one kind, such as links or routes.
    ///
    /// The kernel produces each part of its answer while the previous part is read, so receiving never has to wait.
    static func dump(_ type: UInt16) throws(ResolverError) -> [NetlinkMessage] {
        let descriptor = try open(groups: 0)
        defer { close(descriptor) }
        // struct rtgenmsg, padded to the largest header that the kernel validates strictly (struct ifinfomsg).
        let query = NetlinkMessage(
            type: type, flags: RouteNetlink.request | RouteNetlink.dump, sequence: UInt32(type),
            payload: [UInt8](repeating: 0, count: 16)
        ).bytes
        guard send(descriptor, query, query.count, CInt(MSG_DONTWAIT)) == query.count else {
            throw ResolverError(errno: errno)
        }
        var all: [NetlinkMessage] = []
        while all.count < NetworkSnapshot.mostMessages {
            guard let datagram = receive(descriptor) else { throw ResolverError(errno: errno) }
            for message in NetlinkMessage.messages(in: datagram) where message.sequence == UInt32(type) {
                if message.type == RouteNetlink.done { return all }
                if message.type == RouteNetlink.error, message.payload.count >= 4 {
                    throw ResolverError(errno: -message.payload[...].native(Int32.self, at: 0))
                }
                all.append(message)
            }
        }
        return all
    }
}
