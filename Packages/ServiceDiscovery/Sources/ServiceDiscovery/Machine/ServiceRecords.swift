internal import HostResolver

/// Which records make a service, and a host, known (RFC 6763 §4, §5, §6, §7.1, §9).
enum ServiceRecords {
    static let local = [Array("local".utf8)]
    static let enumeration = ["_services", "_dns-sd", "_udp"].map { Array($0.utf8) }

    /// Probed for: where the service is, and what it tells.
    static func unique(_ advertisement: ServiceAdvertisement, _ instance: ServiceInstance, host: DNSName) -> [DNSRecord]
    {
        let name = instance.fullName
        return [
            .unique(
                name, MulticastRules.hostTime,
                .srv(priority: 0, weight: 0, port: advertisement.port, target: host)),
            .unique(name, MulticastRules.otherTime, .txt(advertisement.record.strings)),
        ]
    }

    /// Pointers from the type, from each subtype, and from the list of all types.
    static func shared(_ advertisement: ServiceAdvertisement, _ instance: ServiceInstance) -> [DNSRecord] {
        let domain = instance.domain.name.labels
        let type = advertisement.type.labels
        var pointers = [(type + domain, instance.fullName)]
        for subtype in advertisement.type.subtypes {
            pointers.append(([Array(subtype.utf8), Array("_sub".utf8)] + type + domain, instance.fullName))
        }
        if let name = DNSName(labels: type + domain) { pointers.append((enumeration + domain, name)) }
        return pointers.compactMap { labels, target in
            DNSName(labels: labels).map { DNSRecord($0, timeToLive: MulticastRules.otherTime, .ptr(target)) }
        }
    }

    /// A host's addresses on one link; an IPv6 zone is this machine's own affair. The names of its addresses (RFC 6762 §4) are
    /// not published: a daemon on the same machine has others for the same addresses, and would take it for a conflict.
    static func host(_ name: DNSName, on link: MulticastLink) -> [DNSRecord] {
        var records: [DNSRecord] = []
        for own in link.addresses {
            switch own.address {
            case .v4(let address): records.append(.unique(name, MulticastRules.hostTime, .a(address)))
            case .v6(let address):
                let bare = IPv6Address(rawValue: address.rawValue)
                records.append(.unique(name, MulticastRules.hostTime, .aaaa(bare)))
            }
        }
        return LinkMachine.distinct(records)
    }
}
