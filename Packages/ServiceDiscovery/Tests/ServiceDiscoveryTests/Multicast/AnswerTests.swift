@_spi(Packages) import DNSWire
import HostResolver
import Testing

@testable import ServiceDiscovery

/// RFC 6762 §6, §7, §11, §18: answers and their destinations.
@Suite struct AnswerTests {
    private let network = SimulatedNetwork(hosts: 1)
    private static let web = DNSName("Web._http._tcp.local")!
    private static let host = DNSName("host0.local")!

    /// A host that published a service long ago.
    init() throws {
        var service = try ServiceAdvertisement.http("Web")
        service.type = try ServiceType("_http._tcp,_sub1")
        try network.publish(0, service)
        network.run(for: .seconds(30))
        _ = network.take()
    }

    private var start: Duration { network.elapsed }

    @Test func answersUniqueQuestionsAtOnceAndSharedOnesLater() throws {
        var start = network.elapsed
        try network.inject(.query(Self.web, .srv), to: 0)
        network.run(for: .seconds(2))
        var answer = try #require(network.take().first)
        // §6: only this host can answer, so there is no delay.
        #expect(answer.time == start && answer.transmission.destination == .group)
        #expect(answer.message.header.isResponse && answer.message.header.isAuthoritative)
        #expect(answer.message.header.id == 0 && answer.message.questions.isEmpty)
        start = network.elapsed
        try network.inject(.query(.http, .ptr), to: 0)
        network.run(for: .seconds(2))
        answer = try #require(network.take().first)
        #expect(answer.time - start >= .milliseconds(20) && answer.time - start <= .milliseconds(120))
    }

    @Test func addsAdditionalRecords() throws {
        try network.inject(.query(.http, .ptr), to: 0)
        network.run(for: .seconds(1))
        let answer = try #require(network.take().first)
        // RFC 6763 §12.1.
        #expect(answer.records.map(\.type) == [.ptr])
        let extra = answer.message.additionals
        #expect(Set(extra.map(\.type)) == [.srv, .txt, .a, .aaaa])
        #expect(extra.allSatisfy { $0.isUnique })
        // RFC 6763 §12.2.
        try network.inject(.query(Self.web, .srv), to: 0)
        network.run(for: .seconds(2))
        #expect(Set(network.take()[0].message.additionals.map(\.type)) == [.a, .aaaa])
    }

    @Test func answersQuestionsOfTypeAny() throws {
        try network.inject(.query(Self.web, .any), to: 0)
        network.run(for: .seconds(1))
        #expect(Set(network.take()[0].records.map(\.type)) == [.srv, .txt])
    }

    @Test(arguments: [UInt32(4500), 2250, 2249])
    func suppressesKnownAnswers(left: UInt32) throws {
        try network.inject(.query(.http, .ptr, known: [DNSRecord(.http, timeToLive: left, .ptr(Self.web))]), to: 0)
        network.run(for: .seconds(2))
        // §7.1: suppressed unless less than half of the time to live is left.
        #expect(network.take().count == (left >= 2250 ? 0 : 1))
    }

    @Test func deniesMissingTypes() throws {
        try network.inject(.query(Self.web, .a), to: 0)
        network.run(for: .seconds(1))
        let records = network.take().flatMap(\.records)
        // §6.1.
        #expect(records.map(\.data) == [.nsec(next: Self.web, types: [.txt, .srv])])
        #expect(records.allSatisfy { $0.isUnique })
        // Not for names that others may have records of, nor for names of others.
        try network.inject(.query(.http, .txt), to: 0)
        try network.inject(.query(DNSName("other.local")!, .a), to: 0)
        network.run(for: .seconds(1))
        #expect(network.sent.isEmpty)
    }

