package import DNSWire

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
    /// The host that has the service; nil for this one. The addresses of another one are published elsewhere.
    package var host: DNSName?
    /// Further records of the service's name.
    package var furtherRecords: [OwnRecord] = []

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

/// A record of this host, without its name.
package struct OwnRecord: Hashable, Sendable {
    /// The data, which has the type.
    package var data: DNSRecordData
    /// The time to live in seconds.
    package var timeToLive: UInt32

    /// Describes a record.
    ///
    /// - Parameters:
    ///   - data: the data.
    ///   - timeToLive: the time to live in seconds; nil for that of RFC 6762 §10.
    package init(_ data: DNSRecordData, timeToLive: UInt32? = nil) {
        self.data = data
        self.timeToLive = timeToLive ?? MulticastRules.timeToLive(of: data.type)
    }
}

extension [OwnRecord] {
    /// Throws ``ServiceDiscoveryError/Code-swift.struct/invalidRecord`` for records that do not fit into one packet, in which a name
    /// is probed for, together with `size` further bytes.
    func checkPublishedSize(with size: Int = 0) throws(ServiceDiscoveryError) {
        // Each record has a header of 12 bytes with a compressed name.
        let size = reduce(size) { $0 + 12 + $1.data.wireForm.count }
        guard size > TXTRecord.maximumPublishedSize else { return }
        throw ServiceDiscoveryError(
            .invalidRecord,
            detail: "\(size) bytes do not fit into a multicast DNS packet; at most \(TXTRecord.maximumPublishedSize)")
    }
}

/// The description of a record to publish, of any name in `local`.
package struct RecordAdvertisement: Hashable, Sendable {
    /// The name.
    package let name: DNSName
    /// The record.
    package var record: OwnRecord
    /// Whether only this host has records of the name: the name is probed for (RFC 6762 §8.1).
    package let isUnique: Bool
    /// The only interface on which to publish; nil for all.
    package let interface: String?

    /// Describes a record.
    package init(name: DNSName, record: OwnRecord, isUnique: Bool, interface: String? = nil) {
        (self.name, self.record, self.isUnique, self.interface) = (name, record, isUnique, interface)
    }
}
