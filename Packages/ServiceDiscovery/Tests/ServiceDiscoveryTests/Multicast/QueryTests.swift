import DNSWire
import Testing

@testable import ServiceDiscovery

/// RFC 6762 §5, §7.1, §7.3, §10: queries and the cache.
@Suite struct QueryTests {
    private static let web = DNSName("Web._http._tcp.local")!
    private static let pointer = DNSRecord(.http, timeToLive: 4500, .ptr(web))

    private static func service(_ port: UInt16, seconds: UInt32 = 120) -> DNSRecord {
        .unique(web, seconds, .srv(priority: 0, weight: 0, port: port, target: DNSName("h.local")!))
    }

    // Parity: SD-112
    @Test func repeatsWithGrowingIntervals() throws {
        let network = SimulatedNetwork(hosts: 1)
        _ = try network.query(0, .http, .ptr)
        network.run(for: .seconds(3 * 3600))
        let queries = network.sent
        // §5.2: after 20 to 120 ms, then after 1 s, 2 s, 4 s … and never more than an hour.
        #expect(queries[0].time >= .milliseconds(20) && queries[0].time <= .milliseconds(120))
        let pauses = zip(queries, queries.dropFirst()).map { $1.time - $0.time }
        for (index, pause) in pauses.enumerated() { #expect(pause == .seconds(min(1 << index, 3600))) }
        // §5.4: the first query requests a unicast response.
        #expect(
            queries.map { $0.message.questions[0].wantsUnicast } == [true]
                + [Bool](repeating: false, count: queries.count - 1))
        #expect(queries.allSatisfy { $0.message.header.id == 0 && $0.message.header.bits == 0 })
    }

    @Test func requestsNoUnicastOnASharedPort() throws {
        let network = SimulatedNetwork()
        network.addHost("a", receivesUnicast: false)
        _ = try network.query(0, .http, .ptr)
        try network.publish(0, .http("Web"))
        network.run(for: .seconds(5))
        #expect(network.sent.flatMap(\.message.questions).allSatisfy { !$0.wantsUnicast })
    }

    /// Another program may begin to use the port at any time, before the first query of a question.
    @Test func requestsNoUnicastOnceThePortIsShared() throws {
        let network = SimulatedNetwork(hosts: 1)
        _ = try network.query(0, .http, .ptr)
        #expect(!network.hosts[0].machine.hasQuestionsDue(network.now))
        #expect(network.hosts[0].machine.hasQuestionsDue(network.now + .milliseconds(120)))
        network.hosts[0].machine.receivesUnicast = false
        network.run(for: .seconds(5))
        // A link that appears later as well.
        network.hosts[0].machine.setLinks([], now: network.now)
        network.hosts[0].machine.setLinks([network.hosts[0].link], now: network.now)
        network.run(for: .seconds(5))
        #expect(network.sent.count > 4)
        #expect(network.sent.flatMap(\.message.questions).allSatisfy { !$0.wantsUnicast })
    }

    @Test func stopsWhenCancelled() throws {
        let network = SimulatedNetwork(hosts: 1)
        let one = try network.query(0, .http, .ptr)
        let two = try network.query(0, .http, .ptr)
        network.run(for: .seconds(2))
        network.end(0, one)
        _ = network.take()
        network.run(for: .seconds(10))
        #expect(network.take().count == 2)
        network.end(0, two)
        network.run(for: .seconds(1000))
        #expect(network.sent.isEmpty && network.hosts[0].machine.isIdle)
    }

    @Test func combinesQuestions() throws {
        let network = SimulatedNetwork(hosts: 1)
        for number in 0..<40 { _ = try network.query(0, DNSName("h\(number).local")!, .a) }
        network.run(for: .milliseconds(1200))
        // §5.3: after the first round, which is spread, they share packets.
        let last = network.sent.filter { $0.time > .milliseconds(1020) }
        #expect(last.count <= 40 && !last.isEmpty)
        #expect(network.sent.allSatisfy { $0.transmission.bytes.count <= MulticastRules.usualPayload })
    }

