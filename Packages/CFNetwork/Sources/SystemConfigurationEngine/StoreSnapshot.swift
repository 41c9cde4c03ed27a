internal import DNSWire
internal import Glibc
internal import HostResolver
internal import ServiceDiscovery
internal import StreamKit

/// The values of the dynamic store at one instant, by key.
struct StoreSnapshot: Sendable {
    private(set) var values: [String: StoreValue] = [:]

    private static let proxiesKey = "State:/Network/Global/Proxies"
    /// The encoding of the computer's name: kCFStringEncodingUTF8.
    static let encoding = 0x0800_0100

    /// Creates a snapshot.
    ///
    /// - Parameter proxies: the settings; nil if they cannot be read.
    init(
        _ network: NetworkSnapshot, _ resolver: ResolverConfiguration, _ proxies: ProxySettings?, computerName: String,
        localHostName: String
    ) {
        addNetwork(network)
        addResolver(resolver)
        if let proxies { values[StoreSnapshot.proxiesKey] = .proxies(proxies) }
        values["Setup:/System"] = .dictionary([
            "ComputerName": .text(computerName), "ComputerNameEncoding": .number(StoreSnapshot.encoding),
        ])
        values["Setup:/Network/HostNames"] = .dictionary(["LocalHostName": .text(localHostName)])
    }

    /// The present values of the selected keys. Proxy settings that are invalid or unreadable have none.
    ///
    /// - Throws: `failed` if the process has no descriptor or memory left: nothing is known then.
    static func values(of selection: KeySelection) throws(Status) -> [String: StoreValue] {
        if selection.isEmpty { return [:] }
        let network: NetworkSnapshot
        do throws(ResolverError) { network = try NetworkSnapshot.current() } catch { throw .failed }
        // The file of the proxies may be on a disk that does not answer.
        let proxies = selection.contains(proxiesKey) ? try knownProxies() : nil
        return StoreSnapshot(
            network, .system, proxies, computerName: ComputerName.current, localHostName: LocalHostName.current
        ).values.filter { selection.contains($0.key) }
    }

    private static func knownProxies() throws(Status) -> ProxySettings? {
        do throws(StreamError) {
            return try currentProxies()
        } catch {
            if error.domain == .posix, [EMFILE, ENFILE, ENOMEM].contains(CInt(truncatingIfNeeded: error.code)) {
                throw .failed
            }
            return nil
        }
    }

    /// The present proxy settings, which are empty on a machine without any.
    ///
    /// - Throws: the errors of `ProxySettings.system()`.
    static func currentProxies() throws(StreamError) -> ProxySettings { try ProxySettings.system() ?? ProxySettings() }

    private mutating func addNetwork(_ network: NetworkSnapshot) {
        let names = network.interfaces.map { StoreValue.text($0.name) }
        values["State:/Network/Interface"] = .dictionary(["Interfaces": .list(names)])
        for (entity, family) in [("IPv4", AddressFamilies.v4), ("IPv6", .v6)] {
            values["State:/Network/Global/\(entity)"] = StoreSnapshot.defaultRoute(of: network, family)
        }
        for interface in network.interfaces {
            let key = "State:/Network/Interface/\(interface.name)"
            values["\(key)/Link"] = .dictionary(["Active": .flag(interface.isUp && interface.hasCarrier)])
            values["\(key)/IPv4"] = StoreSnapshot.addressesOfIPv4(of: interface)
            values["\(key)/IPv6"] = StoreSnapshot.addressesOfIPv6(of: interface)
        }
    }

    /// The preferred default route of a family over a link that works.
    private static func defaultRoute(of network: NetworkSnapshot, _ family: AddressFamilies) -> StoreValue? {
        for route in network.defaultRoutes where route.family == family && !route.isDead {
            guard let interface = network.interfaces.first(where: { $0.index == route.interfaceIndex }),
                interface.hasCarrier
            else { continue }
            var facts: [String: StoreValue] = ["PrimaryInterface": .text(interface.name)]
            // The router of a route for IPv4 may have an IPv6 address alone (RFC 5549).
            if let router = route.gateway { facts["Router"] = .text(router.description) }
            return .dictionary(facts)
        }
        return nil
    }

    private static func addressesOfIPv4(of interface: NetworkInterface) -> StoreValue? {
        var addresses: [StoreValue] = []
        var masks: [StoreValue] = []
        var broadcasts: [StoreValue] = []
        for entry in interface.addresses {
            guard case .v4(let address) = entry.address else { continue }
            let mask = entry.prefixLength <= 0 ? 0 : UInt32.max << UInt32(max(0, 32 - entry.prefixLength))
            addresses.append(.text(address.description))
            masks.append(.text(IPv4Address(rawValue: mask).description))
            // A network of one or two addresses has no broadcast address (RFC 3021).
            guard !interface.isLoopback, entry.prefixLength < 31 else { continue }
            broadcasts.append(.text(IPv4Address(rawValue: address.rawValue | ~mask).description))
        }
        if addresses.isEmpty { return nil }
        var facts: [String: StoreValue] = ["Addresses": .list(addresses), "SubnetMasks": .list(masks)]
        if broadcasts.count == addresses.count { facts["BroadcastAddresses"] = .list(broadcasts) }
        return .dictionary(facts)
    }

    private static func addressesOfIPv6(of interface: NetworkInterface) -> StoreValue? {
        let usable = interface.addresses.filter { entry in
            if case .v6 = entry.address { !entry.isTentative && !entry.isDuplicate } else { false }
        }
        if usable.isEmpty { return nil }
        return .dictionary([
            "Addresses": .list(usable.map { .text($0.address.description) }),
            "PrefixLength": .list(usable.map { .number($0.prefixLength) }),
        ])
    }

    private mutating func addResolver(_ resolver: ResolverConfiguration) {
        if resolver.isFallback { return }
        var facts: [String: StoreValue] = [
            "ServerAddresses": .list(
                resolver.servers.map { .text($0.ipAddress?.description ?? $0.description) })
        ]
        // Without the dot at the end, as in resolv.conf.
        let domains = resolver.search.map { domain in
            StoreValue.text(String(domain.description.unicodeScalars.dropLast()))
        }
        if let first = domains.first {
            facts["SearchDomains"] = .list(domains)
            facts["DomainName"] = first
        }
        values["State:/Network/Global/DNS"] = .dictionary(facts)
    }
}
