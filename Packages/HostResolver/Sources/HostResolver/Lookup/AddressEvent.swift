/// What a lookup tells while it goes on.
public enum AddressEvent: Hashable, Sendable {
    /// More addresses.
    case batch(AddressBatch)
    /// The end, exactly once and last: nil if at least one address was found.
    case finished(ResolverError?)
}