    @Test func waitsForFurtherKnownAnswers() throws {
        var first = DNSMessage.query(.http, .ptr)
        first.header.isTruncated = true
        let start = network.elapsed
        try network.inject(first, to: 0)
        network.run(for: .milliseconds(399))
        #expect(network.sent.isEmpty)
        // §7.2: 400 to 500 ms.
        network.run(for: .milliseconds(130))
        let answer = try #require(network.take().first)
        #expect(answer.time - start >= .milliseconds(400))
        // The rest arrives in time, from the same sender, and lists the answer.
        let rest = DNSMessage(
            header: DNSHeader(id: 0), answers: [DNSRecord(.http, timeToLive: 4500, .ptr(Self.web))])
        network.run(for: .seconds(2))
        try network.inject(first, to: 0)
        network.run(for: .milliseconds(100))
        try network.inject(rest, to: 0)
        network.run(for: .seconds(2))
        #expect(network.take().isEmpty)
        // From another sender, it is ignored.
        try network.inject(first, to: 0)
        try network.inject(rest, to: 0, from: "10.0.0.77")
        network.run(for: .seconds(2))
        #expect(network.take().count == 1)
    }

    @Test func limitsHeldQueries() throws {
        var query = DNSMessage.query(.http, .ptr)
        query.header.isTruncated = true
        for number in 0..<200 { try network.inject(query, to: 0, from: "10.0.0.\(number + 10)") }
        let refused = network.hosts[0].machine.statistics.repliesRefused
        #expect(refused == 200 - EngineLimits().heldQueries)
        let many = DNSMessage(
            header: DNSHeader(id: 0),
            answers: (0..<100).map { DNSRecord(.http, timeToLive: 4500, .ptr(DNSName("\($0).local")!)) })
        for _ in 0..<100 { try network.inject(many, to: 0, from: "10.0.0.10") }
        network.run(for: .seconds(2))
        #expect(network.take().count >= 1)
    }

    /// Answers that this host does not have are not kept, and questions for the names of other hosts are not held.
    @Test func holdsOnlyWhatConcernsOwnRecords() throws {
        var query = DNSMessage.query(.http, .ptr)
        query.header.isTruncated = true
        try network.inject(query, to: 0)
        // More foreign answers than may be kept precede the own one, which suppresses the answer nevertheless.
        for packet in 0..<EngineLimits().heldKnownAnswers / 100 + 1 {
            let other = (0..<100).map {
                DNSRecord(.http, timeToLive: 4500, .ptr(DNSName("\(packet)-\($0).local")!))
            }
            try network.inject(DNSMessage(header: DNSHeader(id: 0), answers: other), to: 0)
        }
        let own = DNSRecord(.http, timeToLive: 4500, .ptr(Self.web))
        try network.inject(DNSMessage(header: DNSHeader(id: 0), answers: [own]), to: 0)
        network.run(for: .seconds(2))
        #expect(network.take().isEmpty)
        query.questions = [DNSQuestion(DNSName("_other._tcp.local")!, .ptr)]
        for number in 0..<200 { try network.inject(query, to: 0, from: "10.0.0.\(number + 10)") }
        #expect(network.hosts[0].machine.statistics.repliesRefused == 0)
    }

    /// The same record in any number of packets is kept once.
    @Test func keepsKnownAnswersOnce() throws {
        let record = DNSRecord(.http, timeToLive: 4500, .ptr(Self.web))
        var owned = OwnedRecords()
        owned.claim(record, for: 1)
        let (known, other) = (record.withTimeToLive(9), DNSRecord(.http, timeToLive: 9, .ptr(Self.host)))
        var query = DNSMessage.query(.http, .ptr, known: [known, other, known])
        query.questions += [DNSQuestion(Self.web, .srv), DNSQuestion(.http, .ptr)]
        let part = owned.part(of: query)
        #expect(part.questions == [DNSQuestion(.http, .ptr)] && part.answers == [known, known])
        let datagram = Datagram(
            bytes: [], source: IPAddress("10.0.0.9")!, sourcePort: 5353, isMulticast: true, interface: 1)
        var held = HeldQueries(limits: EngineLimits())
        let now = DiscoveryTime.now
        for _ in 0..<100 {
            let isHeld = held.hold(part, datagram, until: now)
            #expect(isHeld)
        }
        let due = held.takeDue(now)
        #expect(due.count == 1 && due.first?.known.count == 1)
    }

