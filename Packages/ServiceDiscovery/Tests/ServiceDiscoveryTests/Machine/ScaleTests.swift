import HostResolver
import Testing

@testable import ServiceDiscovery

@Suite struct ScaleTests {
    /// A million names, from many senders, about what is asked for and about other things.
    @Test func aMillionNames() throws {
        let limits = EngineLimits()
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.ask(0, .http, .ptr)
        let real = DNSRecord(.http, timeToLive: 4500, .ptr(DNSName("Real._http._tcp.local")!))
        try network.inject(.response(real), to: 0, from: "10.0.0.5")
        // Made by hand: encoding a million records would be most of the test.
        let service = Array("\u{5}_http\u{4}_tcp\u{5}local\u{0}".utf8)
        var number = 0
        for packet in 0..<5000 {
            var bytes: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 200, 0, 0, 0, 0]
            for _ in 0..<200 {
                let label = [7] + (0..<7).map { UInt8(0x61 + number >> (3 * $0) & 7) }
                number += 1
                if number % 2 == 0 {
                    // A service; its name ends in the root of the first record's.
                    bytes += service + [0, 12, 0, 1, 0, 0, 0x11, 0x94, 0, 10] + label + [0xC0, 12 + 8]
                } else {
                    bytes += label + [0, 0, 1, 0x80, 1, 0, 0, 0, 120, 0, 4, 1, 2, 3, 4]
                }
            }
            network.inject(bytes, to: 0, from: "10.0.\(packet % 250).\(packet / 250 + 1)")
            if packet % 50 == 0 { network.run(for: .milliseconds(10)) }
        }
        #expect(number == 1_000_000)
        let statistics = network.hosts[0].machine.statistics
        #expect(statistics.packetsReceived == 5001 && statistics.packetsRefused == 0)
        #expect(statistics.recordsRefused + statistics.cachedRecords == 1_000_001)
        #expect(statistics.cachedRecords <= limits.cachedRecords)
        #expect(network.hosts[0].records(id).contains(real))
    }

    /// A thousand services, browsed and resolved.
    @Test func aThousandServices() throws {
        let network = SimulatedNetwork(hosts: 2)
        for number in 0..<1000 { try network.publish(0, .http("Service \(number)")) }
        let browse = try network.ask(1, .http, .ptr)
        network.run(for: .seconds(20))
        let found = network.hosts[1].records(browse)
        #expect(found.count == 1000)
        var ids: [Int] = []
        for record in found {
            guard case .ptr(let name) = record.data else { continue }
            ids.append(try network.ask(1, name, .srv))
        }
        network.run(for: .seconds(5))
        #expect(Set(network.hosts[1].events.map(\.id)).isSuperset(of: ids))
        #expect(network.sent.allSatisfy { $0.transmission.bytes.count <= MulticastRules.usualPayload })
    }
}
