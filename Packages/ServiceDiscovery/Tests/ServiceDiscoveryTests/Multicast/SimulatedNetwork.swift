import DNSWire

@testable import ServiceDiscovery

/// Hosts on one link with a simulated clock. Packets take a millisecond, unless they are lost.
final class SimulatedNetwork {
    /// A packet as it was sent.
    struct Sent {
        let time: Duration
        let from: Int
        let transmission: Transmission
        let message: DNSMessage

        var isQuery: Bool { !message.header.isResponse }
        var records: [DNSRecord] { message.answers }
    }

    let start = ContinuousClock.now
    private(set) var now: DiscoveryTime
    var hosts: [SimulatedHost] = []
    private(set) var sent: [Sent] = []
    /// Whether a packet from one host reaches another.
    var carries: (Int, Int) -> Bool = { _, _ in true }
    /// Whether unicast packets arrive. On a machine with several programs, another one may get them.
    var carriesUnicast = true
    private var wire: [(due: DiscoveryTime, to: Int, datagram: Datagram)] = []

    init(hosts count: Int = 0, limits: EngineLimits = EngineLimits()) {
        now = start
        for number in 0..<count { addHost("host\(number)", limits: limits) }
    }

    var elapsed: Duration { start.duration(to: now) }

    @discardableResult
    func addHost(_ label: String, limits: EngineLimits = EngineLimits(), receivesUnicast: Bool = true) -> SimulatedHost
    {
        let host = SimulatedHost(number: hosts.count, label: label, limits: limits, receivesUnicast: receivesUnicast)
        hosts.append(host)
        host.machine.setLinks([host.link], now: now)
        return host
    }

    /// Adds a host with two interfaces on the link, as a laptop has with a cable and without.
    @discardableResult
    func addHostWithTwoInterfaces(_ label: String) -> SimulatedHost {
        let host = SimulatedHost(number: hosts.count, label: label, limits: EngineLimits(), receivesUnicast: true)
        host.second = MulticastLink(
            index: 2, name: "wlan0",
            addresses: [.init(address: .v4(IPv4Address(10, 0, 0, UInt8(host.number + 101))), prefixLength: 24)])
        hosts.append(host)
        host.machine.setLinks(host.links, now: now)
        return host
    }

    /// Advances the clock, and performs everything that becomes due.
    func run(for duration: Duration) {
        let end = now + duration
        while true {
            var next = settle()
            if let due = wire.map(\.due).min() { next = next.map { min($0, due) } ?? due }
            guard let next, next <= end else { break }
            now = max(now, next)
            let arrived = wire.filter { $0.due <= now }
            wire.removeAll { $0.due <= now }
            for packet in arrived { hosts[packet.to].machine.receive(packet.datagram, now: now) }
        }
        now = end
        _ = settle()
    }

    /// Performs everything that is due; returns when the next action is due.
    private func settle() -> DiscoveryTime? {
        var earliest: DiscoveryTime?
        for host in hosts {
            loop: while true {
                switch host.machine.next(now: now) {
                case .send(let transmission): send(transmission, from: host.number)
                case .report(let id, let event): host.events.append((id, event))
                case .wait(let time):
                    if let time { earliest = earliest.map { min($0, time) } ?? time }
                    break loop
                }
            }
        }
        return earliest
    }

    private func send(_ transmission: Transmission, from: Int) {
        guard let message = try? DNSMessage(wire: transmission.bytes) else { fatalError("we sent no message") }
        sent.append(Sent(time: elapsed, from: from, transmission: transmission, message: message))
        for host in hosts {
            switch transmission.destination {
            case .group:
                guard host.number == from || carries(from, host.number) else { continue }
            case .host(let address, _):
                guard host.address == address, carriesUnicast, carries(from, host.number) else { continue }
            }
            for link in host.links {
                let source = hosts[from].links.first { $0.index == transmission.interface }?.addresses.first?.address
                let datagram = Datagram(
                    bytes: transmission.bytes, source: source ?? hosts[from].address, sourcePort: 5353,
                    isMulticast: transmission.destination == .group, interface: link.index)
                wire.append((now + .milliseconds(1), host.number, datagram))
            }
        }
    }

