import DNSWire
import HostResolver
import Testing

@testable import ServiceDiscovery

/// RFC 6762 §10.2: records with the cache-flush bit are all of their name and type, also if they were published one by one.
struct RecordSetTests {
    private static let name = DNSName("web.local")!
    private static let key = RecordKey(name, .a)

    private static func address(_ number: Int) -> OwnRecord {
        OwnRecord(.a(IPv4Address(192, 0, UInt8(number / 256), UInt8(number % 256))))
    }

    private static func data(_ numbers: Int...) -> Set<DNSRecordData> { Set(numbers.map { address($0).data }) }

    /// Publishes addresses of the name, each by itself.
    private func publish(_ network: SimulatedNetwork, _ numbers: some Sequence<Int>) throws -> [Int] {
        try numbers.map { number in
            let id = OperationNumber.next()
            let record = RecordAdvertisement(
                name: Self.name, record: Self.address(number), isUnique: true, interface: nil)
            try network.hosts[0].machine.publish(record, as: id, now: network.now)
            return id
        }
    }

    private func addresses(_ sent: [SimulatedNetwork.Sent]) -> [[DNSRecord]] {
        sent.filter { !$0.isQuery }.map { $0.records.filter { $0.name == Self.name && $0.type == .a } }
            .filter { !$0.isEmpty }
    }

    /// What another host has lost.
    private func lost(_ network: SimulatedNetwork) -> [DNSRecordData] {
        network.hosts[1].events.compactMap { if case .removed(let record, _) = $0.event { record.data } else { nil } }
    }

    @Test func aSecondRecordDoesNotDropTheFirst() throws {
        let network = SimulatedNetwork(hosts: 2)
        let query = try network.query(1, Self.name, .a)
        _ = try publish(network, [1])
        network.run(for: .seconds(5))
        let second = try publish(network, [2])
        network.run(for: .seconds(5))
        #expect(Set(network.hosts[1].records(query).map(\.data)) == Self.data(1, 2) && lost(network).isEmpty)
        // A new record in place of one drops that one alone, and so does a goodbye.
        try network.hosts[0].machine.update(second[0], records: [Self.address(3)], now: network.now)
        network.run(for: .seconds(5))
        #expect(Set(network.hosts[1].records(query).map(\.data)) == Self.data(1, 3))
        #expect(Set(lost(network)) == Self.data(2))
        _ = network.take()
        network.end(0, second[0])
        network.run(for: .seconds(5))
        #expect(Set(network.hosts[1].records(query).map(\.data)) == Self.data(1))
        #expect(Set(lost(network)) == Self.data(2, 3))
        let goodbye = try #require(addresses(network.take()).first)
        #expect(goodbye.map(\.timeToLive) == [0] && !goodbye[0].isUnique)
        // Each packet with the bit was whole.
        #expect(network.hosts[0].failures.isEmpty)
    }

    /// A querier that knows one record gets both, by multicast and by unicast.
    @Test(arguments: [false, true]) func anAnswerIsWhole(wantsUnicast: Bool) throws {
        let network = SimulatedNetwork(hosts: 1)
        _ = try publish(network, [1, 2])
        network.run(for: .seconds(10))
        _ = network.take()
        let known = DNSRecord(Self.name, timeToLive: 120, Self.address(1).data)
        try network.inject(.query(Self.name, .a, wantsUnicast: wantsUnicast, known: [known]), to: 0)
        let answers = network.take()
        #expect(answers.count == 1 && (answers[0].transmission.destination != .group) == wantsUnicast)
        #expect(Set(answers[0].records.map(\.data)) == Self.data(1, 2))
        #expect(answers[0].records.allSatisfy { $0.isUnique })
        // Not in the answer to a legacy resolver, whose cache knows no such bit.
        try network.inject(.query(Self.name, .a), to: 0, port: 4000)
        #expect(network.take().flatMap(\.records).allSatisfy { !$0.isUnique })
    }

