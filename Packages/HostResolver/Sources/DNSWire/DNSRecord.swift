public import IPAddresses

/// A resource record (RFC 1035 §4.1.3).
public struct DNSRecord: Hashable, Sendable {
    /// The name that owns the record.
    public var name: DNSName
    /// The type. It matches ``data``, unless the data are kept as bytes.
    public var type: DNSRecordType
    /// The class; 1 is the Internet.
    public var recordClass: UInt16
    /// The time for which the record may be cached, in seconds (RFC 2181 §8). Flags in the pseudo-record of EDNS.
    public var timeToLive: UInt32
    /// The record's data.
    public var data: DNSRecordData

    /// Creates a record of the Internet class, with the type of `data`.
    public init(_ name: DNSName, timeToLive: UInt32, _ data: DNSRecordData) {
        self.init(name, type: data.type, recordClass: 1, timeToLive: timeToLive, data)
    }

    /// Creates a record with any type and class.
    public init(_ name: DNSName, type: DNSRecordType, recordClass: UInt16, timeToLive: UInt32, _ data: DNSRecordData) {
        self.name = name
        self.type = type
        self.recordClass = recordClass
        self.timeToLive = timeToLive
        self.data = data
    }
}

/// A record type (RFC 1035 §3.2.2 and the IANA registry). Open: all numbers are valid.
public struct DNSRecordType: RawRepresentable, Hashable, Sendable {
    /// The number in the registry.
    public let rawValue: UInt16

    /// Creates a type from its number.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// IPv4 addresses.
    public static let a = DNSRecordType(rawValue: 1)
    /// Name servers of a zone.
    public static let ns = DNSRecordType(rawValue: 2)
    /// The canonical name of an alias.
    public static let cname = DNSRecordType(rawValue: 5)
    /// The start of a zone.
    public static let soa = DNSRecordType(rawValue: 6)
    /// The name of an address, or an instance of a service.
    public static let ptr = DNSRecordType(rawValue: 12)
    /// Mail servers.
    public static let mx = DNSRecordType(rawValue: 15)
    /// Texts.
    public static let txt = DNSRecordType(rawValue: 16)
    /// IPv6 addresses (RFC 3596).
    public static let aaaa = DNSRecordType(rawValue: 28)
    /// The servers of a service (RFC 2782).
    public static let srv = DNSRecordType(rawValue: 33)
    /// Rules that rewrite a name, as of telephone numbers (RFC 3403).
    public static let naptr = DNSRecordType(rawValue: 35)
    /// The hash of a child zone's key (RFC 4034).
    public static let ds = DNSRecordType(rawValue: 43)
    /// The certificate or key of a TLS server (RFC 6698).
    public static let tlsa = DNSRecordType(rawValue: 52)
    /// The endpoints of a service (RFC 9460).
    public static let svcb = DNSRecordType(rawValue: 64)
    /// The endpoints of a web site (RFC 9460).
    public static let https = DNSRecordType(rawValue: 65)
    /// The certification authorities that may issue certificates (RFC 8659).
    public static let caa = DNSRecordType(rawValue: 257)
    /// The types of a name's records (RFC 4034).
    public static let nsec = DNSRecordType(rawValue: 47)
    /// All types; valid in questions only (RFC 1035 §3.2.3).
    public static let any = DNSRecordType(rawValue: 255)
    /// The pseudo-record of EDNS (RFC 6891).
    public static let opt = DNSRecordType(rawValue: 41)
}

extension DNSRecordType: LosslessStringConvertible {
    private static let names: [DNSRecordType: String] = [
        .a: "A", .ns: "NS", .cname: "CNAME", .soa: "SOA", .ptr: "PTR", .mx: "MX", .txt: "TXT", .aaaa: "AAAA",
        .srv: "SRV", .naptr: "NAPTR", .ds: "DS", .tlsa: "TLSA", .svcb: "SVCB", .https: "HTTPS", .caa: "CAA",
        .nsec: "NSEC", .opt: "OPT", .any: "ANY",
    ]

    /// Reads a type's name, or a text such as `TYPE64` (RFC 3597 §5), in either case; nil for another text.
    public init?(_ text: String) {
        // In upper case, some other letters are ASCII.
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let name = text.uppercased()
        if let known = Self.names.first(where: { $0.value == name })?.key {
            self = known
        } else if name.hasPrefix("TYPE"), name.utf8.dropFirst(4).allSatisfy({ (0x30...0x39).contains($0) }),
            let number = UInt16(name.dropFirst(4))
        {
            self.init(rawValue: number)
        } else {
            return nil
        }
    }

    /// The type's name, or a text such as `TYPE99` for a type without one (RFC 3597 §5).
    public var description: String { Self.names[self] ?? "TYPE\(rawValue)" }
}

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

/// The data of an SOA record, the start of a zone (RFC 1035 §3.3.13). In a negative answer, it limits the caching of
/// that answer.
public struct DNSStartOfAuthority: Hashable, Sendable {
    /// The primary name server.
    public var primary: DNSName
    /// The mailbox of the person responsible for the zone, with a dot in place of the `@`.
    public var mailbox: DNSName
    /// The version number of the zone.
    public var serial: UInt32
    /// The time between two checks by a secondary server, in seconds.
    public var refresh: UInt32
    /// The time before a failed check is repeated, in seconds.
    public var retry: UInt32
    /// The time after which an unchecked copy is no longer valid, in seconds.
    public var expire: UInt32
    /// The time for which a negative answer may be cached, in seconds (RFC 2308 §4).
    public var minimum: UInt32

    /// Creates the data of an SOA record.
    public init(
        primary: DNSName, mailbox: DNSName, serial: UInt32, refresh: UInt32, retry: UInt32, expire: UInt32,
        minimum: UInt32
    ) {
        self.primary = primary
        self.mailbox = mailbox
        self.serial = serial
        self.refresh = refresh
        self.retry = retry
        self.expire = expire
        self.minimum = minimum
    }
}
