@_spi(Packages) import DNSWire
import Testing

@testable import ServiceDiscovery

/// Other hosts that try for minutes to make a host send or remember: its traffic and memory stay bounded, and real
/// services stay known.
@Suite struct FloodTests {
    private static let web = DNSName("Real._http._tcp.local")!
    private static let real = DNSRecord(.http, timeToLive: 4500, .ptr(web))

    private static func pointer(_ name: String, seconds: UInt32 = 4500) -> DNSRecord {
        DNSRecord(.http, timeToLive: seconds, .ptr(DNSName("\(name)._http._tcp.local")!))
    }

    private static func address(_ number: Int, _ seconds: UInt32 = 120) -> DNSRecord {
        .unique(DNSName("h\(number).local")!, seconds, .a(IPv4Address(1, 2, 3, 4)))
    }

    /// The times of a host's queries for the type, and the number of known answers that they listed.
    private static func queries(_ network: SimulatedNetwork, from host: Int) -> (times: [Duration], listed: Int) {
        let sent = network.sent.filter { $0.isQuery && $0.from == host }
        let times = sent.filter { $0.message.questions.contains { $0.name == .http } }.map(\.time)
        return (times, sent.reduce(0) { $0 + $1.message.answers.count })
    }

    /// RFC 6762 §5.2: a record and its goodbye ten times a second for two minutes, sent to a host that knows a hundred
    /// others, together with the goodbye of a real service.
    @Test func forgedGoodbyesCauseOneQueryPerSecond() throws {
        var limits = EngineLimits()
        limits.listedAnswersPerMinute = 500
        let network = SimulatedNetwork(hosts: 2, limits: limits)
        try network.publish(1, .http("Real"))
        let id = try network.query(0, .http, .ptr)
        network.run(for: .seconds(5))
        for number in 0..<100 {
            try network.inject(.response(Self.pointer("fake \(number)")), to: 0, from: "10.0.0.66")
        }
        _ = network.take()
        for round in 0..<1200 {
            let forged = Self.pointer("flood \(round)")
            let message = DNSMessage.response(forged, forged.withTimeToLive(0), Self.real.withTimeToLive(0))
            for host in 0...1 { try network.inject(message, to: host, from: "10.0.0.66") }
            network.run(for: .milliseconds(100))
        }
        let reported = network.hosts[0].events.filter { $0.id == id }.map(\.event)
        #expect(
            reported.contains { if case .added(let record, _, _) = $0 { record.data == Self.real.data } else { false } }
        )
        #expect(
            !reported.contains { if case .removed(let record, _) = $0 { record.data == Self.real.data } else { false } }
        )
        let (times, listed) = Self.queries(network, from: 0)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= MulticastRules.firstQueryInterval })
        #expect(times.count > 100 && times.count <= 121)
        #expect(listed <= 3 * limits.listedAnswersPerMinute)
        // The owner of the real service answers once per second, with additional records.
        #expect(network.sent.filter { $0.from == 1 }.count <= 125)
    }

    /// The same with records that live for one second: each causes four refresh queries.
    @Test func shortTimesToLiveCauseOneQueryPerSecond() throws {
        let network = SimulatedNetwork(hosts: 1)
        _ = try network.query(0, .http, .ptr)
        _ = try network.query(0, Self.web, .srv)
        network.run(for: .seconds(5))
        _ = network.take()
        for round in 0..<1200 {
            let location = DNSRecord.unique(
                Self.web, 1, .srv(priority: 0, weight: 0, port: UInt16(round), target: Self.web))
            try network.inject(
                .response(Self.pointer("flood \(round)", seconds: 1), location), to: 0, from: "10.0.0.66")
            network.run(for: .milliseconds(100))
        }
        let (times, _) = Self.queries(network, from: 0)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= MulticastRules.firstQueryInterval })
        let other = network.sent.filter { $0.message.questions.contains { $0.name == Self.web } }.map(\.time)
        #expect(zip(other, other.dropFirst()).allSatisfy { $1 - $0 >= MulticastRules.firstQueryInterval })
        #expect(network.sent.count <= 2 * 121)
    }

    @Test func limitsListedKnownAnswers() throws {
        var limits = EngineLimits()
        limits.listedAnswersPerMinute = 150
        let network = SimulatedNetwork(hosts: 1, limits: limits)
        _ = try network.query(0, .http, .ptr)
        network.run(for: .milliseconds(500))
        for number in 0..<100 { try network.inject(.response(Self.pointer("S \(number)")), to: 0) }
        _ = network.take()
        network.run(for: .seconds(10))
        // Queries after 1, 3 and 7 seconds list all answers, the earlier half, and none. Each is sent.
        let sent = network.take()
        #expect(sent.filter { !$0.message.questions.isEmpty }.count == 3)
        #expect(sent.flatMap(\.records).count == 150)
        #expect(sent.flatMap(\.records).suffix(50).map(\.data) == (0..<50).map { Self.pointer("S \($0)").data })
        // In the next minute, the query after 63 seconds lists all again.
        network.run(for: .seconds(60))
        #expect(network.take().flatMap(\.records).count == 100)
    }

    /// RFC 6762 §10: a time to live of 136 years is limited to 75 minutes.
    @Test(arguments: [(UInt32.max, UInt32(4500)), (4501, 4500), (4500, 4500), (120, 120)])
    func limitsTimeToLive(seconds: UInt32, kept: UInt32) throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, .http, .ptr)
        try network.inject(.response(Self.pointer("Fake", seconds: seconds)), to: 0)
        network.run(for: .seconds(kept - 1))
        #expect(network.hosts[0].records(id).count == 1)
        network.run(for: .seconds(2))
        #expect(network.hosts[0].records(id).isEmpty)
    }

    @Test func longestLifeIsConfigurable() throws {
        var limits = EngineLimits()
        limits.maximumTimeToLive = 60
        let network = SimulatedNetwork(hosts: 1, limits: limits)
        let id = try network.query(0, .http, .ptr)
        try network.inject(.response(Self.real), to: 0)
        network.run(for: .seconds(61))
        #expect(network.hosts[0].records(id).isEmpty)
    }

    /// 8,192 long-lived records from two forged addresses: known services stay, and new ones are found.
    @Test func aFullCacheAcceptsRealServices() throws {
        let network = SimulatedNetwork(hosts: 1)
        let limits = EngineLimits()
        let host = network.hosts[0]
        let id = try network.query(0, .http, .ptr)
        try network.inject(.response(Self.real), to: 0, from: "10.0.0.5")
        for number in 0..<limits.cachedRecords {
            let sender = "10.0.0.\(number % 2 + 66)"
            try network.inject(
                .response(Self.pointer("fake \(number)", seconds: .max)), to: 0, from: sender)
        }
        #expect(host.machine.statistics.cachedRecords == limits.cachedRecords)
        // Records for which there is no question are refused.
        try network.inject(.response(Self.address(1)), to: 0, from: "10.0.0.6")
        #expect(host.machine.statistics.recordsRefused == 2)
        for number in 0..<20 {
            try network.inject(.response(Self.pointer("Late \(number)")), to: 0, from: "10.0.0.\(number + 6)")
        }
        let found = host.records(id)
        #expect(found.contains(Self.real))
        for number in 0..<20 { #expect(found.contains(Self.pointer("Late \(number)"))) }
        // The newest records of the flood were displaced, and their removal was reported.
        #expect(found.count == host.machine.statistics.cachedRecords)
        #expect(found.contains { $0.data == Self.pointer("fake 0").data })
        #expect(!found.contains { $0.data == Self.pointer("fake 8190").data })
        network.end(0, id)
        network.run(for: .seconds(4501))
        #expect(host.machine.statistics.cachedRecords == 0)
    }

    /// Records for which there is no question are displaced first, then those of senders beyond their share.
    @Test func displacesUnneededRecords() throws {
        var limits = EngineLimits()
        (limits.cachedRecords, limits.unaskedRecords, limits.percentWhenFull) = (32, 16, 25)
        let network = SimulatedNetwork(hosts: 1, limits: limits)
        let id = try network.query(0, .http, .ptr)
        for number in 0..<16 { try network.inject(.response(Self.address(number)), to: 0, from: "10.0.0.5") }
        for number in 0..<16 {
            try network.inject(.response(Self.pointer("A \(number)")), to: 0, from: "10.0.0.\(6 + number % 2)")
        }
        for number in 0..<16 {
            try network.inject(.response(Self.pointer("B \(number)")), to: 0, from: "10.0.0.\(8 + number % 2)")
        }
        // 32 answers from four senders, each at its share of 8: no more are accepted.
        #expect(network.hosts[0].records(id).count == 32)
        try network.inject(.response(Self.pointer("C")), to: 0, from: "10.0.0.10")
        #expect(network.hosts[0].records(id).count == 32)
        #expect(network.hosts[0].machine.statistics.recordsRefused == 17)
    }

    /// A TXT record of the real service's name, in strings of `length` bytes.
    private static func text(_ number: Int, strings: Int, length: Int) -> DNSRecord {
        let first = [UInt8](repeating: 0, count: 3) + [UInt8(number >> 8), UInt8(number & 255)]
        let rest = [[UInt8]](repeating: [UInt8](repeating: 120, count: length), count: strings - 1)
        return DNSRecord(web, timeToLive: 4500, .txt([first] + rest))
    }

    /// The memory of the records that currently answer a query.
    private static func memory(_ network: SimulatedNetwork, _ id: Int) -> Int {
        network.hosts[0].records(id).reduce(0) { $0 + $1.memory }
    }

    /// Distinct records of 8,800 bytes in a packet, and five times as many in memory, from one sender and from many. A
    /// record with the cache-flush bit then ends all of them together.
    @Test func limitsTheMemoryOfRecords() throws {
        let limits = EngineLimits()
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, Self.web, .txt)
        func flood(from senders: [String]) throws {
            for number in 0..<256 {
                let message = DNSMessage.response(Self.text(number, strings: 800, length: 10))
                network.inject(try message.wireForm(), to: 0, from: senders[number % senders.count])
            }
            network.run(for: .zero)
        }
        try flood(from: ["10.0.0.66"])
        let half = limits.cachedBytes / 100 * limits.percentOfOneSender
        #expect((half - RecordCache.maximumRecordSize...half).contains(Self.memory(network, id)))
        try flood(from: (67...100).map { "10.0.0.\($0)" })
        let all = limits.cachedBytes
        #expect((all - RecordCache.maximumRecordSize...all).contains(Self.memory(network, id)))
        network.run(for: .seconds(2))
        let last = DNSRecord.unique(Self.web, 4500, .txt([]))
        try network.inject(.response(last), to: 0, from: "10.0.0.66")
        network.run(for: .seconds(2))
        #expect(network.hosts[0].records(id) == [last])
    }

    /// The strings need fifty times the memory of the packet. A record of usual strings may be as large as a packet.
    @Test func refusesRecordsOfManyTinyStrings() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, Self.web, .txt)
        try network.inject(.response(Self.text(0, strings: 4_400, length: 1)), to: 0)
        #expect(network.hosts[0].records(id).isEmpty)
        #expect(network.hosts[0].machine.statistics.recordsRefused == 1)
        let largest = Self.text(1, strings: 800, length: 10)
        try network.inject(.response(largest), to: 0)
        #expect(network.hosts[0].records(id) == [largest])
    }

    @Test func aCacheFullOfLargeRecordsAcceptsRealServices() throws {
        let network = SimulatedNetwork(hosts: 1)
        let host = network.hosts[0]
        let (browse, fetch) = (try network.query(0, .http, .ptr), try network.query(0, Self.web, .txt))
        try network.inject(.response(Self.real), to: 0, from: "10.0.0.5")
        for number in 0..<256 {
            let large = DNSMessage.response(Self.text(number, strings: 800, length: 10))
            try network.inject(large, to: 0, from: "10.0.0.\(number % 3 + 66)")
        }
        let before = host.records(fetch).count
        let late = (0..<20).map { Self.pointer("Late \($0)") }
        for (number, record) in late.enumerated() {
            try network.inject(.response(record), to: 0, from: "10.0.0.\(number + 6)")
        }
        // More than what is left.
        let own = Self.text(1000, strings: 400, length: 20)
        try network.inject(.response(own), to: 0, from: "10.0.0.5")
        #expect(host.records(browse) == [Self.real] + late && host.records(fetch).contains(own))
        // Only the newest records of the flood were displaced.
        #expect(host.records(fetch).contains(Self.text(0, strings: 800, length: 10)))
        #expect((before - 8..<before).contains(host.records(fetch).count))
    }

    /// One record with the cache-flush bit ends 4,000 others. They are removed a part at a time.
    @Test func limitsRemovalsAtATime() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, Self.web, .txt)
        for number in 0..<4000 {
            let message = DNSMessage.response(Self.text(number, strings: 1, length: 0))
            network.inject(try message.wireForm(), to: 0)
        }
        network.run(for: .seconds(2))
        let last = DNSRecord.unique(Self.web, 4500, .txt([]))
        try network.inject(.response(last), to: 0)
        network.run(for: MulticastRules.removalDelay)
        for left in [2977, 1953, 929, 1] {
            #expect(network.hosts[0].machine.statistics.cachedRecords == left)
            network.run(for: MulticastRules.searchInterval)
        }
        #expect(network.hosts[0].records(id) == [last])
    }

    /// The end of a query, and each search after it, cost a bounded amount of work, however many records it leaves.
    @Test func removesRecordsOfAnEndedQueryAPartAtATime() throws {
        var limits = EngineLimits()
        limits.unaskedRecords = 512
        let network = SimulatedNetwork(hosts: 1, limits: limits)
        let id = try network.query(0, .http, .ptr)
        for first in stride(from: 0, to: 2_560, by: 128) {
            var response = DNSMessage.response(Self.pointer("S \(first)"))
            response.answers = (first..<first + 128).map { Self.pointer("S \($0)") }
            try network.inject(response, to: 0)
        }
        network.run(for: MulticastRules.searchInterval)
        network.end(0, id)
        #expect(network.hosts[0].machine.statistics.cachedRecords == 2_560)
        network.run(for: .zero)
        for left in [1_536, 512, 512] {
            #expect(network.hosts[0].machine.statistics.cachedRecords == left)
            network.run(for: MulticastRules.searchInterval)
        }
        let again = try network.query(0, .http, .ptr)
        network.run(for: .zero)
        #expect(network.hosts[0].records(again) == (0..<512).map { Self.pointer("S \($0)") })
    }

    /// The records of the ended query go, not those of other names that are newer.
    @Test func removesTheRecordsOfAnEndedQueryFirst() throws {
        var limits = EngineLimits()
        limits.unaskedRecords = 4
        let network = SimulatedNetwork(hosts: 1, limits: limits)
        let id = try network.query(0, .http, .ptr)
        for number in 0..<5 { try network.inject(.response(Self.pointer("S \(number)")), to: 0) }
        for number in 0..<3 { try network.inject(.response(Self.address(number)), to: 0) }
        network.end(0, id)
        network.run(for: .zero)
        #expect(network.hosts[0].machine.statistics.cachedRecords == 4)
        let again = try network.query(0, .http, .ptr)
        network.run(for: .zero)
        #expect(network.hosts[0].records(again) == [Self.pointer("S 0")])
    }

    /// Records of an ended query count as records for which there is no question.
    @Test func limitsRecordsOfEndedQueries() throws {
        var limits = EngineLimits()
        limits.unaskedRecords = 2
        let network = SimulatedNetwork(hosts: 1, limits: limits)
        let id = try network.query(0, .http, .ptr)
        for number in 0..<5 { try network.inject(.response(Self.pointer("S \(number)")), to: 0) }
        #expect(network.hosts[0].machine.statistics.cachedRecords == 5)
        network.end(0, id)
        network.run(for: .zero)
        #expect(network.hosts[0].machine.statistics.cachedRecords == 2)
        // The earliest records remain, and count for the new query.
        let again = try network.query(0, .http, .ptr)
        network.run(for: .zero)
        #expect(network.hosts[0].records(again) == [Self.pointer("S 0"), Self.pointer("S 1")])
        for number in 0..<2 { try network.inject(.response(Self.address(number)), to: 0) }
        #expect(network.hosts[0].machine.statistics.cachedRecords == 4)
    }

    /// A packet of 9,000 bytes with many questions and known answers: each is examined once.
    @Test func questionsAndKnownAnswersAreNotComparedInPairs() throws {
        let known = (0..<260).map { Self.pointer("k\($0)") }
        let once = DNSMessage.query(.http, .ptr)
        var query = once
        query.questions = [DNSQuestion](repeating: once.questions[0], count: 660)
        #expect(query.distinctQuestions == once.questions)
        // Case and class ANY do not make a question distinct; the QU bit does.
        query.questions = [
            DNSQuestion(.http, .ptr), DNSQuestion(DNSName("_HTTP._tcp.local")!, .ptr),
            DNSQuestion(.http, .ptr, recordClass: 255), DNSQuestion(.http, .ptr, recordClass: 0x8001),
            DNSQuestion(.http, .ptr, recordClass: 3),
        ]
        #expect(query.distinctQuestions.count == 2)
        query.questions =
            (0..<680).map { DNSQuestion(.http, DNSRecordType(rawValue: UInt16($0 + 1000))) } + once.questions
        let index = KnownAnswers(known)
        let compared = query.distinctQuestions.reduce(0) { $0 + index.data($1.key).count }
        #expect(compared == known.count)
        // The packet is still answered with the records that it does not list.
        let network = SimulatedNetwork(hosts: 1)
        try network.publish(0, .http("Real"))
        network.run(for: .seconds(10))
        _ = network.take()
        query.answers = known
        let packet = try query.multicastWireForm()
        #expect((8500...EngineLimits().packetSize).contains(packet.count))
        network.inject(packet, to: 0)
        network.run(for: .seconds(1))
        #expect(network.take().flatMap(\.records).map(\.data) == [Self.real.data])
        query.answers[0] = Self.real
        network.run(for: .seconds(2))
        network.inject(try query.multicastWireForm(), to: 0)
        network.run(for: .seconds(1))
        #expect(network.take().isEmpty)
        // Equal questions count once: each known answer and the own record are compared with one of them.
        query.questions = [DNSQuestion](repeating: once.questions[0], count: 660)
        let before = network.hosts[0].machine.statistics.recordsCompared
        network.inject(try query.multicastWireForm(), to: 0)
        #expect(network.hosts[0].machine.statistics.recordsCompared - before == known.count + 1)
    }

    /// A response and a probe with many records of a name that has many publications: each record and each publication is examined once.
    @Test(arguments: [true, false]) func recordsAndPublicationsAreNotComparedInPairs(isUnique: Bool) throws {
        let network = SimulatedNetwork(hosts: 1)
        let name = DNSName("bridge.local")!
        func address(_ number: Int) -> DNSRecordData {
            .a(IPv4Address(192, 0, UInt8(number / 256), UInt8(number % 256)))
        }
        for number in 0..<300 {
            let record = RecordAdvertisement(
                name: name, record: OwnRecord(address(number)), isUnique: isUnique, interface: nil)
            try network.hosts[0].machine.publish(record, as: OperationNumber.next(), now: network.now)
        }
        // While the names are probed for, and afterwards. Records of another type are no conflict then.
        for (type, time) in [
            (DNSRecordType.a, Duration.milliseconds(300)), (DNSRecordType(rawValue: 65_280), .seconds(10)),
        ] {
            network.run(for: time)
            var message = DNSMessage(header: DNSHeader(id: 0, bits: 0x8400))
            message.answers = (0..<300).map { number in
                DNSRecord(
                    name, timeToLive: 120,
                    type == .a ? address(number) : .other(type, [UInt8(number / 256), UInt8(number % 256)]))
            }
            let before = network.hosts[0].machine.statistics.recordsCompared
            try network.inject(message, to: 0)
            let compared = network.hosts[0].machine.statistics.recordsCompared - before
            #expect(compared == (isUnique ? 600 : 0))
        }
        #expect(network.hosts[0].failures.isEmpty)
        var probe = DNSMessage.query(name, .any)
        probe.authorities = (0..<300).map { DNSRecord(name, timeToLive: 120, address($0 + 300)) }
        let before = network.hosts[0].machine.statistics.recordsCompared
        try network.inject(probe, to: 0)
        // The question is answered with all records, which are compared with it.
        #expect(network.hosts[0].machine.statistics.recordsCompared - before == (isUnique ? 900 : 300))
    }

    /// §10.5 counts one query per second, however many arrive.
    @Test func aFloodOfQueriesCausesOneVerification() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, .http, .ptr)
        try network.inject(.response(Self.real), to: 0)
        network.run(for: .seconds(5))
        _ = network.take()
        for _ in 0..<100 {
            for _ in 0..<10 { try network.inject(.query(.http, .ptr), to: 0, from: "10.0.0.66") }
            network.run(for: .milliseconds(120))
        }
        // Without an answer, the record is verified by two queries and removed.
        let (times, _) = Self.queries(network, from: 0)
        #expect(times.count <= 3)
        network.run(for: .seconds(10))
        #expect(network.hosts[0].records(id).isEmpty)
    }

    /// RFC 6762 §8.1: another host claims every name that this host chooses, one packet for each.
    @Test func forgedHostConflictsCauseFewAnnouncements() throws {
        let network = SimulatedNetwork(hosts: 1)
        let services = 10
        for number in 0..<services { try network.publish(0, .http("S \(number)")) }
        network.run(for: .seconds(10))
        _ = network.take()
        for _ in 0..<200 {
            let taken = DNSRecord.unique(network.hosts[0].machine.hostName, 120, .a(IPv4Address(1, 2, 3, 4)))
            try network.inject(.response(taken), to: 0, from: "10.0.0.66")
            network.run(for: .milliseconds(1))
        }
        #expect(network.take().count <= MulticastRules.maximumConflicts * services)
        // Afterwards, the services are at the host's last name.
        network.run(for: .seconds(20))
        let host = network.hosts[0]
        for number in 0..<services {
            let id = try network.query(0, DNSName("S \(number)._http._tcp.local")!, .srv)
            network.run(for: .zero)
            let location = DNSRecordData.srv(priority: 0, weight: 0, port: 80, target: host.machine.hostName)
            #expect(host.records(id).map(\.data) == [location])
        }
        #expect(network.take().flatMap(\.records).contains { $0.name == host.machine.hostName && $0.type == .a })
    }

    @Test func conflictsAreCountedInBoundedMemory() {
        var conflicts = RecentConflicts()
        let now = DiscoveryTime.now
        let answers = (0..<1000).map { _ in conflicts.note(now) }
        #expect(conflicts.times.count == MulticastRules.maximumConflicts)
        #expect(answers.firstIndex(of: true) == MulticastRules.maximumConflicts - 1)
        #expect(answers.count { !$0 } == MulticastRules.maximumConflicts - 1)
        let isFrequent = conflicts.note(now + MulticastRules.conflictWindow)
        #expect(!isFrequent && conflicts.times.count == 1)
    }
}

