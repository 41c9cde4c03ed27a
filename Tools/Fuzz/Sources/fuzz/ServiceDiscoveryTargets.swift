internal import DNSWire
internal import HostResolver

@testable internal import ServiceDiscovery

extension FuzzTarget {
    /// Multicast DNS packets to a host that publishes a service and sends queries.
    ///
    /// Two bytes precede each packet. Their low 12 bits are its length; bit 15 marks a legacy unicast query, and bit 14 a unicast
    /// packet.
    static let multicastPackets = FuzzTarget(name: "multicast-packets") { bytes in
        var now = DiscoveryTime.now
        var machine = DiscoveryMachine(hostLabel: "h", seed: 1)
        let link = MulticastLink(
            index: 1, name: "eth0", addresses: [.init(address: .v4(IPv4Address(10, 0, 0, 1)), prefixLength: 24)])
        machine.setLinks([link], now: now)
        guard let type = try? ServiceType("_http._tcp,_sub"), let browsed = DNSName("_http._tcp.local"),
            let service = try? ServiceInstance(name: "Web", type: type),
            (try? machine.publish(ServiceAdvertisement(name: "Web", type: type, port: 80), as: 1, now: now)) != nil,
            (try? machine.query(RecordKey(browsed, .ptr), interface: nil, as: 2, now: now)) != nil,
            (try? machine.query(RecordKey(service.fullName, .srv), interface: nil, as: 3, now: now)) != nil
        else { preconditionFailure("the services and queries are valid") }
        var rest = bytes[...]
        for _ in 0..<16 where rest.count >= 2 {
            let head = (rest.removeFirst(), rest.removeFirst())
            let packet = Array(rest.prefix(Int(head.0 & 0x0F) << 8 | Int(head.1)))
            rest = rest.dropFirst(packet.count)
            machine.receive(
                Datagram(
                    bytes: packet, source: .v4(IPv4Address(10, 0, 0, 2)),
                    sourcePort: head.0 & 0x80 == 0 ? 5353 : 40_000,
                    isMulticast: head.0 & 0x40 == 0, interface: 1), now: now)
            settle(&machine, now)
            now += .milliseconds(400)
            settle(&machine, now)
        }
        now += .seconds(20)
        settle(&machine, now)
        let limits = EngineLimits()
        precondition(machine.statistics.cachedRecords <= limits.cachedRecords)
        // Record data from a daemon's library, and TXT records.
        for type in [DNSRecordType.a, .aaaa, .ptr, .srv, .txt] { _ = DNSRecordData(wire: bytes, type: type) }
        let record = TXTRecord(wire: bytes)
        precondition(TXTRecord(wire: record.wireForm) == record)
    }

    /// Performs the machine's actions until it waits. It must reach that point, and send only packets that it can parse.
    private static func settle(_ machine: inout DiscoveryMachine, _ now: DiscoveryTime) {
        for _ in 0..<10_000 {
            switch machine.next(now: now) {
            case .send(let transmission):
                precondition((try? DNSMessage(wire: transmission.bytes)) != nil, "our own packet must decode")
                precondition(transmission.bytes.count <= MulticastRules.maximumPayload, "our own packet is too long")
            case .report: break
            case .wait: return
            }
        }
        preconditionFailure("the machine does not reach a wait")
    }
}
