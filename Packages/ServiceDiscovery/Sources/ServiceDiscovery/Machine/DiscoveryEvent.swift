internal import HostResolver

/// What a discovery machine has to tell about one operation.
enum DiscoveryEvent: Hashable, Sendable {
    /// A record came or went on an interface.
    case added(DNSRecord, interface: UInt32)
    case removed(DNSRecord, interface: UInt32)
    /// There is no record of that type, says the name's owner.
    case absent(interface: UInt32)
    /// The service is published under this name, which may not be the one asked for.
    case published(ServiceInstance)
    /// The published service is on no link: none is up that it is meant for. It is published again when one is.
    case hidden
    /// The operation is over.
    case failed(ServiceDiscoveryError)
}
