import DNSWire
import HostResolver
import Testing

@testable import ServiceDiscovery

/// Records of any name, and further records of a service.
struct RecordPublicationTests {
    private let name = DNSName("thing.local")!
    private let first = OwnRecord(.a(IPv4Address(192, 0, 2, 1)))
    private let second = OwnRecord(.a(IPv4Address(192, 0, 2, 2)), timeToLive: 7)

    private func advertisement(_ record: OwnRecord, isUnique: Bool = true, interface: String? = nil)
        -> RecordAdvertisement
    {
        RecordAdvertisement(name: name, record: record, isUnique: isUnique, interface: interface)
    }

    private func publish(_ network: SimulatedNetwork, _ host: Int, _ record: RecordAdvertisement) throws -> Int {
        let id = OperationNumber.next()
        try network.hosts[host].machine.publish(record, as: id, now: network.now)
        return id
    }

    private func announcements(_ network: SimulatedNetwork) -> [DNSRecord] {
        network.take().filter { !$0.isQuery }.flatMap(\.records).filter { $0.name == name }
    }

    @Test func aUniqueRecordIsProbedForAndAnnounced() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try publish(network, 0, advertisement(first))
        network.run(for: .seconds(10))
        #expect(network.sent.count { $0.isQuery && $0.message.questions.contains { $0.name == name } } == 3)
        #expect(announcements(network).allSatisfy { $0.isUnique && $0.timeToLive == 120 && $0.data == first.data })
        #expect(network.hosts[0].events.map(\.event) == [.announced])
        // A new record takes the place of the old one, without a probe and without a goodbye.
        try network.hosts[0].machine.update(id, records: [second], now: network.now)
        network.run(for: .seconds(10))
        #expect(network.sent.allSatisfy { !$0.isQuery })
        #expect(announcements(network).allSatisfy { $0.timeToLive == 7 && $0.data == second.data })
        network.end(0, id)
        network.run(for: .seconds(1))
        #expect(announcements(network).map(\.timeToLive) == [0] && network.hosts[0].machine.isIdle)
        #expect(throws: ServiceDiscoveryError.self) {
            try network.hosts[0].machine.update(id, records: [first], now: network.now)
        }
    }

    /// Two publications of this host have one set of records: whatever is sent of it has all of them, since other hosts drop the rest.
    @Test func partsOfASetAreSentTogether() throws {
        let network = SimulatedNetwork(hosts: 2)
        let query = try network.query(1, name, .a)
        func known() -> Set<DNSRecordData> { Set(network.hosts[1].records(query).map(\.data)) }
        let third = OwnRecord(.a(IPv4Address(192, 0, 2, 3)))
        let one = try publish(network, 0, advertisement(first))
        network.run(for: .seconds(5))
        let two = try publish(network, 0, advertisement(third))
        network.run(for: .seconds(20))
        #expect(known() == [first.data, third.data])
        // Another record in the place of one; a goodbye of one.
        try network.hosts[0].machine.update(two, records: [second], now: network.now)
        network.run(for: .seconds(20))
        #expect(known() == [first.data, second.data])
        network.end(0, one)
        network.run(for: .seconds(20))
        #expect(known() == [second.data])
        // An answer, although the querier knows a part of the set.
        _ = try publish(network, 0, advertisement(first))
        network.run(for: .seconds(20))
        _ = network.take()
        let part = DNSRecord.unique(name, 120, first.data)
        for wantsUnicast in [true, false] {
            try network.inject(.query(name, .a, wantsUnicast: wantsUnicast, known: [part]), to: 0)
            network.run(for: .seconds(2))
            #expect(Set(announcements(network).map(\.data)) == [first.data, second.data])
        }
    }

    @Test func aSharedRecordIsNotProbedFor() throws {
        let network = SimulatedNetwork(hosts: 2)
        for host in 0...1 { _ = try publish(network, host, advertisement([first, second][host], isUnique: false)) }
        network.run(for: .seconds(10))
        #expect(network.sent.allSatisfy { !$0.isQuery })
        #expect(network.hosts.allSatisfy { $0.events.map(\.event) == [.announced] })
        #expect(Set(announcements(network).map(\.data)) == [first.data, second.data])
    }

    @Test func aNameThatAnotherHostHasIsAConflict() throws {
        let network = SimulatedNetwork(hosts: 2)
        _ = try publish(network, 0, advertisement(first))
        network.run(for: .seconds(5))
        let id = try publish(network, 1, advertisement(second))
        network.run(for: .seconds(5))
        #expect(network.hosts[1].failures.map(\.code) == [.collision])
        #expect(network.hosts[1].events.allSatisfy { $0.id == id } && network.hosts[1].machine.isIdle)
        #expect(network.hosts[0].events.map(\.event) == [.announced])
    }

    @Test func aRecordIsAnsweredAndFollowsLinks() throws {
        let network = SimulatedNetwork(hosts: 2)
        _ = try publish(network, 0, advertisement(first))
        network.run(for: .seconds(5))
        let query = try network.query(1, name, .a)
        network.run(for: .seconds(2))
        #expect(network.hosts[1].records(query).map(\.data) == [first.data])
        // The link goes away and comes back.
        network.hosts[0].machine.setLinks([], now: network.now)
        network.run(for: .seconds(2))
        #expect(network.hosts[1].records(query).isEmpty)
        network.hosts[0].machine.setLinks([network.hosts[0].link], now: network.now)
        network.run(for: .seconds(5))
        #expect(network.hosts[1].records(query).map(\.data) == [first.data])
        #expect(network.hosts[0].events.map(\.event) == [.announced])
    }

    @Test func furtherRecordsOfAServiceAreAnnounced() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.publish(0, .http("Web"))
        network.run(for: .seconds(10))
        _ = network.take()
        let extra = OwnRecord(.other(DNSRecordType(rawValue: 10), [1, 2]), timeToLive: 60)
        let service = DNSName("Web._http._tcp.local")!
        func nulls() -> [UInt32] {
            network.take().flatMap(\.records).filter { $0.name == service && $0.type == extra.data.type }.map(
                \.timeToLive)
        }
        try network.hosts[0].machine.update(id, records: [extra], now: network.now)
        network.run(for: .seconds(10))
        #expect(Set(nulls()) == [60])
        try network.hosts[0].machine.update(id, records: [], now: network.now)
        network.run(for: .seconds(10))
        #expect(nulls() == [0])
        #expect(network.hosts[0].published.map(\.name) == ["Web"])
    }

    /// A record on one interface only, and the limit of publications.
    @Test func interfacesAndLimitsHold() throws {
        let network = SimulatedNetwork(hosts: 1)
        _ = try publish(network, 0, advertisement(first, interface: "eth1"))
        network.run(for: .seconds(5))
        #expect(network.sent.isEmpty && network.hosts[0].events.isEmpty)
        var limits = EngineLimits()
        limits.registrations = 1
        let small = SimulatedNetwork(hosts: 1, limits: limits)
        _ = try publish(small, 0, advertisement(first))
        #expect(throws: ServiceDiscoveryError.self) { try publish(small, 0, advertisement(second)) }
        #expect(throws: ServiceDiscoveryError.self) { try small.publish(0, .http("Web")) }
    }

    /// Data with names, which programs in C read without a packet around it.
    @Test(arguments: [
        DNSRecordData.ptr(DNSName("a.b")!), .mx(preference: 3, exchange: DNSName("a.b")!),
        .soa(
            DNSStartOfAuthority(
                primary: DNSName("a.b")!, mailbox: DNSName("a.b")!, serial: 1, refresh: 2, retry: 3, expire: 4,
                minimum: 5)),
    ])
    func dataIsNotCompressed(data: DNSRecordData) {
        let name: [UInt8] = [1, 0x61, 1, 0x62, 0]
        #expect(
            data.wireForm.allSatisfy { $0 < 0xC0 }
                && data.wireForm.indices.contains { data.wireForm[$0...].starts(with: name) })
        #expect(DNSRecordData(wire: data.wireForm, type: data.type) == data)
    }
}
