@_spi(Packages) import DNSWire
import Testing

@testable import ServiceDiscovery

/// Packets that other hosts may send: none of them traps, hangs or grows memory without bound.
@Suite struct HostilePacketTests {
    /// A host that publishes, probes, queries and holds a query at the same time.
    private static func busyNetwork() throws -> SimulatedNetwork {
        let network = SimulatedNetwork(hosts: 1)
        try network.publish(0, .http("Web"))
        network.run(for: .seconds(5))
        try network.publish(0, .http("Probing"))
        for (name, type) in [("_http._tcp.local", DNSRecordType.ptr), ("h.local", .a), ("Web._http._tcp.local", .txt)] {
            _ = try network.query(0, DNSName(name)!, type)
        }
        network.run(for: .milliseconds(300))
        return network
    }

    /// Valid packets of all kinds, to be modified.
    private static func corpus() throws -> [[UInt8]] {
        let network = SimulatedNetwork(hosts: 2)
        var service = try ServiceAdvertisement.http("Probing")
        service.type = try ServiceType("_http._tcp,_sub")
        try network.publish(0, service)
        _ = try network.query(1, .http, .ptr)
        network.run(for: .seconds(5))
        let name = DNSName("Web._http._tcp.local")!
        let denial = DNSMessage.response(.unique(name, 120, .nsec(next: name, types: [.a, .txt])))
        return try Array(Set(network.sent.map(\.transmission.bytes))).sorted { $0.lexicographicallyPrecedes($1) }
            + [denial.multicastWireForm()]
    }

    @Test func survivesEveryChangedByteAndEveryPrefix() throws {
        let network = try Self.busyNetwork()
        for packet in try Self.corpus() {
            for index in packet.indices {
                for change: UInt8 in [0x01, 0x80, 0xC0, 0xFF] {
                    var bytes = packet
                    bytes[index] ^= change
                    network.inject(bytes, to: 0)
                }
                network.inject(Array(packet[..<index]), to: 0)
                network.run(for: .milliseconds(1))
                _ = network.take()
            }
        }
        network.run(for: .seconds(60))
        #expect(network.hosts[0].machine.statistics.packetsReceived > 1000)
    }

