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
