/// An entry of the kernel's neighbour table: another machine on a link (ARP, or RFC 4861 §5.1).
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
    public init(_ address: IPAddress, interfaceIndex: UInt32, state: State) {
        self.address = address
        self.interfaceIndex = interfaceIndex
        self.state = state
    }
}

extension Neighbor {
    private static let headerSize = 12  // struct ndmsg

    /// Parses a neighbour message of the kernel; nil for other messages, and for entries that are not machines
    /// (multicast, broadcast).
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
