/// An event of a lookup in progress.
public enum AddressEvent: Hashable, Sendable {
    /// More addresses arrived.
    case batch(AddressBatch)
    /// The lookup ended; this is its last event, delivered exactly once. The error is nil if at least one address was
    /// found.
    case finished(ResolverError?)
}
