/// The response code of an answer (RFC 1035 §4.1.1, RFC 6891 §6.1.3). Open: all numbers are valid.
public struct DNSResponseCode: RawRepresentable, Hashable, Sendable {
    /// The number, including the eight upper bits that EDNS adds.
    public let rawValue: UInt16

    /// Creates a code from its number.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The query succeeded, perhaps without records.
    public static let noError = DNSResponseCode(rawValue: 0)
    /// FORMERR: the server could not parse the query.
    public static let formatError = DNSResponseCode(rawValue: 1)
    /// SERVFAIL: the server could not resolve the name.
    public static let serverFailure = DNSResponseCode(rawValue: 2)
    /// NXDOMAIN: the name does not exist.
    public static let nameError = DNSResponseCode(rawValue: 3)
    /// NOTIMP: the server does not support this kind of query.
    public static let notImplemented = DNSResponseCode(rawValue: 4)
    /// REFUSED: the server's policy forbids the query.
    public static let refused = DNSResponseCode(rawValue: 5)
    /// BADVERS: the server does not support this version of EDNS.
    public static let badVersion = DNSResponseCode(rawValue: 16)
}
