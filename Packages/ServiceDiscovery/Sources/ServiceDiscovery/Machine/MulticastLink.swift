internal import HostResolver

/// One interface, as far as discovery needs it.
struct MulticastLink: Hashable, Sendable {
    /// An address with the length of its network's prefix.
    struct Address: Hashable, Sendable {
        let address: IPAddress
        let prefixLength: Int
    }

    let index: UInt32
    let name: String
    let addresses: [Address]
    /// False where another program has the port too: a packet to us alone may end there (RFC 6762 §15.1).
    var hearsUnicast = true

    /// RFC 6762 §11: whether an address is on this link.
    func contains(_ address: IPAddress) -> Bool {
        if address.isLinkLocal || addresses.contains(where: { Self.isSame($0.address, address) }) { return true }
        return addresses.contains { own in
            guard own.address.family == address.family else { return false }
            let (mine, theirs) = (own.address.octets, address.octets)
            return (0..<own.prefixLength).allSatisfy { bit in
                let mask: UInt8 = 0x80 >> UInt8(bit % 8)
                return mine[bit / 8] & mask == theirs[bit / 8] & mask
            }
        }
    }

    func isOwn(_ address: IPAddress) -> Bool {
        addresses.contains { Self.isSame($0.address, address) }
    }

    /// Equal without regard to zones.
    private static func isSame(_ one: IPAddress, _ other: IPAddress) -> Bool {
        one.octets == other.octets
    }
}
