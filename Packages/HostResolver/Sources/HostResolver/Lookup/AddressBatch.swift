/// Some of a host's addresses.
public struct AddressBatch: Hashable, Sendable {
    /// The addresses, without duplicates, best first (RFC 6724 §6). May be empty: the families have none.
    public var addresses: [IPAddress]
    /// The families that have now answered: no later batch brings addresses of these.
    public var families: AddressFamilies

    /// Makes a batch.
    public init(_ addresses: [IPAddress], families: AddressFamilies) {
        self.addresses = addresses
        self.families = families
    }
}
