/// An IPv4 or IPv6 address of a host.
///
/// ```swift
/// guard let address = IPAddress("fe80::1%eth0") else { return }
/// print(address.family, address.isLinkLocal)
/// ```
public enum IPAddress: Hashable, Sendable {
    /// An IPv4 address.
    case v4(IPv4Address)
    /// An IPv6 address.
    case v6(IPv6Address)

    /// The address's family: ``AddressFamilies/v4`` or ``AddressFamilies/v6``.
    public var family: AddressFamilies {
        switch self {
        case .v4: .v4
        case .v6: .v6
        }
    }

    /// Whether this is a loopback address, in IPv4-mapped form too.
    public var isLoopback: Bool {
        switch self {
        case .v4(let address): address.isLoopback
        case .v6(let address): address.isLoopback || address.mappedIPv4?.isLoopback == true
        }
    }

    /// Whether this is the unspecified address, `0.0.0.0` or `::`.
    public var isAny: Bool {
        switch self {
        case .v4(let address): address.isAny
        case .v6(let address): address.isAny
        }
    }

    /// Whether this is a link-local address, which is meaningful on one link only.
    public var isLinkLocal: Bool {
        switch self {
        case .v4(let address): address.isLinkLocal
        case .v6(let address): address.isLinkLocal
        }
    }

    /// Whether this is a multicast address.
    public var isMulticast: Bool {
        switch self {
        case .v4(let address): address.isMulticast
        case .v6(let address): address.isMulticast
        }
    }

    /// The four or sixteen octets, most significant first.
    public var octets: [UInt8] {
        switch self {
        case .v4(let address): address.octets
        case .v6(let address): address.octets
        }
    }
}

extension IPAddress: LosslessStringConvertible {
    /// Parses an address as ``IPv4Address`` and ``IPv6Address`` do; nil for names, bracketed addresses and all other
    /// text.
    public init?(_ text: String) {
        if let address = IPv4Address(text) {
            self = .v4(address)
        } else if text.utf8.contains(UInt8(ascii: ":")), let address = IPv6Address(text) {
            self = .v6(address)
        } else {
            return nil
        }
    }

    /// The text form: dotted decimal for IPv4; RFC 5952 for IPv6, with `%zone` if the address has a zone.
    public var description: String {
        switch self {
        case .v4(let address): address.description
        case .v6(let address): address.description
        }
    }
}

extension IPAddress: Codable {
    /// Decodes an address from its text form.
    ///
    /// - Throws: `DecodingError.dataCorrupted` if the text is not an address.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let address = IPAddress(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an IP address")
        }
        self = address
    }

    /// Encodes the address as its text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

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

extension IPAddress {
    /// Creates an address from four or sixteen octets, most significant first; nil for any other count.
    package init?(octets: ArraySlice<UInt8>) {
        switch octets.count {
        case 4: self = .v4(IPv4Address(rawValue: octets.reduce(0) { $0 << 8 | UInt32($1) }))
        case 16: self = .v6(IPv6Address(rawValue: octets.reduce(0) { $0 << 8 | UInt128($1) }))
        default: return nil
        }
    }
}
