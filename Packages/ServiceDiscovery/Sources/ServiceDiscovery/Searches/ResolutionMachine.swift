internal import DNSWire
internal import HostResolver

/// Resolves one service: first the host and port, then the host's addresses (RFC 6763 §5). Aliases are not followed.
///
/// A service of the link should name a host in `local`. Some name the bare host, a host in the domain of their router, or an address.
/// Their addresses are usually in the same packet, so the link is asked for the very name, and at the same time the name servers for one
/// in a domain, and the link for a bare name in `local`. What answers first counts; a failure of one way does not end the others.
struct ResolutionMachine: SearchMachine {
    /// The most addresses that are kept of a host; later ones are ignored.
    static let maximumAddresses = 64
    /// The most locations that are kept of the service. Beyond that, the oldest one with the worst priority is dropped.
    static let maximumLocations = 64

    let service: ServiceInstance
    private var locations = SourcedSet<DNSRecordData, UInt32>()
    private var order: [DNSRecordData] = []
    private var texts = SourcedSet<DNSRecordData, UInt32>()
    private var lastText: DNSRecordData?
    private var addresses: [DNSRecordData: Set<UInt32>] = [:]
    private var addressOrder: [DNSRecordData] = []
    /// The names of the interfaces, which are the zones of link-local addresses.
    private var zones: [UInt32: String] = [:]
    private var absent: Set<DNSRecordType> = []
    private var reported: ResolvedService?

    init(_ service: ServiceInstance) {
        self.service = service
    }

    /// The newest location, because a new one is reported before the one that it replaces is removed. If a zone has
    /// several, one with the lowest priority number (RFC 2782).
    private var location: (host: DNSName, port: UInt16)? {
        let best = order.compactMap(\.priority).min()
        guard case .srv(_, _, let port, let host)? = order.last(where: { $0.priority == best }) else { return nil }
        return (host, port)
    }

    var questions: Set<RecordKey> {
        let keys: Set = [RecordKey(service.fullName, .srv), RecordKey(service.fullName, .txt)]
        guard let host = location?.host, Self.address(in: host) == nil else { return keys }
        return keys.union(Self.addressKeys(of: isForeign(host) && host.labels.count == 1 ? host.inLocal : host))
    }

    var linkQuestions: Set<RecordKey> {
        guard let host = location?.host, isForeign(host), Self.address(in: host) == nil else { return [] }
        return Self.addressKeys(of: host)
    }

    private static func addressKeys(of host: DNSName?) -> Set<RecordKey> {
        Set([.a, .aaaa].compactMap { type in host.map { RecordKey($0, type) } })
    }

    /// Whether the service is in `local`, and its host is not.
    private func isForeign(_ host: DNSName) -> Bool { service.domain.isLocal && !host.isLocal }

