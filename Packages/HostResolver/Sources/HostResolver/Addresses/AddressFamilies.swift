/// A choice of address families: what is asked for, or what an answer covers.
public struct AddressFamilies: OptionSet, Hashable, Sendable {
    /// The value that tells it from the others.
    public let rawValue: UInt8

    /// The value with this `rawValue`, known or not.
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