@Suite struct ScaleTests {
    /// A million names from many senders, for which there are questions and others.
    @Test func aMillionNames() throws {
        let limits = EngineLimits()
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, .http, .ptr)
        let real = DNSRecord(.http, timeToLive: 4500, .ptr(DNSName("Real._http._tcp.local")!))
        try network.inject(.response(real), to: 0, from: "10.0.0.5")
        // Assembled by hand, because encoding a million records would take most of the test's time.
        let service = Array("\u{5}_http\u{4}_tcp\u{5}local\u{0}".utf8)
        var number = 0
        for packet in 0..<5000 {
            var bytes: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 200, 0, 0, 0, 0]
            for _ in 0..<200 {
                let label = [7] + (0..<7).map { UInt8(0x61 + number >> (3 * $0) & 7) }
                number += 1
                if number % 2 == 0 {
                    // A service; its name ends with the root label of the first record's name.
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
        let browse = try network.query(1, .http, .ptr)
        network.run(for: .seconds(20))
        let found = network.hosts[1].records(browse)
        #expect(found.count == 1000)
        var ids: [Int] = []
        for record in found {
            guard case .ptr(let name) = record.data else { continue }
            ids.append(try network.query(1, name, .srv))
        }
        network.run(for: .seconds(5))
        #expect(Set(network.hosts[1].events.map(\.id)).isSuperset(of: ids))
        #expect(network.sent.allSatisfy { $0.transmission.bytes.count <= MulticastRules.usualPayload })
    }
}