    @Test func answersByUnicast() throws {
        // §5.4: multicast less than a quarter of its time to live ago.
        try network.inject(.query(.http, .ptr, wantsUnicast: true), to: 0)
        network.run(for: .seconds(1))
        let answers = network.take()
        #expect(answers.map(\.transmission.destination) == [.host(IPAddress("10.0.0.250")!, port: 5353)])
        // Multicast earlier than that: sent to all hosts as well.
        network.run(for: .seconds(100))
        try network.inject(.query(Self.web, .srv, wantsUnicast: true), to: 0)
        network.run(for: .seconds(1))
        #expect(network.take().contains { $0.transmission.destination == .group })
    }

    @Test func answersLegacyResolvers() throws {
        try network.inject(.query(Self.host, .a, id: 4711), to: 0, port: 40_000)
        let reply = try #require(network.take().first)
        // §6.7: ID and question repeated, at most ten seconds, no cache-flush bit.
        #expect(reply.transmission.destination == .host(IPAddress("10.0.0.250")!, port: 40_000))
        #expect(reply.message.header.id == 4711 && reply.message.questions.map(\.name) == [Self.host])
        #expect((reply.records + reply.message.additionals).allSatisfy { $0.timeToLive <= 10 && $0.recordClass == 1 })
        #expect(reply.records.map(\.data) == [.a(IPv4Address(10, 0, 0, 1))])
        #expect(reply.transmission.bytes.count <= 512)
    }

    @Test(arguments: [("10.0.0.250", 1), ("fe80::77", 1), ("192.0.2.9", 0), ("2001:db8::1", 0)])
    func repliesOnlyOnTheLink(source: String, count: Int) throws {
        // CVE-2017-6519: neither replies to unicast packets nor unicast replies leave the link.
        try network.inject(.query(Self.web, .srv), to: 0, from: source, isMulticast: false)
        #expect(network.take().count == count)
        try network.inject(.query(Self.web, .srv, id: 1), to: 0, from: source, port: 999)
        #expect(network.take().count == count)
    }

    @Test func limitsReplies() throws {
        for _ in 0..<1000 { try network.inject(.query(Self.web, .srv, id: 1), to: 0, port: 999) }
        #expect(network.take().count == EngineLimits().unicastRepliesPerSecond)
        #expect(network.hosts[0].machine.statistics.repliesRefused == 1000 - EngineLimits().unicastRepliesPerSecond)
        network.run(for: .seconds(2))
        try network.inject(.query(Self.web, .srv, id: 1), to: 0, port: 999)
        #expect(network.take().count == 1)
    }

    @Test func doesNotRepeatWithinASecond() throws {
        for _ in 0..<10 {
            try network.inject(.query(Self.web, .srv), to: 0)
            network.run(for: .milliseconds(90))
        }
        network.run(for: .milliseconds(50))
        #expect(network.take().count == 1)
        network.run(for: .milliseconds(200))
        #expect(network.take().count == 1)
    }

    @Test func defendsItsNameQuickly() throws {
        let probe = DNSMessage(
            header: DNSHeader(id: 0), questions: [DNSQuestion(Self.web, .any)],
            authorities: [DNSRecord(Self.web, timeToLive: 120, .txt([[1]]))])
        try network.inject(probe, to: 0)
        #expect(network.take().count == 1)
        network.run(for: .milliseconds(260))
        try network.inject(probe, to: 0)
        // §6: to defend a name, 250 ms are enough.
        #expect(network.take().count == 1)
    }

    @Test func aggregatesAnswers() throws {
        network.run(for: .seconds(5))
        try network.inject(.query(.http, .ptr), to: 0)
        try network.inject(.query(DNSName("_sub1._sub._http._tcp.local")!, .ptr), to: 0)
        try network.inject(.query(DNSName("_services._dns-sd._udp.local")!, .ptr), to: 0)
        network.run(for: .seconds(1))
        #expect(network.take().count <= 3)
    }

    @Test func suppressesDuplicateAnswers() throws {
        try network.inject(.query(.http, .ptr), to: 0)
        // §7.4: another host sends the same answer before our delay ends.
        try network.inject(.response(DNSRecord(.http, timeToLive: 4500, .ptr(Self.web))), to: 0)
        network.run(for: .seconds(1))
        #expect(network.take().isEmpty)
    }

