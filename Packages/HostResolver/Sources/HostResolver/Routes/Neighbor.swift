/// What the kernel knows of another machine on a link: an entry of its neighbour table (ARP, or RFC 4861 §5.1).
public struct Neighbor: Hashable, Sendable {
    /// What the kernel thinks of it.
    public enum State: Hashable, Sendable {
        /// It answered lately, or is said to be there.
        case reachable
        /// It answered once; nobody has asked since.
        case stale
        /// It is being asked and has not answered yet.
        case resolving
        /// It was asked and did not answer.
        case failed
    }

    /// Its address.
    public var address: IPAddress
    /// The number of the interface it is behind.
    public var interfaceIndex: UInt32
    /// What the kernel thinks of it.
    public var state: State

    /// Makes an entry.
    public init(_ address: IPAddress, interfaceIndex: UInt32, state: State) {
        self.address = address
        self.interfaceIndex = interfaceIndex
        self.state = state
    }
}

extension Neighbor {
    private static let headerSize = 12  // struct ndmsg

    /// Reads the kernel's message about a neighbour; nil if it is none, or not about a machine (multicast, broadcast).
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
