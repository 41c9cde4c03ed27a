/// Some of a host's addresses, from one or both families.
public struct AddressBatch: Hashable, Sendable {
    /// The addresses, without duplicates, best first (RFC 6724 §6). Empty if the families have no addresses.
    public var addresses: [IPAddress]
    /// The families that this batch completes: no later batch has addresses of these.
    public var families: AddressFamilies

    /// Creates a batch.
    public init(_ addresses: [IPAddress], families: AddressFamilies) {
        self.addresses = addresses
        self.families = families
    }
}
