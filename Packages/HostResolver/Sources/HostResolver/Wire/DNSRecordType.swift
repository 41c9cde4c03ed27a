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
    /// The types of a name's records (RFC 4034).
    public static let nsec = DNSRecordType(rawValue: 47)
    /// All types; valid in questions only (RFC 1035 §3.2.3).
    public static let any = DNSRecordType(rawValue: 255)
    /// The pseudo-record of EDNS (RFC 6891).
    public static let opt = DNSRecordType(rawValue: 41)
}

extension DNSRecordType: CustomStringConvertible {
    /// The type's name, or a text such as `TYPE64` for a type without one (RFC 3597 §5).
    public var description: String {
        let names: [DNSRecordType: String] = [
            .a: "A", .ns: "NS", .cname: "CNAME", .soa: "SOA", .ptr: "PTR", .mx: "MX", .txt: "TXT", .aaaa: "AAAA",
            .srv: "SRV", .nsec: "NSEC", .opt: "OPT",
        ]
        return names[self] ?? "TYPE\(rawValue)"
    }
}
