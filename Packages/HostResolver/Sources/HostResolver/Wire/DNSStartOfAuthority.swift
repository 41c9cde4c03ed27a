/// The record at the start of a zone (RFC 1035 §3.3.13); in a negative answer it says how long that may be kept.
public struct DNSStartOfAuthority: Hashable, Sendable {
    /// The primary server.
    public var primary: DNSName
    /// The mailbox of who is responsible, `@` written as a dot.
    public var mailbox: DNSName
    /// The version of the zone.
    public var serial: UInt32
    /// Seconds between the secondaries' checks.
    public var refresh: UInt32
    /// Seconds until a failed check is done again.
    public var retry: UInt32
    /// Seconds after which an unchecked copy is no good.
    public var expire: UInt32
    /// Seconds that a negative answer may be kept (RFC 2308 §4).
    public var minimum: UInt32

    /// Makes the record's data.
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
