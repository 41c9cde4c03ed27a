internal import HostResolver

/// The records that one question has brought. Avahi tells each once for IPv4 and once for IPv6, with the same number of the
/// interface: found with the first, gone with the last.
struct DaemonRecords {
    private struct Place: Hashable {
        let data: DNSRecordData
        let interface: UInt32
    }

    private let name: DNSName
    private var counts: [Place: Int] = [:]
    private var order: [Place] = []

    init(of name: DNSName) {
        self.name = name
    }

    /// What is known, in the order it came.
    var known: [DiscoveryEvent] {
        order.map { .added(record($0.data), interface: $0.interface) }
    }

    /// What the daemon has said; nil if it changes nothing.
    mutating func receive(_ data: DNSRecordData, interface: UInt32, isAdded: Bool) -> DiscoveryEvent? {
        let place = Place(data: data, interface: interface)
        let count = counts[place] ?? 0
        if isAdded {
            counts[place] = count + 1
            guard count == 0 else { return nil }
            order.append(place)
            return .added(record(data), interface: interface)
        }
        guard count > 0 else { return nil }
        counts[place] = count == 1 ? nil : count - 1
        guard count == 1 else { return nil }
        order.removeAll { $0 == place }
        return .removed(record(data), interface: interface)
    }

    /// The daemon looks after lives, and does not tell them.
    private func record(_ data: DNSRecordData) -> DNSRecord {
        DNSRecord(name, timeToLive: 0, data)
    }
}
