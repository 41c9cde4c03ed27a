internal import DNSWire
@_spi(Packages) internal import NetKit

/// Attacks by name servers and by hosts on the same link.
extension Attack {
    /// Attacks by name servers.
    public static let names: [Attack] = [
        Attack(
            "dns-forged", "128 forged answers in front of the genuine one", origin: "off-path spoofing",
            ending: .success,
            on: .client(lookUp)),
        Attack(
            "dns-alias-loop", "aliases that lead back to the first", origin: "CVE-2026-24401", ending: .failure,
            on: .client(lookUp)),
        Attack(
            "dns-pointer-chains", "as many long names behind as many pointers as a packet holds",
            origin: "CVE-2023-4408 and its kind", on: .client(lookUp)),
        Attack(
            "dns-many-addresses", "4,000 IPv4 and 2,300 IPv6 addresses, over TCP", ending: .success,
            on: .client { scene in
                guard let resolver = resolver(scene) else { return }
                let found = try await resolver.addresses(of: "www.peers.test.", until: .now + AttackScene.limit)
                if found.count > 2 * WireResolver.maximumAddresses {
                    throw Breach(description: "\(found.count) addresses were kept and sorted")
                }
            }),
    ]

    /// Attacks by multicast DNS hosts on the same link.
    public static let discovery: [Attack] = [
        Attack(
            "txt-oversized", "a TXT record of 70,000 bytes, to be published", by: .none, ending: .success,
            on: .client(publishOversized)),
        Attack("mdns-come-and-go", "services that come and go in one packet", on: .browser),
        Attack("mdns-questions-times-answers", "725 questions with 272 known answers in one packet", on: .browser),
        Attack(
            "mdns-everlasting", "records that never expire, from forged addresses", origin: "CVE-2026-47184",
            on: .browser),
        Attack("mdns-ever-new-names", "a million different names", origin: "CVE-2026-47184", on: .browser),
        Attack(
            "mdns-truncated-queries", "queries whose known answers never end", origin: "CVE-2026-48045", on: .browser),
        Attack(
            "mdns-truncated-queries-with-long-names", "queries whose known answers never end, with names of 220 bytes",
            on: .browser),
        Attack(
            "mdns-large-records", "large TXT and NSEC records, which another record then flushes all together",
            on: .browser),
        Attack("mdns-pointer-loops", "names that point to themselves", origin: "CVE-2026-48045", on: .browser),
        Attack(
            "mdns-questions", "questions for this machine's services, at full speed", origin: "CVE-2017-6519",
            on: .browser),
    ]

    /// Publishes a TXT record that is too large for a packet, and updates a service with it: every engine must refuse both.
    @Sendable private static func publishOversized(_ scene: AttackScene) async throws {
        // The keys differ, because only the first entry with a key counts.
        let entries = (100..<374).map { [255] + Array("\($0)=".utf8) + [UInt8](repeating: 97, count: 251) }
        var service = ServiceAdvertisement(name: "Large", type: try ServiceType(BrowsingVictim.type), port: 9)
        let record = TXTRecord(wire: Array(entries.joined()))
        let embedded = DiscoveryEngine.embedded(EmbeddedEngine(interfaces: ["lo"]))
        let publisher = try ServicePublisher(service, engine: embedded)
        try refused { () throws(ServiceDiscoveryError) in try publisher.update(record) }
        publisher.stop()
        service.record = record
        for engine in [DiscoveryEngine.daemon, embedded] {
            try refused { [service] () throws(ServiceDiscoveryError) in
                _ = try ServicePublisher(service, engine: engine)
            }
        }
    }

    /// Throws a breach unless `publish` fails because of the record.
    private static func refused(_ publish: () throws(ServiceDiscoveryError) -> Void) throws {
        do throws(ServiceDiscoveryError) {
            try publish()
        } catch {
            guard error.code == .invalidRecord else { throw error }
            return
        }
        throw Breach(description: "a record was published that is too large for a packet")
    }

    /// A resolver that queries the hostile name server.
    private static func resolver(_ scene: AttackScene) -> WireResolver? {
        guard let server = SocketAddress("127.0.0.1:\(scene.port)") else { return nil }
        return WireResolver(configuration: ResolverConfiguration(servers: [server]), hosts: HostsFile(parsing: ""))
    }

    /// Looks up a host at the hostile name server.
    @Sendable private static func lookUp(_ scene: AttackScene) async throws {
        guard let resolver = resolver(scene) else { return }
        let answer = try await resolver.records(.a, of: "www.peers.test", until: .now + AttackScene.limit)
        if "\(answer)".contains("6.6.6.6") { throw Breach(description: "a forged address was accepted") }
    }
}
