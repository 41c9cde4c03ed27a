/// How a server answered (RFC 1035 §4.1.1, RFC 6891 §6.1.3). Open: any number is a code.
public struct DNSResponseCode: RawRepresentable, Hashable, Sendable {
    /// The number, with the eight upper bits that EDNS adds.
    public let rawValue: UInt16

    /// The code with this number.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The question was answered; there may still be no records.
    public static let noError = DNSResponseCode(rawValue: 0)
    /// FORMERR: the server could not read the query.
    public static let formatError = DNSResponseCode(rawValue: 1)
    /// SERVFAIL: the server could not find out.
    public static let serverFailure = DNSResponseCode(rawValue: 2)
    /// NXDOMAIN: there is no such name.
    public static let nameError = DNSResponseCode(rawValue: 3)
    /// NOTIMP: the server does not do that.
    public static let notImplemented = DNSResponseCode(rawValue: 4)
    /// REFUSED: the server does not do that for us.
    public static let refused = DNSResponseCode(rawValue: 5)
    /// BADVERS: the server wants another version of EDNS.
    public static let badVersion = DNSResponseCode(rawValue: 16)
}
