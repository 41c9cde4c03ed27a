/// What to look up, and how the answer should come.
public struct AddressRequest: Hashable, Sendable {
    /// The host.
    public var name: HostName
    /// The families wanted.
    public var families: AddressFamilies
    /// When to give up; nil to leave it to the resolver's own limits.
    public var deadline: ContinuousClock.Instant?
    /// Whether to wait for the slower family.
    public var delivery: Delivery

    /// Makes a request; by default for both families, at once and without a deadline.
    public init(
        _ name: HostName, families: AddressFamilies = .all, until deadline: ContinuousClock.Instant? = nil,
        delivery: Delivery = .whenComplete
    ) {
        self.name = name
        self.families = families
        self.deadline = deadline
        self.delivery = delivery
    }

    /// How batches come.
    public enum Delivery: Hashable, Sendable {
        /// One batch with everything, in the order of RFC 6724.
        case whenComplete
        /// A batch as soon as a family has answered, as RFC 8305 §3 wants; each is sorted in itself.
        case asTheyCome
    }
}