    @Test(arguments: [UInt32(0), 100])
    func correctsShortTimesToLive(seconds: UInt32) throws {
        // §6.6, §10.1: another host announces a shorter time to live for our record.
        try network.inject(.response(DNSRecord(.http, timeToLive: seconds, .ptr(Self.web))), to: 0)
        network.run(for: .seconds(1))
        #expect(network.take().flatMap(\.records).contains { $0.name == .http && $0.timeToLive == 4500 })
    }

    @Test func ignoresInvalidPackets() throws {
        var wrong = DNSMessage.query(Self.web, .srv)
        wrong.header.bits = 0x2800  // §18.3: another opcode
        try network.inject(wrong, to: 0)
        wrong.header.bits = 3  // §18.11: a failure
        try network.inject(wrong, to: 0)
        wrong.header.bits = 0
        wrong.questions[0].recordClass = 3  // another class
        try network.inject(wrong, to: 0)
        network.inject([UInt8](repeating: 0, count: 9001), to: 0)
        network.inject([1, 2, 3], to: 0)
        network.run(for: .seconds(1))
        #expect(network.take().isEmpty)
        #expect(network.hosts[0].machine.statistics.packetsRefused == 4)
        // §6: answers come from port 5353.
        let id = try network.query(0, .http, .ptr)
        let foreign = DNSName("Foreign._http._tcp.local")!
        try network.inject(.response(DNSRecord(.http, timeToLive: 100, .ptr(foreign))), to: 0, port: 5354)
        #expect(network.hosts[0].records(id).map(\.data) == [.ptr(Self.web)])
    }

    @Test func recognizesItsOwnPackets() throws {
        // It answers its own questions with its own records, and sends nothing because of its own packets.
        let id = try network.query(0, .http, .ptr)
        network.run(for: .seconds(1))
        #expect(network.hosts[0].records(id).map(\.data) == [.ptr(Self.web)])
        #expect(network.take().allSatisfy { $0.isQuery })
        // The same bytes from another program on this machine are processed: each sent packet matches only one arrival.
        let query = DNSMessage.query(Self.web, .srv)
        try network.inject(query, to: 0, from: "10.0.0.1")
        #expect(network.take().count == 1)
    }

    @Test func doesNotRepeatDenialsWithinASecond() throws {
        for _ in 0..<10 {
            try network.inject(.query(Self.web, .a), to: 0)
            network.run(for: .milliseconds(90))
        }
        network.run(for: .milliseconds(50))
        #expect(network.take().count == 1)
        network.run(for: .milliseconds(200))
        #expect(network.take().flatMap(\.records).map(\.type) == [.nsec])
    }

    @Test func dropsPendingDenialsOfWithdrawnNames() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.publish(0, .http("Web"))
        network.run(for: .seconds(30))
        _ = network.take()
        for _ in 0..<2 {
            try network.inject(.query(Self.web, .a), to: 0)
            network.run(for: .milliseconds(10))
        }
        network.end(0, id)
        network.run(for: .seconds(3))
        #expect(network.take().flatMap(\.records).count { $0.type == .nsec } == 1)
    }

    /// The denial of a name is created once for all questions of a packet.
    @Test func oneDenialAnswersAllMissingTypes() throws {
        let records = [
            DNSRecord.unique(Self.web, 4500, .txt([[1]])),
            .unique(Self.web, 120, .srv(priority: 0, weight: 0, port: 1, target: Self.host)),
        ]
        let name = OwnedName(Self.web, records)
        let denial = try #require(name.denial)
        #expect(denial == .unique(Self.web, 120, .nsec(next: Self.web, types: [.txt, .srv])))
        #expect(name.records(of: .srv) == [records[1]] && name.records(of: .any) == records)
        #expect(name.records(of: .a) == [denial])
        let shared = OwnedName(Self.web, records + [DNSRecord(Self.web, timeToLive: 9, .ptr(Self.host))])
        #expect(shared.denial == nil && shared.records(of: .a).isEmpty)
        #expect(OwnedName(Self.web, []).records(of: .any).isEmpty)
        var query = DNSMessage.query(Self.web, .a)
        query.questions = (1000..<1600).map { DNSQuestion(Self.web, DNSRecordType(rawValue: $0)) }
        network.inject(try query.multicastWireForm(), to: 0)
        network.run(for: .seconds(2))
        #expect(network.take().flatMap(\.records).map(\.type) == [.nsec])
    }
}
