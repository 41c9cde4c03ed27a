/// A service to be published: its name, type and domain, its port, what it tells about itself.
///
/// ```swift
/// var web = ServiceAdvertisement(
///     name: "Status", type: try ServiceType("_http._tcp,_printer"), port: 8080, record: try TXTRecord(["path": "/"]))
/// web.renamesOnConflict = false
/// ```
///
/// The program need not own the port: any server on this machine can be advertised. Replaces
/// `CFNetServiceCreate`.
public struct ServiceAdvertisement: Hashable, Sendable {
    /// The name for people; empty for this computer's, ``ComputerName/current``.
    public var name: String
    /// The type, with the subtypes under which it is to be found too.
    public var type: ServiceType
    /// Where; nil for the default domain, which is `local`.
    public var domain: ServiceDomain?
    /// The port, the same for IPv4 and IPv6. 0 says that the name is taken and nothing listens (RFC 6763 §2.3 of
    /// the flagship naming scheme).
    public var port: UInt16
    /// What it tells about itself.
    public var record: TXTRecord
    /// Whether another name is taken when this one is (`Status (2)`); else publishing fails with
    /// ``ServiceDiscoveryError/Code-swift.struct/collision``. Replaces `kCFNetServiceFlagNoAutoRename` (inverted).
    public var renamesOnConflict = true
    /// The only interface to publish on; nil for all.
    public var interface: String?

    /// Describes a service.
    public init(
        name: String = "", type: ServiceType, domain: ServiceDomain? = nil, port: UInt16,
        record: TXTRecord = TXTRecord()
    ) {
        self.name = name
        self.type = type
        self.domain = domain
        self.port = port
        self.record = record
    }
}
