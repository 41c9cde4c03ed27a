/// The data of a record, by its type.
public enum DNSRecordData: Hashable, Sendable {
    /// An IPv4 address (RFC 1035 §3.4.1).
    case a(IPv4Address)
    /// An IPv6 address (RFC 3596 §2.2).
    case aaaa(IPv6Address)
    /// The canonical name of which the owner is an alias (RFC 1035 §3.3.1).
    case cname(DNSName)
    /// A name server of the zone (RFC 1035 §3.3.11).
    case ns(DNSName)
    /// A name to which the owner points (RFC 1035 §3.3.12).
    case ptr(DNSName)
    /// A mail server. Those with the lowest preference are tried first (RFC 1035 §3.3.9).
    case mx(preference: UInt16, exchange: DNSName)
    /// Texts of up to 255 bytes each (RFC 1035 §3.3.14).
    case txt([[UInt8]])
    /// A server of a service. Those with the lowest priority value are tried first, then chosen by weight (RFC 2782).
    case srv(priority: UInt16, weight: UInt16, port: UInt16, target: DNSName)
    /// The start of a zone (RFC 1035 §3.3.13).
    case soa(DNSStartOfAuthority)
    /// The next name in the zone, and the types of the owner's records (RFC 4034 §4). Multicast DNS uses it to assert
    /// that a name has no records of other types (RFC 6762 §6.1).
    case nsec(next: DNSName, types: [DNSRecordType])
    /// The bytes of a type that is not decoded (RFC 3597). Compressed names in them are not expanded.
    case other(DNSRecordType, [UInt8])

    /// The type of records with this data.
    public var type: DNSRecordType {
        switch self {
        case .a: .a
        case .aaaa: .aaaa
        case .cname: .cname
        case .ns: .ns
        case .ptr: .ptr
        case .mx: .mx
        case .txt: .txt
        case .srv: .srv
        case .soa: .soa
        case .nsec: .nsec
        case .other(let type, _): type
        }
    }

    /// The address of an A or AAAA record; nil for other types.
    public var address: IPAddress? {
        switch self {
        case .a(let address): .v4(address)
        case .aaaa(let address): .v6(address)
        default: nil
        }
    }
}