    /// The packets of one interface arrive on the other. They are those of this host, and no conflict.
    @Test func twoInterfacesOnOneLinkAreNoConflict() throws {
        let network = SimulatedNetwork()
        network.addHostWithTwoInterfaces("laptop")
        _ = try publish(network, [1])
        network.run(for: .milliseconds(100))
        _ = try publish(network, [2])
        network.run(for: .seconds(10))
        #expect(network.hosts[0].events.map(\.event) == [.announced, .announced])
        let probes = network.take().filter { $0.isQuery }.flatMap(\.message.authorities)
        #expect(probes.count == 2 * 2 * MulticastRules.probeCount)
    }

    /// A set that is too large to be sent with each of its records has no cache-flush bit, and replaced records get goodbyes.
    @Test func aLargeSetIsSentRecordByRecord() throws {
        let network = SimulatedNetwork(hosts: 1)
        let ids = try publish(network, 0...OwnedRecords.maximumSet)
        network.run(for: .seconds(10))
        _ = network.take()
        try network.hosts[0].machine.update(ids[0], records: [Self.address(300)], now: network.now)
        network.run(for: .seconds(10))
        let sent = addresses(network.take())
        #expect(sent.allSatisfy { $0.count == 1 && !$0[0].isUnique })
        #expect(sent.filter { $0[0].timeToLive == 0 }.map { $0[0].data } == [Self.address(0).data])
        #expect(sent.filter { $0[0].timeToLive == 120 }.allSatisfy { $0[0].data == Self.address(300).data })
        // One fewer, and the set is whole again.
        network.end(0, ids[1])
        try network.hosts[0].machine.update(ids[0], records: [Self.address(301)], now: network.now)
        network.run(for: .seconds(10))
        let whole = addresses(network.take()).dropFirst()
        #expect(!whole.isEmpty && whole.allSatisfy { $0.count == OwnedRecords.maximumSet && $0.allSatisfy(\.isUnique) })
    }

    /// §6: forged goodbyes for the records of a set, one after the other, cause one multicast of the set per second.
    @Test func aSetIsSentOncePerSecond() throws {
        let network = SimulatedNetwork(hosts: 1)
        _ = try publish(network, 1...8)
        network.run(for: .seconds(10))
        _ = network.take()
        for number in 0..<40 {
            let forged = DNSRecord(Self.name, timeToLive: 0, Self.address(number % 8 + 1).data)
            try network.inject(.response(forged), to: 0)
            network.run(for: .milliseconds(100))
        }
        network.run(for: .seconds(2))
        let times = network.take().filter { !$0.isQuery }.map(\.time)
        #expect(times.count >= 3 && zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= .seconds(1) })
    }

    /// Additional records that do not fit are left out as whole sets.
    @Test func additionalSetsAreNotCut() throws {
        let answer = DNSRecord(.http, timeToLive: 4500, .ptr(Self.name))
        let text = DNSRecord.unique(DNSName("t.local")!, 4500, .txt([Array(repeating: 1, count: 200)]))
        let set = (0..<80).map { DNSRecord.unique(Self.name, 120, Self.address($0).data) }
        let shared = (0..<80).map { DNSRecord(Self.name, timeToLive: 120, Self.address($0).data) }
        func additional(_ records: [DNSRecord]) throws -> [DNSRecord] {
            let packets = PacketComposer.responses([answer], additional: records)
            #expect(packets.count == 1 && packets[0].count <= MulticastRules.usualPayload)
            return try DNSMessage(wire: packets[0]).additionals
        }
        #expect(try additional([text] + set) == [text])
        #expect(try additional(set + [text]) == set)
        #expect(try additional(set.prefix(5) + [text] + set.dropFirst(5)) == [text])
        #expect(try additional([text] + shared).count > 60)
    }

    /// Answers that need several packets are all sent, with the additional records that fit behind the last ones.
    @Test func longAnswersAreSplit() throws {
        let text = DNSRecord.unique(DNSName("t.local")!, 4500, .txt([[1]]))
        for count in [0, 1, 80, 128, 129, 300] {
            let answers = (0..<count).map { DNSRecord.unique(Self.name, 120, Self.address($0).data) }
            let messages = try PacketComposer.responses(answers, additional: [text]).map { try DNSMessage(wire: $0) }
            #expect(messages.flatMap(\.answers) == answers)
            #expect(messages.flatMap(\.additionals) == (answers.isEmpty ? [] : [text]))
        }
    }
}