    /// The record of a host that is named by its address, which only the text shows.
    private static func address(in host: DNSName) -> DNSRecordData? {
        switch IPAddress(String(Substring(host.description.utf8.dropLast()))) {
        case .v4(let address)?: .a(address)
        case .v6(let address)?: .aaaa(address)
        case nil: nil
        }
    }

    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
        switch event {
        case .added(let record, let interface, let name):
            if let name { zones[interface] = name }
            add(record.data, of: key, on: interface)
        case .removed(let record, let interface): remove(record.data, on: interface)
        case .absent: absent.insert(key.type)
        case .published, .announced, .hidden, .unanswered, .failed: break
        }
    }

    /// Accepts failures of address and TXT queries: a name server with addresses of one family may not answer for the
    /// other. A host that is not in `local` has other ways.
    mutating func ignores(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool {
        if let host = location?.host, isForeign(host), key.type == .a || key.type == .aaaa { return true }
        guard error.code == .lookupFailed, key.type != .srv else { return false }
        absent.insert(key.type)
        return key.type == .txt || !addresses.isEmpty || !absent.isSuperset(of: [.a, .aaaa])
    }

    mutating func take() -> ResolvedService? {
        guard let location else { return nil }
        let found = addressOrder.flatMap { data in
            (addresses[data] ?? []).sorted().compactMap { address(data, on: $0, port: location.port) }
        }
        var text = TXTRecord()
        if case .txt(let strings)? = lastText { text = TXTRecord(strings: strings) }
        var distinct: [SocketAddress] = []
        for address in found where !distinct.contains(address) { distinct.append(address) }
        let types = Set(addressOrder.map(\.type)).union(absent)
        let resolved = ResolvedService(
            service: service, hostName: location.host.description, port: location.port, addresses: distinct,
            record: text,
            isComplete: types.isSuperset(of: [.a, .aaaa]) && (lastText != nil || absent.contains(.txt)))
        guard resolved != reported, !distinct.isEmpty else { return nil }
        reported = resolved
        return resolved
    }

    private mutating func add(_ data: DNSRecordData, of key: RecordKey, on interface: UInt32) {
        switch data {
        case .srv:
            let old = location?.host
            if locations.insert(data, from: interface) { insertLocation(data) }
            if location?.host != old { replaceHost(on: interface) }
        case .txt:
            _ = texts.insert(data, from: interface)
            lastText = data
        case .a, .aaaa:
            guard let host = location?.host, key.name == host || isForeign(host) && key.name == host.inLocal else {
                return
            }
            absent.remove(data.type)
            if addresses[data] == nil {
                guard addressOrder.count < Self.maximumAddresses else { return }
                addressOrder.append(data)
            }
            addresses[data, default: []].insert(interface)
        default: break
        }
    }

    private mutating func insertLocation(_ data: DNSRecordData) {
        order.append(data)
        guard order.count > Self.maximumLocations else { return }
        let worst = order.compactMap(\.priority).max()
        if let index = order.firstIndex(where: { $0.priority == worst }) {
            locations.removeAll(order.remove(at: index))
        }
    }

    private mutating func remove(_ data: DNSRecordData, on interface: UInt32) {
        switch data {
        case .srv:
            let old = location?.host
            if locations.remove(data, from: interface) { order.removeAll { $0 == data } }
            if location?.host != old { replaceHost(on: interface) }
        case .txt:
            if texts.remove(data, from: interface), lastText == data { lastText = texts.elements.first }
        case .a, .aaaa:
            addresses[data]?.remove(interface)
            if addresses[data]?.isEmpty == true {
                addresses[data] = nil
                addressOrder.removeAll { $0 == data }
            }
        default: break
        }
    }

    /// Removes the addresses of the old host. A host that is named by its address has that one.
    private mutating func replaceHost(on interface: UInt32) {
        (addresses, addressOrder) = ([:], [])
        absent.subtract([.a, .aaaa])
        guard let data = location.flatMap({ Self.address(in: $0.host) }) else { return }
        (addresses, addressOrder) = ([data: [interface]], [data])
        absent.formUnion([.a, .aaaa])
    }

    /// A link-local address is valid only on the link on which it was received.
    private func address(_ data: DNSRecordData, on interface: UInt32, port: UInt16) -> SocketAddress? {
        switch data {
        case .a(let address): return .ip(.v4(address), port: port)
        case .aaaa(let address):
            guard address.isLinkLocal else { return .ip(.v6(address), port: port) }
            return IPv6Address(rawValue: address.rawValue, zone: zones[interface]).map { .ip(.v6($0), port: port) }
        default: return nil
        }
    }
}

extension DNSName {
    /// The name in `local`; nil if it is too long for that.
    fileprivate var inLocal: DNSName? { DNSName(labels: labels + ServiceDomain.local.name.labels) }
}

extension DNSRecordData {
    fileprivate var priority: UInt16? {
        if case .srv(let priority, _, _, _) = self { priority } else { nil }
    }
}
