/// A request for a host's addresses.
public struct AddressRequest: Hashable, Sendable {
    /// The host to look up.
    public var name: HostName
    /// The requested address families.
    public var families: AddressFamilies
    /// The instant at which the lookup fails with a timeout; nil for the resolver's own limits.
    public var deadline: ContinuousClock.Instant?
    /// Whether to wait for the slower family, or to deliver each family at once.
    public var delivery: Delivery

    /// Creates a request; by default for both families, in one batch, without a deadline.
    public init(
        _ name: HostName, families: AddressFamilies = .all, until deadline: ContinuousClock.Instant? = nil,
        delivery: Delivery = .whenComplete
    ) {
        self.name = name
        self.families = families
        self.deadline = deadline
        self.delivery = delivery
    }

    /// The ways to deliver addresses.
    public enum Delivery: Hashable, Sendable {
        /// One batch with all addresses, in the order of RFC 6724.
        case whenComplete
        /// One batch as soon as each family has answered (RFC 8305 §3), each sorted in itself.
        case asTheyCome
    }
}
