/// Addresses without duplicates, in the order of their arrival.
struct UniqueAddresses {
    /// The maximum number of addresses of each family that a lookup returns: see ``WireResolver/maximumAddresses``.
    static let maximumPerFamily = 64

    private(set) var all: [IPAddress] = []
    private var known: Set<IPAddress> = []

    /// Appends the addresses that are new, as long as there are fewer than `limit` in all.
    mutating func append(_ addresses: some Sequence<IPAddress>, upTo limit: Int = .max) {
        for address in addresses {
            guard all.count < limit else { return }
            append(address)
        }
    }

    /// Appends an address; returns whether it is new.
    @discardableResult
    mutating func append(_ address: IPAddress) -> Bool {
        guard known.insert(address).inserted else { return false }
        all.append(address)
        return true
    }
}
