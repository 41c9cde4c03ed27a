import HostResolver
import Testing

@testable import ServiceDiscovery

/// What strangers may send: nothing of it traps, hangs or grows without bound.
@Suite struct HostilePacketTests {
    /// A host in the middle of everything: publishing, probing, asking, holding a query.
    private static func busyNetwork() throws -> SimulatedNetwork {
        let network = SimulatedNetwork(hosts: 1)
        try network.publish(0, .http("Web"))
        network.run(for: .seconds(5))
        try network.publish(0, .http("Probing"))
        for (name, type) in [("_http._tcp.local", DNSRecordType.ptr), ("h.local", .a), ("Web._http._tcp.local", .txt)] {
            _ = try network.ask(0, DNSName(name)!, type)
        }
        network.run(for: .milliseconds(300))
        return network
    }

    /// Real packets of every kind, to be changed.
    private static func corpus() throws -> [[UInt8]] {
        let network = SimulatedNetwork(hosts: 2)
        var service = try ServiceAdvertisement.http("Probing")
        service.type = try ServiceType("_http._tcp,_sub")
        try network.publish(0, service)
        _ = try network.ask(1, .http, .ptr)
        network.run(for: .seconds(5))
        let name = DNSName("Web._http._tcp.local")!
        let denial = DNSMessage.response(.unique(name, 120, .nsec(next: name, types: [.a, .txt])))
        return try Array(Set(network.sent.map(\.transmission.bytes))).sorted { $0.lexicographicallyPrecedes($1) }
            + [denial.multicastWireForm()]
    }

    @Test func survivesEveryChangedByteAndEveryPrefix() throws {
        let network = try Self.busyNetwork()
        for packet in try Self.corpus() {
            for place in packet.indices {
                for change: UInt8 in [0x01, 0x80, 0xC0, 0xFF] {
                    var bytes = packet
                    bytes[place] ^= change
                    network.inject(bytes, to: 0)
                }
                network.inject(Array(packet[..<place]), to: 0)
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
    func survivesAliasesInCircles(length: Int) throws {
        // CVE-2026-24401 of Avahi: aliases are not followed here at all.
        let network = try Self.busyNetwork()
        let names = (0..<length).map { DNSName("alias\($0).local")! }
        let records = names.indices.map {
            DNSRecord(names[$0], timeToLive: 1, .cname(names[($0 + 1) % length]))
        }
        _ = try network.ask(0, names[0], .a)
        for record in records { try network.inject(.response(record), to: 0) }
        network.run(for: .seconds(5))
        #expect(network.hosts[0].events.allSatisfy { if case .failed = $0.event { false } else { true } })
    }

    @Test func keepsKnownServicesDuringAFlood() throws {
        // CVE-2026-47184 of python-zeroconf. The million names are in FloodTests; here are the bounds.
        var limits = EngineLimits()
        limits.cachedRecords = 100
        limits.unaskedRecords = 10
        let network = SimulatedNetwork(hosts: 1, limits: limits)
        let id = try network.ask(0, .http, .ptr)
        func pointer(_ name: String) -> DNSRecord {
            DNSRecord(.http, timeToLive: 4500, .ptr(DNSName("\(name)._http._tcp.local")!))
        }
        try network.inject(.response(pointer("Real")), to: 0, from: "10.0.0.5")
        for number in 0..<1000 { try network.inject(.response(pointer("fake \(number)")), to: 0, from: "10.0.0.66") }
        // One sender fills half of the room; there is some for others.
        #expect(network.hosts[0].records(id).count == 51)
        try network.inject(.response(pointer("Late")), to: 0, from: "10.0.0.6")
        #expect(network.hosts[0].records(id).contains(pointer("Late")))
        #expect(network.hosts[0].machine.statistics.recordsRefused == 950)
        // What nobody asked for has less room.
        for number in 0..<1000 {
            try network.inject(
                .response(.unique(DNSName("h\(number).local")!, 120, .a(IPv4Address(1, 2, 3, 4)))), to: 0,
                from: "10.0.\(number % 200).67")
        }
        #expect(network.hosts[0].machine.statistics.cachedRecords == 62)
        // The flood ends with its records' time; what is real is refreshed and stays.
        for _ in 0..<3 {
            network.run(for: .seconds(2000))
            try network.inject(.response(pointer("Real")), to: 0, from: "10.0.0.5")
        }
        #expect(network.hosts[0].records(id) == [pointer("Real")])
        #expect(network.hosts[0].machine.statistics.cachedRecords == 1)
    }

    @Test func survivesShortLives() throws {
        // CVE-2025-68468 and -68471 of Avahi: announcements whose time is over while they are looked at.
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
    func takesAnyLife(seconds: UInt32) throws {
        let network = try Self.busyNetwork()
        let name = DNSName("h.local")!
        try network.inject(.response(.unique(name, seconds, .a(IPv4Address(10, 0, 0, 9)))), to: 0)
        network.run(for: .seconds(10))
        _ = network.hosts[0].machine.statistics
    }

    @Test func oneConflictPerNameIsCheapEvenIfManyCome() throws {
        let network = SimulatedNetwork(hosts: 1)
        try network.publish(0, .http("Web"))
        network.run(for: .seconds(5))
        let name = DNSName("Web._http._tcp.local")!
        for number in 0..<200 {
            try network.inject(.response(.unique(name, 120, .txt([[UInt8(number)]]))), to: 0)
            network.run(for: .milliseconds(100))
        }
        // It probes, is contradicted, takes other names; it is told of each, and never more often than it can probe.
        #expect(network.hosts[0].published.count <= 3)
    }
}
