/// A set of address families: those requested, or those that an answer covers.
public struct AddressFamilies: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// IPv4.
    public static let v4 = AddressFamilies(rawValue: 1)
    /// IPv6.
    public static let v6 = AddressFamilies(rawValue: 2)
    /// Both.
    public static let all: AddressFamilies = [.v4, .v6]
}