    @Test func survivesRandomChanges() throws {
        let network = try Self.busyNetwork()
        let corpus = try Self.corpus()
        var random = DelayRandom(seed: 6762)
        for round in 0..<20_000 {
            var bytes = corpus[Int.random(in: corpus.indices, using: &random)]
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                switch Int.random(in: 0...3, using: &random) {
                case 0: bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                case 1:
                    bytes.insert(
                        UInt8.random(in: 0...255, using: &random), at: Int.random(in: 0...bytes.count, using: &random))
                case 2: if bytes.count > 13 { bytes.remove(at: Int.random(in: 12..<bytes.count, using: &random)) }
                default: bytes += corpus[Int.random(in: corpus.indices, using: &random)].suffix(40)
                }
            }
            let port: UInt16 = round % 7 == 0 ? 999 : 5353
            network.inject(bytes, to: 0, port: port, isMulticast: round % 5 != 0)
            if round % 10 == 0 {
                network.run(for: .milliseconds(20))
                _ = network.take()
            }
        }
        network.run(for: .seconds(60))
        #expect(network.hosts[0].published.contains { $0.name == "Web" })
    }

    @Test(arguments: 1...50)
    func ignoresCircularAliases(length: Int) throws {
        // CVE-2026-24401 of Avahi: aliases are never followed here.
        let network = try Self.busyNetwork()
        let names = (0..<length).map { DNSName("alias\($0).local")! }
        let records = names.indices.map {
            DNSRecord(names[$0], timeToLive: 1, .cname(names[($0 + 1) % length]))
        }
        _ = try network.query(0, names[0], .a)
        for record in records { try network.inject(.response(record), to: 0) }
        network.run(for: .seconds(5))
        #expect(network.hosts[0].events.allSatisfy { if case .failed = $0.event { false } else { true } })
    }

    @Test func keepsKnownServicesDuringAFlood() throws {
        // CVE-2026-47184 of python-zeroconf. The million names are in ScaleTests; this tests the limits.
        var limits = EngineLimits()
        limits.cachedRecords = 100
        limits.unaskedRecords = 10
        let network = SimulatedNetwork(hosts: 1, limits: limits)
        let id = try network.query(0, .http, .ptr)
        func pointer(_ name: String) -> DNSRecord {
            DNSRecord(.http, timeToLive: 4500, .ptr(DNSName("\(name)._http._tcp.local")!))
        }
        try network.inject(.response(pointer("Real")), to: 0, from: "10.0.0.5")
        for number in 0..<1000 { try network.inject(.response(pointer("fake \(number)")), to: 0, from: "10.0.0.66") }
        // One sender fills half of the cache; the rest is for others.
        #expect(network.hosts[0].records(id).count == 51)
        try network.inject(.response(pointer("Late")), to: 0, from: "10.0.0.6")
        #expect(network.hosts[0].records(id).contains(pointer("Late")))
        #expect(network.hosts[0].machine.statistics.recordsRefused == 950)
        // Records without a question have less room.
        for number in 0..<1000 {
            try network.inject(
                .response(.unique(DNSName("h\(number).local")!, 120, .a(IPv4Address(1, 2, 3, 4)))), to: 0,
                from: "10.0.\(number % 200).67")
        }
        #expect(network.hosts[0].machine.statistics.cachedRecords == 62)
        // The records of the flood expire; the real one is refreshed and stays.
        for _ in 0..<3 {
            network.run(for: .seconds(2000))
            try network.inject(.response(pointer("Real")), to: 0, from: "10.0.0.5")
        }
        #expect(network.hosts[0].records(id) == [pointer("Real")])
        #expect(network.hosts[0].machine.statistics.cachedRecords == 1)
    }

    @Test func survivesShortTimesToLive() throws {
        // CVE-2025-68468 and -68471 of Avahi: announcements that expire while they are processed.
        let network = try Self.busyNetwork()
        for number in 0..<500 {
            let seconds = UInt32(number % 3)
            try network.inject(
                .response(
                    DNSRecord(.http, timeToLive: seconds, .ptr(DNSName("s\(number % 5)._http._tcp.local")!)),
                    .unique(DNSName("h.local")!, seconds, .a(IPv4Address(10, 0, 0, UInt8(number % 7))))), to: 0)
            network.run(for: .milliseconds(Int64(number % 4) * 333))
        }
        network.run(for: .seconds(10))
        #expect(network.hosts[0].machine.statistics.cachedRecords == 0)
    }

    @Test(arguments: [UInt32(0), 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF])
    func acceptsAnyTimeToLive(seconds: UInt32) throws {
        let network = try Self.busyNetwork()
        let name = DNSName("h.local")!
        try network.inject(.response(.unique(name, seconds, .a(IPv4Address(10, 0, 0, 9)))), to: 0)
        network.run(for: .seconds(10))
        _ = network.hosts[0].machine.statistics
    }

    @Test func manyConflictsCauseFewRenames() throws {
        let network = SimulatedNetwork(hosts: 1)
        try network.publish(0, .http("Web"))
        network.run(for: .seconds(5))
        let name = DNSName("Web._http._tcp.local")!
        for number in 0..<200 {
            try network.inject(.response(.unique(name, 120, .txt([[UInt8(number)]]))), to: 0)
            network.run(for: .milliseconds(100))
        }
        // It probes, gets conflicts and is renamed; each name is reported, at most as often as it can probe.
        #expect(network.hosts[0].published.count <= 3)
    }
}

/// Limits of ``EngineLimits`` that other tests do not reach.
@Suite struct LimitTests {
    private let now = DiscoveryTime.now

    private func machine(_ change: (inout EngineLimits) -> Void) -> DiscoveryMachine {
        var limits = EngineLimits()
        change(&limits)
        return DiscoveryMachine(hostLabel: "h", limits: limits, seed: 1)
    }

    private func link(_ index: UInt32) -> MulticastLink {
        MulticastLink(
            index: index, name: "eth\(index)",
            addresses: [.init(address: .v4(IPv4Address(10, 0, UInt8(index), 1)), prefixLength: 24)])
    }

    @Test func limitsInterfaces() throws {
        var machine = machine { $0.interfaces = 2 }
        machine.setLinks([link(1), link(2), link(3)], now: now)
        try machine.query(RecordKey(try #require(DNSName("a.local")), .a), interface: nil, as: 1, now: now)
        var sent: Set<UInt32> = []
        var time = now
        for _ in 0..<200 {
            switch machine.next(now: time) {
            case .send(let transmission): sent.insert(transmission.interface)
            case .report: break
            case .wait(let next): time = next ?? time
            }
        }
        #expect(sent == [1, 2])
    }

    @Test func limitsPacketSize() {
        var machine = machine { $0.packetSize = 100 }
        machine.setLinks([link(1)], now: now)
        machine.receive(
            Datagram(
                bytes: [UInt8](repeating: 0, count: 101), source: .v4(IPv4Address(10, 0, 1, 2)), sourcePort: 5353,
                isMulticast: true, interface: 1), now: now)
        #expect(machine.statistics.packetsRefused == 1)
    }
}
