internal import HostResolver

/// One packet from the network, with what is known of its way.
struct Datagram: Sendable {
    let bytes: [UInt8]
    let source: IPAddress
    let sourcePort: UInt16
    /// Whether it was sent to the group, and not to this host alone.
    let isMulticast: Bool
    /// The number of the interface that it came in by.
    let interface: UInt32
}

/// One packet for the network.
struct Transmission: Hashable, Sendable {
    /// Who gets it.
    enum Destination: Hashable, Sendable {
        /// Everybody on the link, in both families.
        case group
        case host(IPAddress, port: UInt16)
    }

    let bytes: [UInt8]
    let destination: Destination
    let interface: UInt32
}