    // Parity: SD-112
    @Test func listsKnownAnswers() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, .http, .ptr)
        network.run(for: .milliseconds(500))
        try network.inject(.response(Self.pointer), to: 0)
        #expect(network.hosts[0].records(id) == [Self.pointer])
        _ = network.take()
        network.run(for: .seconds(10))
        // §7.1: with the rest of its time to live.
        let query = try #require(network.take().last)
        #expect(query.message.answers.map(\.data) == [Self.pointer.data])
        #expect(query.message.answers[0].timeToLive < 4500 && query.message.answers[0].recordClass == 1)
        // Not listed after half of its time to live, so that its owner refreshes it.
        network.run(for: .seconds(2300))
        _ = network.take()
        network.run(for: .seconds(3700))
        #expect(network.sent.filter { $0.time < .seconds(4500) }.allSatisfy { $0.message.answers.isEmpty })
    }

    @Test func splitsLongLists() throws {
        let network = SimulatedNetwork(hosts: 1)
        _ = try network.query(0, .http, .ptr)
        network.run(for: .milliseconds(500))
        for number in 0..<200 {
            let name = DNSName("A service with a long name, number \(number)._http._tcp.local")!
            try network.inject(.response(DNSRecord(.http, timeToLive: 4500, .ptr(name))), to: 0)
        }
        _ = network.take()
        network.run(for: .seconds(1))
        let packets = network.take()
        // §7.2: all but the last announce further packets; only the first has the question.
        #expect(packets.count > 3)
        #expect(packets.dropLast().allSatisfy { $0.message.header.isTruncated })
        #expect(packets.last?.message.header.isTruncated == false)
        #expect(packets.map(\.message.questions.count) == [1] + [Int](repeating: 0, count: packets.count - 1))
        #expect(packets.flatMap(\.message.answers).count == 200)
        #expect(packets.allSatisfy { $0.transmission.bytes.count <= MulticastRules.usualPayload })
    }

    @Test func suppressesDuplicateQuestions() throws {
        let network = SimulatedNetwork(hosts: 1)
        _ = try network.query(0, .http, .ptr)
        network.run(for: .milliseconds(200))
        _ = network.take()
        network.run(for: .milliseconds(600))
        // §7.3: another host sends the same question just before us.
        try network.inject(.query(.http, .ptr), to: 0)
        network.run(for: .milliseconds(900))
        #expect(network.take().isEmpty)
        // But not if it lists more known answers than we have, because we need those, nor if it requests a unicast
        // response.
        network.run(for: .milliseconds(500))
        try network.inject(.query(.http, .ptr, known: [Self.pointer]), to: 0)
        try network.inject(.query(.http, .ptr, wantsUnicast: true), to: 0)
        network.run(for: .milliseconds(1000))
        #expect(network.take().count == 1)
    }

    // Parity: SD-112
    @Test func refreshesRecords() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, Self.web, .srv)
        network.run(for: .milliseconds(500))
        try network.inject(.response(Self.service(1)), to: 0)
        let start = network.elapsed
        _ = network.take()
        network.run(for: .seconds(130))
        // §5.2: a unique answer is refreshed at 80, 85, 90 and 95 % of its time to live, each plus up to 2 %.
        let shares = network.take().prefix(4).map { ($0.time - start) / .seconds(120) * 100 }
        #expect(shares.count == 4)
        for (share, percent) in zip(shares, [80.0, 85, 90, 95]) { #expect(share >= percent && share <= percent + 2.01) }
        #expect(network.hosts[0].records(id).isEmpty)
        // Then it is queried as at the beginning.
        try network.inject(.response(Self.service(1)), to: 0)
        #expect(network.hosts[0].records(id).count == 1)
    }

    @Test func doesNotRefreshUnneededRecords() throws {
        let network = SimulatedNetwork(hosts: 1)
        try network.inject(.response(Self.service(1)), to: 0)
        network.run(for: .seconds(200))
        #expect(network.sent.isEmpty)
        #expect(network.hosts[0].machine.statistics.cachedRecords == 0)
    }

    @Test func answersFromTheCache() throws {
        let network = SimulatedNetwork(hosts: 1)
        try network.inject(.response(Self.service(1)), to: 0)
        let id = try network.query(0, Self.web, .srv)
        network.run(for: .zero)
        #expect(network.hosts[0].records(id).count == 1)
        network.run(for: .seconds(60))
        #expect(network.sent.isEmpty)
    }

    @Test func flushesReplacedRecords() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, Self.web, .srv)
        try network.inject(.response(Self.service(1)), to: 0)
        network.run(for: .seconds(2))
        try network.inject(.response(Self.service(2)), to: 0)
        // §10.2: the old record expires in a second.
        #expect(network.hosts[0].records(id).count == 2)
        network.run(for: .milliseconds(1001))
        #expect(network.hosts[0].records(id) == [Self.service(2)])
    }

    @Test func doesNotFlushRecentRecords() throws {
        let network = SimulatedNetwork(hosts: 1)
        let name = DNSName("h.local")!
        let id = try network.query(0, name, .a)
        try network.inject(.response(.unique(name, 120, .a(IPv4Address(10, 0, 0, 7)))), to: 0)
        network.run(for: .milliseconds(900))
        // §10.2: a response may consist of several packets, sent within a second.
        try network.inject(.response(.unique(name, 120, .a(IPv4Address(10, 0, 0, 8)))), to: 0)
        network.run(for: .seconds(10))
        #expect(network.hosts[0].records(id).count == 2)
    }

    @Test func verifiesGoodbyes() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, .http, .ptr)
        try network.inject(.response(Self.pointer), to: 0)
        network.run(for: .seconds(20))
        _ = network.take()
        try network.inject(.response(Self.pointer.withTimeToLive(0)), to: 0, from: "10.0.0.66")
        network.run(for: .milliseconds(100))
        // The query does not list the record, so its owner answers, and the record stays.
        #expect(network.take().map(\.message.answers.count) == [0])
        try network.inject(.response(Self.pointer), to: 0)
        network.run(for: .seconds(5))
        #expect(network.hosts[0].records(id).count == 1)
        try network.inject(.response(Self.pointer.withTimeToLive(0)), to: 0)
        network.run(for: .milliseconds(999))
        #expect(network.hosts[0].records(id).count == 1)
        network.run(for: .milliseconds(2))
        #expect(network.hosts[0].records(id).isEmpty)
    }

    @Test func verifiesRecords() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, .http, .ptr)
        try network.inject(.response(Self.pointer), to: 0)
        network.run(for: .seconds(400))
        _ = network.take()
        network.hosts[0].machine.reconfirm(Self.pointer.key, Self.pointer.data, now: network.now)
        network.run(for: .seconds(9))
        // §10.4: two queries, and removal after ten seconds.
        #expect(network.take().count == 2)
        #expect(network.hosts[0].records(id).count == 1)
        network.run(for: .milliseconds(1001))
        #expect(network.hosts[0].records(id).isEmpty)
        // If its owner answers, it stays.
        try network.inject(.response(Self.pointer), to: 0)
        network.hosts[0].machine.reconfirm(Self.pointer.key, Self.pointer.data, now: network.now)
        network.run(for: .seconds(1))
        try network.inject(.response(Self.pointer), to: 0)
        network.run(for: .seconds(60))
        #expect(network.hosts[0].records(id).count == 1)
    }

    /// What was found on two interfaces is verified on one.
    @Test func verifiesRecordsOfOneInterface() throws {
        let network = SimulatedNetwork()
        network.addHostWithTwoInterfaces("host0")
        let id = try network.query(0, .http, .ptr)
        for interface: UInt32 in [1, 2] {
            try network.inject(.response(Self.pointer), to: 0, interface: interface)
        }
        network.run(for: .seconds(400))
        _ = network.take()
        network.hosts[0].machine.reconfirm(
            Self.pointer.key, Self.pointer.data, interface: "wlan0", now: network.now)
        network.run(for: .seconds(9))
        #expect(network.take().map(\.transmission.interface) == [2, 2])
        network.run(for: .milliseconds(1001))
        let removals = network.hosts[0].events.compactMap { event -> UInt32? in
            if event.id == id, case .removed(_, let interface) = event.event { interface } else { nil }
        }
        #expect(removals == [2])
    }

    @Test func noticesUnansweredQueries() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, .http, .ptr)
        try network.inject(.response(Self.pointer), to: 0)
        network.run(for: .seconds(5))
        // §10.5: two queries of another host, over ten seconds, without an answer.
        try network.inject(.query(.http, .ptr), to: 0)
        network.run(for: .seconds(11))
        try network.inject(.query(.http, .ptr), to: 0)
        network.run(for: .seconds(11))
        #expect(network.hosts[0].records(id).isEmpty)
        // A query that lists the record has no effect on it.
        try network.inject(.response(Self.pointer), to: 0)
        for _ in 0..<5 {
            try network.inject(.query(.http, .ptr, known: [Self.pointer]), to: 0)
            network.run(for: .seconds(11))
        }
        #expect(network.hosts[0].records(id).count == 1)
    }

    @Test func reportsDenials() throws {
        let network = SimulatedNetwork(hosts: 2)
        network.hosts[0].link = MulticastLink(
            index: 1, name: "eth0", addresses: [.init(address: network.hosts[0].address, prefixLength: 24)])
        network.hosts[0].machine.setLinks([network.hosts[0].link], now: network.now)
        try network.publish(0, .http("Web"))
        network.run(for: .seconds(5))
        let id = try network.query(1, DNSName("host0.local")!, .aaaa)
        network.run(for: .seconds(1))
        // §6.1: the host answers that it has only addresses of the other family.
        #expect(network.hosts[1].events.contains { $0.id == id && $0.event == .absent(interface: 1) })
    }

    /// python-zeroconf up to 2023 writes an empty block before each type bitmap, which RFC 4034 §4.1.2 forbids.
    @Test func acceptsRecordsBesideAMalformedDenial() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, .http, .ptr)
        var response = DNSMessage.response(Self.pointer)
        let host = DNSName("h.local")!
        response.additionals = [
            DNSRecord(host, timeToLive: 4500, .other(.nsec, host.wireForm + [0, 0, 0, 4, 0, 0, 0, 8]))
        ]
        try network.inject(response, to: 0)
        #expect(network.hosts[0].records(id).count == 1)
    }

    /// A denial of TXT is accepted from an owner of SRV. A denial of both is an inverted list of the missing types.
    @Test(arguments: [([DNSRecordType.srv], true), ([.aaaa], false)])
    func acceptsDenialsOfTextFromServicesOnly(types: [DNSRecordType], isBelieved: Bool) throws {
        let network = SimulatedNetwork(hosts: 1)
        let name = DNSName("Web._http._tcp.local")!
        let id = try network.query(0, name, .txt)
        try network.inject(.response(.unique(name, 120, .nsec(next: name, types: types))), to: 0)
        #expect(network.hosts[0].events.contains { $0.id == id && $0.event == .absent(interface: 1) } == isBelieved)
    }

    @Test(arguments: [true, false]) func denialsDoNotConcernRecordsOfTheSamePacket(isFirst: Bool) throws {
        let network = SimulatedNetwork(hosts: 1)
        let host = DNSName("h.local")!
        let id = try network.query(0, host, .a)
        let address = DNSRecord.unique(host, 120, .a(IPv4Address(rawValue: 0x0A00_0001)))
        let denial = DNSRecord.unique(host, 120, .nsec(next: host, types: [.aaaa]))
        var response = DNSMessage.response(address)
        response.answers = isFirst ? [denial, address] : [address, denial]
        try network.inject(response, to: 0)
        #expect(network.hosts[0].records(id).count == 1)
        #expect(!network.hosts[0].events.contains { $0.id == id && $0.event == .absent(interface: 1) })
    }

    @Test func comparesNamesWithoutCase() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, DNSName("_HTTP._tcp.LOCAL")!, .ptr)
        try network.inject(.response(Self.pointer), to: 0)
        #expect(network.hosts[0].records(id).count == 1)
    }

    /// A denial is reported from its packet and not cached, unless there is a question for it.
    @Test func cachesOnlyWantedDenials() throws {
        let network = SimulatedNetwork(hosts: 1)
        let host = DNSName("h.local")!
        let denial = DNSRecord.unique(host, 120, .nsec(next: host, types: [.aaaa]))
        let address = try network.query(0, host, .a)
        try network.inject(.response(denial), to: 0)
        #expect(network.hosts[0].machine.statistics.cachedRecords == 0)
        #expect(network.hosts[0].events.contains { $0.id == address && $0.event == .absent(interface: 1) })
        let id = try network.query(0, host, .nsec)
        try network.inject(.response(denial), to: 0)
        #expect(network.hosts[0].records(id) == [denial])
        #expect(network.hosts[0].machine.statistics.recordsRefused == 0)
    }

    @Test func limitsQuestions() throws {
        var limits = EngineLimits()
        limits.questions = 3
        let network = SimulatedNetwork(hosts: 1, limits: limits)
        for _ in 0..<3 { _ = try network.query(0, .http, .ptr) }
        let error = #expect(throws: ServiceDiscoveryError.self) { try network.query(0, .http, .ptr) }
        #expect(error?.code == .limitReached)
    }
}
