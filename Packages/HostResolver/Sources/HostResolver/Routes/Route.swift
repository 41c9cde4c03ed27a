internal import Glibc

/// The kernel's route to an address. Finding it sends no packet.
///
/// ```swift
/// if let route = try Route.to(IPAddress("192.0.2.1")!) {
///     print(route.interface ?? "-", route.gateway?.description ?? "on the link")
/// }
/// ```
public struct Route: Hashable, Sendable {
    /// The kinds of destinations.
    public enum Kind: Hashable, Sendable {
        /// Another machine.
        case unicast
        /// This machine.
        case local
        /// All machines on a link.
        case broadcast
        /// A multicast group.
        case multicast
        /// A route or rule forbids sending to the destination (`blackhole`, `unreachable`, `prohibit`).
        case refused
        /// Any other kind.
        case other
    }

    /// The kind of the destination.
    public var kind: Kind
    /// The family of the destinations; nil if it is not known.
    public var family: AddressFamilies?
    /// The next router; nil if the destination is on the link.
    public var gateway: IPAddress?
    /// The source address that the kernel would use.
    public var source: IPAddress?
    /// The index of the outgoing interface; nil if the route names none.
    public var interfaceIndex: UInt32?
    /// Whether the link is down or without carrier.
    public var isDead: Bool

    /// Creates a route.
    @_spi(Packages) public init(
        kind: Kind, gateway: IPAddress? = nil, source: IPAddress? = nil, interfaceIndex: UInt32? = nil,
        isDead: Bool = false, family: AddressFamilies? = nil
    ) {
        self.kind = kind
        self.family = family
        self.gateway = gateway
        self.source = source
        self.interfaceIndex = interfaceIndex
        self.isDead = isDead
    }

    /// The interface's name, or its index if the interface no longer exists; nil if the route names none.
    public var interface: String? { interfaceIndex.map(InterfaceZone.name(of:)) }

    /// Queries the kernel for the route to `address`; nil if there is none. That to an IPv4-mapped address is the route to the
    /// IPv4 address, which the kernel takes for connections.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/system`` if the kernel cannot be queried.
    public static func to(_ address: IPAddress) throws(ResolverError) -> Route? {
        try RouteSocket.route(to: address)
    }
}

extension Route {
    private static let mainTable: UInt32 = 254

    /// Creates a query for the route to `address`.
    static func query(to address: IPAddress, sequence: UInt32) -> NetlinkMessage {
        let address = address.unmapped
        var payload = [UInt8](repeating: 0, count: RouteNetlink.routeHeaderSize)
        payload[0] = UInt8(address.octets.count == 4 ? AF_INET : AF_INET6)
        payload[1] = UInt8(address.octets.count * 8)
        payload.appendAttribute(RouteNetlink.destination, address.octets)
        if case .v6(let address) = address, let zone = address.zone {
            var index: [UInt8] = []
            index.appendNative(InterfaceZone.index(of: zone))
            payload.appendAttribute(RouteNetlink.outputInterface, index)
        }
        return NetlinkMessage(
            type: RouteNetlink.getRoute, flags: RouteNetlink.request, sequence: sequence, payload: payload)
    }

    /// Parses a route message of the kernel; nil for other messages.
    init?(_ message: NetlinkMessage) {
        guard message.type == RouteNetlink.newRoute, message.payload.count >= RouteNetlink.routeHeaderSize else {
            return nil
        }
        let attributes = message.attributes(after: RouteNetlink.routeHeaderSize)
        let kinds: [UInt8: Kind] = [
            1: .unicast, 2: .local, 3: .broadcast, 5: .multicast, 6: .refused, 7: .refused, 8: .refused,
        ]
        let flags = message.payload[...].native(UInt32.self, at: 8)
        let index = attributes[RouteNetlink.outputInterface].flatMap { bytes in
            bytes.count == 4 ? bytes[...].native(UInt32.self, at: 0) : nil
        }
        // An IPv4 route through an IPv6 router has an RTA_VIA attribute: the family, then the address.
        let via = attributes[RouteNetlink.via].flatMap { IPAddress(octets: $0.dropFirst(2)) }
        self.init(
            kind: kinds[message.payload[7]] ?? .other,
            gateway: attributes[RouteNetlink.gateway].flatMap { IPAddress(octets: $0[...]) } ?? via,
            source: attributes[RouteNetlink.preferredSource].flatMap { IPAddress(octets: $0[...]) },
            interfaceIndex: index,
            isDead: flags & RouteNetlink.deadFlags != 0,
            family: [UInt8(AF_INET): .v4, UInt8(AF_INET6): .v6][message.payload[0]])
    }

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

extension IPAddress {
    /// The IPv4 address within an IPv4-mapped one, whose host is reached by IPv4; otherwise the address itself.
    @_spi(Packages) public var unmapped: IPAddress {
        if case .v6(let address) = self, let inner = address.mappedIPv4 { .v4(inner) } else { self }
    }
}
