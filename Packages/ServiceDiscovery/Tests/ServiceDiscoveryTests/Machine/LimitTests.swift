import HostResolver
import Testing

@testable import ServiceDiscovery

/// The bounds of ``EngineLimits`` that other tests have no occasion for.
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

    @Test func boundsInterfaces() throws {
        var machine = machine { $0.interfaces = 2 }
        machine.setLinks([link(1), link(2), link(3)], now: now)
        _ = try machine.ask(RecordKey(try #require(DNSName("a.local")), .a), interface: nil, now: now)
        var sent: Set<UInt32> = []
        var time = now
        for _ in 0..<200 {
            switch machine.next(now: time) {
            case .send(let transmission): sent.insert(transmission.interface)
            case .report: break
            case .wait(let moment): time = moment ?? time
            }
        }
        #expect(sent == [1, 2])
    }

    @Test func boundsPackets() {
        var machine = machine { $0.packetSize = 100 }
        machine.setLinks([link(1)], now: now)
        machine.receive(
            Datagram(
                bytes: [UInt8](repeating: 0, count: 101), source: .v4(IPv4Address(10, 0, 1, 2)), sourcePort: 5353,
                isMulticast: true, interface: 1), now: now)
        #expect(machine.statistics.packetsRefused == 1)
    }
}
