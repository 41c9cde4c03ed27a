internal import HostResolver

/// A range of addresses, `address/length`, or a single address. IPv4 is represented in mapped form (RFC 4291 §2.5.5.2),
/// so that `::ffff:192.0.2.1` and `192.0.2.1` are the same host.
struct IPNetwork: Sendable, Hashable {
    private let bits: UInt128
    private let length: Int

    /// The prefix of mapped IPv4 addresses.
    private static let mapped: UInt128 = 0xFFFF << 32

    /// Parses an address, `192.0.2.0/24`, the short form `10/8` or `169.254/16`, or `2001:db8::/32`; IPv6 with or
    /// without brackets. Returns nil for anything else, and for an IPv6 address with a zone.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2 else { return nil }
        var host = first
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard host.contains(":") else { return nil }
        }
        var address = IPAddress(String(host))
        if address == nil, parts.count == 2, host.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }) {
            let missing = 3 - host.count(where: { $0 == "." })
            if missing > 0 { address = IPAddress(host + String(repeating: ".0", count: missing)) }
        }
        var given: Int?
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt8(parts[1]) else {
                return nil
            }
            given = Int(number)
        }
        switch address {
        case .v4(let address)?:
            guard given ?? 32 <= 32 else { return nil }
            self.init(IPNetwork.mapped | UInt128(address.rawValue), 96 + (given ?? 32))
        case .v6(let address)?:
            guard given ?? 128 <= 128, address.zone == nil else { return nil }
            self.init(address.rawValue, given ?? 128)
        case nil: return nil
        }
    }

    private init(_ bits: UInt128, _ length: Int) {
        self.length = length
        self.bits = bits & IPNetwork.mask(length)
    }

    func contains(_ address: IPAddress) -> Bool {
        switch address {
        // `::/0` means all of IPv6, not IPv4.
        case .v4(let address): length >= 96 && contains(IPNetwork.mapped | UInt128(address.rawValue))
        case .v6(let address): contains(address.rawValue)
        }
    }

    private func contains(_ value: UInt128) -> Bool {
        value & IPNetwork.mask(length) == bits
    }

    private static func mask(_ length: Int) -> UInt128 {
        length == 0 ? 0 : ~UInt128(0) << (128 - length)
    }
}
