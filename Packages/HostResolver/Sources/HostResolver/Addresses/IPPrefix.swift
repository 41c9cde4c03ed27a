/// A range of IPv6 addresses, `address/length`. IPv4 addresses are matched in mapped form.
struct IPPrefix: Hashable, Sendable {
    let bits: UInt128
    let length: Int

    init(_ bits: UInt128, _ length: Int) {
        self.length = length
        self.bits = bits & Self.mask(length)
    }

    /// Parses a prefix such as `2001:db8::/32`; nil if the text is not one.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = IPv6Address(String(parts[0])), address.zone == nil,
            let length = UInt8(parts[1]), length <= 128
        else { return nil }
        self.init(address.rawValue, Int(length))
    }

    func contains(_ value: UInt128) -> Bool {
        value & Self.mask(length) == bits
    }

    private static func mask(_ length: Int) -> UInt128 {
        length == 0 ? 0 : ~UInt128(0) << (128 - length)
    }
}