    /// Delivers a packet to a host as if another host had sent it.
    func inject(
        _ message: DNSMessage, to host: Int, from source: String = "10.0.0.250", port: UInt16 = 5353,
        isMulticast: Bool = true, interface: UInt32 = 1
    ) throws {
        inject(
            try message.wireForm(), to: host, from: source, port: port, isMulticast: isMulticast, interface: interface)
        run(for: .zero)
    }

    func inject(
        _ bytes: [UInt8], to host: Int, from source: String = "10.0.0.250", port: UInt16 = 5353,
        isMulticast: Bool = true, interface: UInt32 = 1
    ) {
        let datagram = Datagram(
            bytes: bytes, source: IPAddress(source)!, sourcePort: port, isMulticast: isMulticast,
            interface: interface)
        hosts[host].machine.receive(datagram, now: now)
    }

    @discardableResult
    func publish(_ host: Int, _ advertisement: ServiceAdvertisement) throws -> Int {
        let id = OperationNumber.next()
        try hosts[host].machine.publish(advertisement, as: id, now: now)
        return id
    }

    func query(_ host: Int, _ name: DNSName, _ type: DNSRecordType) throws -> Int {
        let id = OperationNumber.next()
        try hosts[host].machine.query(RecordKey(name, type), interface: nil, as: id, now: now)
        return id
    }

    func end(_ host: Int, _ id: Int) {
        hosts[host].machine.end(id, now: now)
    }

    /// Returns the packets sent since the last call.
    func take() -> [Sent] {
        defer { sent = [] }
        return sent
    }
}

/// A host of a ``SimulatedNetwork``: a machine, and the events that it has reported.
final class SimulatedHost {
    let number: Int
    let address: IPAddress
    var link: MulticastLink
    /// Another interface on the same link.
    var second: MulticastLink?
    var links: [MulticastLink] { [link] + (second.map { [$0] } ?? []) }
    var machine: DiscoveryMachine
    var events: [(id: Int, event: DiscoveryEvent)] = []

    init(number: Int, label: String, limits: EngineLimits, receivesUnicast: Bool) {
        self.number = number
        address = .v4(IPv4Address(10, 0, 0, UInt8(number + 1)))
        let v6 = IPv6Address("fe80::\(number + 1)")!
        link = MulticastLink(
            index: 1, name: "eth0",
            addresses: [.init(address: address, prefixLength: 24), .init(address: .v6(v6), prefixLength: 64)])
        machine = DiscoveryMachine(hostLabel: label, limits: limits, seed: UInt64(number) + 1)
        machine.receivesUnicast = receivesUnicast
    }

    var published: [ServiceInstance] {
        events.compactMap { if case .published(let instance) = $0.event { instance } else { nil } }
    }

    var failures: [ServiceDiscoveryError] {
        events.compactMap { if case .failed(let error) = $0.event { error } else { nil } }
    }

    /// The records that currently answer a query.
    func records(_ id: Int) -> [DNSRecord] {
        // By key and data, because a flood has thousands of both.
        var standing: [RecordKey: [DNSRecordData: (number: Int, record: DNSRecord)]] = [:]
        for (number, (other, event)) in events.enumerated() where other == id {
            switch event {
            case .added(let record, _, _): standing[record.key, default: [:]][record.data] = (number, record)
            case .removed(let record, _): standing[record.key]?[record.data] = nil
            default: break
            }
        }
        return standing.values.flatMap(\.values).sorted { $0.number < $1.number }.map(\.record)
    }
}

extension DNSMessage {
    /// A response with these records.
    static func response(_ records: DNSRecord...) -> DNSMessage {
        DNSMessage(header: DNSHeader(id: 0, bits: 0x8400), answers: records)
    }

    static func query(
        _ name: DNSName, _ type: DNSRecordType, wantsUnicast: Bool = false, known: [DNSRecord] = [], id: UInt16 = 0
    ) -> DNSMessage {
        DNSMessage(
            header: DNSHeader(id: id),
            questions: [DNSQuestion(name, type, recordClass: wantsUnicast ? 0x8001 : 1)], answers: known)
    }
}

extension DNSName {
    static let http = DNSName("_http._tcp.local")!
}

extension ServiceAdvertisement {
    static func http(_ name: String, port: UInt16 = 80) throws -> ServiceAdvertisement {
        ServiceAdvertisement(
            name: name, type: try ServiceType("_http._tcp"), port: port, record: try TXTRecord(["path": "/"]))
    }
}
