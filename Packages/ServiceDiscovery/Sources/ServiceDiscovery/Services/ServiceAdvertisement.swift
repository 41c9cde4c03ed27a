/// The description of a service to publish: name, type, domain, port and TXT record.
///
/// ```swift
/// var web = ServiceAdvertisement(
///     name: "Status", type: try ServiceType("_http._tcp,_printer"), port: 8080, record: try TXTRecord(["path": "/"]))
/// web.renamesOnConflict = false
/// ```
///
/// The port may belong to any server on this machine. Replaces `CFNetServiceCreate`.
public struct ServiceAdvertisement: Hashable, Sendable {
    /// The name that users see; empty for ``ComputerName/current``.
    public var name: String
    /// The type, with the subtypes under which the service can be found as well.
    public var type: ServiceType
    /// The domain; nil for the default domain, `local`.
    public var domain: ServiceDomain?
    /// The port, the same for IPv4 and IPv6. Port 0 reserves the name for a service that does not listen (RFC 6763 §8).
    public var port: UInt16
    /// The TXT record.
    public var record: TXTRecord
    /// Whether a service whose name is taken gets another one, such as `Status (2)`; otherwise publishing fails with
    /// ``ServiceDiscoveryError/Code-swift.struct/collision``. Replaces `kCFNetServiceFlagNoAutoRename` (inverted).
    public var renamesOnConflict = true
    /// The only interface on which to publish; nil for all.
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
