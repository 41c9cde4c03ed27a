/// The address of a host, IPv4 or IPv6.
///
/// ```swift
/// guard let address = IPAddress("fe80::1%eth0") else { … }
/// let socketAddress = SocketAddress.ip(address, port: 80)
/// ```
public enum IPAddress: Hashable, Sendable {
    /// An IPv4 address.
    case v4(IPv4Address)
    /// An IPv6 address.
    case v6(IPv6Address)

    /// IPv4 or IPv6.
    public var family: AddressFamilies {
        switch self {
        case .v4: .v4
        case .v6: .v6
        }
    }

    /// Reaches only this machine.
    public var isLoopback: Bool {
        switch self {
        case .v4(let address): address.isLoopback
        case .v6(let address): address.isLoopback || address.mappedIPv4?.isLoopback == true
        }
    }

    /// `0.0.0.0` or `::`.
    public var isAny: Bool {
        switch self {
        case .v4(let address): address.isAny
        case .v6(let address): address.isAny
        }
    }

    /// Means something on one link only.
    public var isLinkLocal: Bool {
        switch self {
        case .v4(let address): address.isLinkLocal
        case .v6(let address): address.isLinkLocal
        }
    }

    /// Names a group of hosts.
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
    /// Reads an address as ``IPv4Address`` and ``IPv6Address`` do; nil for a name, brackets, or anything else.
    public init?(_ text: String) {
        if let address = IPv4Address(text) {
            self = .v4(address)
        } else if text.utf8.contains(UInt8(ascii: ":")), let address = IPv6Address(text) {
            self = .v6(address)
        } else {
            return nil
        }
    }

    /// The usual text form; IPv6 as RFC 5952 says, with `%zone` if it has one.
    public var description: String {
        switch self {
        case .v4(let address): address.description
        case .v6(let address): address.description
        }
    }
}

extension IPAddress: Codable {
    /// Reads the text form.
    ///
    /// - Throws: `DecodingError.dataCorrupted` if the text is no address.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let address = IPAddress(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an IP address")
        }
        self = address
    }

    /// Writes the text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
