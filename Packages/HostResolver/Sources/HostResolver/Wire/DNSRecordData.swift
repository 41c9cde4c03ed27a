/// What a record says, by its type.
public enum DNSRecordData: Hashable, Sendable {
    /// An IPv4 address (RFC 1035 §3.4.1).
    case a(IPv4Address)
    /// An IPv6 address (RFC 3596 §2.2).
    case aaaa(IPv6Address)
    /// The name that the owner is an alias of (RFC 1035 §3.3.1).
    case cname(DNSName)
    /// A name server (RFC 1035 §3.3.11).
    case ns(DNSName)
    /// A name that the owner points to (RFC 1035 §3.3.12).
    case ptr(DNSName)
    /// A mail server; lower preference first (RFC 1035 §3.3.9).
    case mx(preference: UInt16, exchange: DNSName)
    /// Strings of up to 255 bytes each (RFC 1035 §3.3.14).
    case txt([[UInt8]])
    /// A server of a service; lower priority first, then by weight (RFC 2782).
    case srv(priority: UInt16, weight: UInt16, port: UInt16, target: DNSName)
    /// The start of a zone (RFC 1035 §3.3.13).
    case soa(DNSStartOfAuthority)
    /// What else there is: the next name of the zone, and the types that the owner has (RFC 4034 §4). Multicast DNS says
    /// with it which types a name has *not* (RFC 6762 §6.1).
    case nsec(next: DNSName, types: [DNSRecordType])
    /// Bytes of a type that is not taken apart here (RFC 3597). Names inside are not expanded.
    case other(DNSRecordType, [UInt8])

    /// The type of records that say this.
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
