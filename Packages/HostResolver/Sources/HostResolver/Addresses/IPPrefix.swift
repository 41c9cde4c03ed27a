/// A range of IPv6 addresses, `address/length`. IPv4 addresses are matched in their IPv4-mapped form,
/// `::ffff:192.0.2.1` (RFC 4291 §2.5.5.2).
@_spi(Packages) public struct IPPrefix: Hashable, Sendable {
    private let bits: UInt128
    /// The number of bits that count, up to 128.
    public let length: Int

    /// Makes a prefix. The bits after the length are ignored.
    ///
    /// - Precondition: the length is in 0...128.
    public init(_ bits: UInt128, _ length: Int) {
        precondition((0...128).contains(length))
        self.length = length
        self.bits = bits & Self.mask(length)
    }

    /// Parses a prefix such as `2001:db8::/32`; nil if the text is not a prefix.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard parts.count == 2, let address = IPv6Address(parts[0]), address.zone == nil,
            let length = UInt8(parts[1]), length <= 128
        else { return nil }
        self.init(address.rawValue, Int(length))
    }

    /// Whether the address is in the range. Its zone is ignored.
    public func contains(_ address: IPAddress) -> Bool {
        let value =
            switch address {
            case .v4(let address): IPv6Address(mapping: address).rawValue
            case .v6(let address): address.rawValue
            }
        return value & Self.mask(length) == bits
    }

    private static func mask(_ length: Int) -> UInt128 {
        length == 0 ? 0 : ~UInt128(0) << (128 - length)
    }
}
