public import HostResolver

/// Where a service is, as far as is known by now.
///
/// Replaces what `CFNetServiceGetTargetHost`, `…GetPortNumber`, `…GetAddressing` and `…GetTXTData` give.
public struct ResolvedService: Hashable, Sendable {
    /// Which service.
    public let service: ServiceInstance
    /// The host's name, with the final dot. The name rather than an address is what to connect to and to show.
    public let hostName: String
    /// The port, the same for all addresses.
    public let port: UInt16
    /// The addresses with the port, IPv4 and IPv6; link-local ones with the interface as zone. Try one after the other,
    /// and resolve again for every use.
    public let addresses: [SocketAddress]
    /// What the service tells about itself; empty until it is known.
    public let record: TXTRecord
    /// True if both families of addresses, and the TXT record, are known or known not to be.
    public let isComplete: Bool
}
