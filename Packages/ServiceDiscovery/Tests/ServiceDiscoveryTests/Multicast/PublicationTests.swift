import DNSWire
import Testing

@testable import ServiceDiscovery

/// RFC 6762 §8 to §10.1: probing, announcing, conflicts, goodbyes.
@Suite struct PublicationTests {
    // Parity: SD-110
    @Test func probesThenAnnounces() throws {
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.publish(0, .http("Web"))
        network.run(for: .seconds(10))
        let name = DNSName("Web._http._tcp.local")!
        let probes = network.sent.filter { $0.isQuery && $0.message.questions.contains { $0.name == name } }
        // §8.1: the first after 0 to 250 ms, three of them at 250 ms, of type ANY, with the proposed records.
        #expect(probes.count == 3)
        #expect(probes[0].time >= .zero && probes[0].time <= .milliseconds(250))
        #expect(probes[1].time - probes[0].time == .milliseconds(250))
        #expect(probes[2].time - probes[1].time == .milliseconds(250))
        let question = try #require(probes[0].message.questions.first { $0.name == name })
        // Not by unicast: another program on this machine might get the answer.
        #expect(question.type == .any && !question.wantsUnicast)
        #expect(probes[0].message.authorities.count { $0.name == name && !$0.isUnique } == 2)
        // §8.3: at least two announcements, at least a second apart, intervals doubling, unique records marked.
        let announcements = network.sent.filter { !$0.isQuery && $0.records.contains { $0.name == name } }
        #expect(announcements.count == MulticastRules.announcementCount)
        #expect(announcements[0].time == probes[2].time + .milliseconds(250))
        #expect(announcements[1].time - announcements[0].time == .seconds(1))
        #expect(announcements[2].time - announcements[1].time == .seconds(2))
        let records = announcements[0].records
        #expect(records.contains { $0.name == name && $0.type == .srv && $0.isUnique && $0.timeToLive == 120 })
        #expect(records.contains { $0.name == name && $0.type == .txt && $0.isUnique && $0.timeToLive == 4500 })
        #expect(records.contains { $0.name == .http && $0.type == .ptr && !$0.isUnique && $0.timeToLive == 4500 })
        let addresses = network.sent.filter { !$0.isQuery }.flatMap(\.records).filter {
            $0.name == DNSName("host0.local")
        }
        #expect(addresses.contains { $0.type == .a && $0.isUnique && $0.timeToLive == 120 })
        #expect(addresses.contains { $0.type == .aaaa && $0.isUnique })
        #expect(network.hosts[0].published.map(\.name) == ["Web"])
        #expect(network.hosts[0].events.allSatisfy { $0.id == id })
    }

    /// The owner of a name defends it, although it has multicast its records recently and another program of the prober's machine
    /// gets unicast packets.
    @Test func aNameIsDefendedWithoutUnicast() throws {
        let network = SimulatedNetwork(hosts: 2)
        network.carriesUnicast = false
        try network.publish(0, .http("Web", port: 1))
        network.run(for: .seconds(5))
        var second = try ServiceAdvertisement.http("Web", port: 2)
        second.renamesOnConflict = false
        try network.publish(1, second)
        network.run(for: .seconds(5))
        #expect(network.hosts[1].failures.map(\.code) == [.collision] && network.hosts[1].published.isEmpty)
        #expect(network.hosts[0].published.map(\.name) == ["Web"])
    }

    @Test func doesNotAnswerWhileProbing() throws {
        let network = SimulatedNetwork(hosts: 1)
        try network.publish(0, .http("Web"))
        network.run(for: .milliseconds(500))
        try network.inject(.query(.http, .ptr), to: 0)
        #expect(network.sent.allSatisfy { $0.isQuery })
        #expect(network.hosts[0].published.isEmpty)
    }

    @Test(arguments: [true, false])
    func renamesAfterAConflict(renames: Bool) throws {
        let network = SimulatedNetwork(hosts: 2)
        try network.publish(0, .http("Web", port: 1))
        network.run(for: .seconds(5))
        var second = try ServiceAdvertisement.http("Web", port: 2)
        second.renamesOnConflict = renames
        try network.publish(1, second)
        network.run(for: .seconds(5))
        #expect(network.hosts[0].published.map(\.name) == ["Web"])
        if renames {
            #expect(network.hosts[1].published.map(\.name) == ["Web (2)"])
        } else {
            #expect(network.hosts[1].published.isEmpty)
            #expect(network.hosts[1].failures.map(\.code) == [.collision])
        }
    }

    @Test func doesNotConflictWithItself() throws {
        let network = SimulatedNetwork(hosts: 1)
        try network.publish(0, .http("Web"))
        try network.publish(0, .http("Web"))
        var third = try ServiceAdvertisement.http("web")
        third.renamesOnConflict = false
        let error = #expect(throws: ServiceDiscoveryError.self) {
            try network.publish(0, third)
        }
        #expect(error?.number == -72001)
        network.run(for: .seconds(5))
        #expect(Set(network.hosts[0].published.map(\.name)) == ["Web", "Web (2)"])
    }

    /// §8.2: two hosts probe at the same time; one gets the name and the other is renamed, every time.
    // Parity: SD-110
    @Test(arguments: 1...20)
    func breaksTies(round: Int) throws {
        let network = SimulatedNetwork()
        network.addHost("a\(round)")
        network.addHost("b\(round)")
        try network.publish(0, .http("Web", port: UInt16(round)))
        try network.publish(1, .http("Web", port: UInt16(round + 1)))
        network.run(for: .seconds(8))
        let names = network.hosts.flatMap { $0.published.map(\.name) }
        #expect(Set(names) == ["Web", "Web (2)"] && names.count == 2)
    }

    @Test func theLaterDataWinsATie() throws {
        let network = SimulatedNetwork(hosts: 1)
        try network.publish(0, .http("Web", port: 80))
        network.run(for: .milliseconds(260))
        let name = DNSName("Web._http._tcp.local")!
        func probe(port: UInt16) -> DNSMessage {
            // Class and type are compared first: the SRV record follows our TXT record.
            DNSMessage(
                header: DNSHeader(id: 0), questions: [DNSQuestion(name, .any)],
                authorities: [
                    DNSRecord(
                        name, timeToLive: 120, .srv(priority: 0, weight: 0, port: port, target: DNSName("zzz.local")!)),
                    DNSRecord(name, timeToLive: 120, .txt([Array("path=/".utf8)])),
                ])
        }
        let before = network.elapsed
        try network.inject(probe(port: 79), to: 0)
        network.run(for: .milliseconds(250))
        #expect(network.take().contains { $0.isQuery })  // it continued
        try network.inject(probe(port: 81), to: 0)
        let lost = network.elapsed
        network.run(for: .seconds(5))
        // §8.2: the loser waits a second and starts again.
        let next = try #require(network.sent.first { $0.isQuery && $0.message.questions.contains { $0.name == name } })
        #expect(next.time - lost == .seconds(1))
        #expect(before < lost)
        #expect(network.hosts[0].published.count == 1)
    }

    @Test func equalProbesAreNoTie() throws {
        let network = SimulatedNetwork(hosts: 1)
        try network.publish(0, .http("Web"))
        network.run(for: .milliseconds(260))
        let name = DNSName("Web._http._tcp.local")!
        let probe = try #require(network.take().first { $0.message.questions.contains { $0.name == name } })
        try network.inject(probe.message, to: 0)
        network.run(for: .milliseconds(800))
        #expect(network.hosts[0].published.map(\.name) == ["Web"])
    }

    /// §9: two networks are joined, in which two services have the same name.
    // Parity: SD-014
    @Test func detectsLateConflicts() throws {
        let network = SimulatedNetwork(hosts: 2)
        network.carries = { _, _ in false }
        try network.publish(0, .http("Web", port: 1))
        try network.publish(1, .http("Web", port: 2))
        network.run(for: .seconds(10))
        #expect(network.hosts.allSatisfy { $0.published.map(\.name) == ["Web"] })
        network.carries = { _, _ in true }
        _ = try network.query(0, DNSName("Web._http._tcp.local")!, .srv)
        // A query makes both answer; both detect the conflict and probe again.
        try network.inject(.query(.http, .ptr), to: 0)
        try network.inject(.query(.http, .ptr), to: 1)
        network.run(for: .seconds(10))
        let names = network.hosts.map { $0.published.last?.name }
        #expect(Set(names) == ["Web", "Web (2)"])
    }

    @Test func pausesAfterManyConflicts() throws {
        let network = SimulatedNetwork(hosts: 1)
        try network.publish(0, .http("Web"))
        var times: [Duration] = []
        while times.count < 17 && network.elapsed < .seconds(60) {
            network.run(for: .milliseconds(10))
            // Another host claims every name that is probed for.
            for probe in network.take() where probe.isQuery {
                let names = probe.message.questions.map(\.name).filter { $0 != DNSName("host0.local") }
                guard let name = names.first else { continue }
                times.append(probe.time)
                try network.inject(
                    .response(.unique(name, 120, .srv(priority: 0, weight: 0, port: 9, target: DNSName("x.local")!))),
                    to: 0)
            }
        }
        try #require(times.count == 17)
        #expect(times[16] - times[15] >= .seconds(5))
        #expect(times[14] < .seconds(10))
    }

    @Test func sendsGoodbyes() throws {
        let network = SimulatedNetwork(hosts: 2)
        let id = try network.publish(0, .http("Web"))
        let browse = try network.query(1, .http, .ptr)
        network.run(for: .seconds(5))
        #expect(network.hosts[1].records(browse).count == 1)
        _ = network.take()
        network.end(0, id)
        network.run(for: .milliseconds(10))
        // §10.1: every record, with a time to live of zero.
        let goodbye = network.sent.filter { $0.from == 0 }.flatMap(\.records)
        #expect(goodbye.allSatisfy { $0.timeToLive == 0 })
        #expect(Set(goodbye.map(\.type)) == [.srv, .txt, .ptr, .a, .aaaa])
        #expect(network.hosts[1].records(browse).count == 1)  // for one more second
        network.run(for: .milliseconds(1100))
        #expect(network.hosts[1].records(browse).isEmpty)
    }

    @Test func keepsPointersOfOtherPublications() throws {
        let network = SimulatedNetwork(hosts: 1)
        let one = try network.publish(0, .http("One"))
        try network.publish(0, .http("Two"))
        network.run(for: .seconds(5))
        _ = network.take()
        network.end(0, one)
        network.run(for: .seconds(1))
        let types = DNSName("_services._dns-sd._udp.local")!
        #expect(network.sent.flatMap(\.records).allSatisfy { $0.name != types && $0.type != .a })
    }

    @Test func announcesChanges() throws {
        let network = SimulatedNetwork(hosts: 2)
        let id = try network.publish(0, .http("Web"))
        let name = DNSName("Web._http._tcp.local")!
        let watch = try network.query(1, name, .txt)
        network.run(for: .seconds(8))
        #expect(network.hosts[1].records(watch).map(\.data) == [.txt([Array("path=/".utf8)])])
        try network.hosts[0].machine.update(id, record: try TXTRecord(["path": "/new"]), now: network.now)
        network.run(for: .seconds(3))
        // §8.4: the new data is announced with the cache-flush bit; the old record expires in a second.
        #expect(network.hosts[1].records(watch).map(\.data) == [.txt([Array("path=/new".utf8)])])
    }

    @Test func renamesTheHost() throws {
        let network = SimulatedNetwork()
        network.addHost("same")
        network.addHost("same")
        try network.publish(0, .http("One"))
        network.run(for: .seconds(5))
        try network.publish(1, .http("Two"))
        network.run(for: .seconds(5))
        #expect(network.hosts[0].machine.hostName == DNSName("same.local"))
        #expect(network.hosts[1].machine.hostName == DNSName("same-2.local"))
        let ask = try network.query(0, DNSName("Two._http._tcp.local")!, .srv)
        network.run(for: .seconds(3))
        let targets = network.hosts[0].records(ask).map(\.data)
        #expect(targets == [.srv(priority: 0, weight: 0, port: 80, target: DNSName("same-2.local")!)])
    }

    /// Each of two interfaces on one link receives what the other sends: that is no conflict, neither of the host's name nor of a service.
    /// Another host with the name still is one.
    @Test func twoInterfacesOnOneLinkAreNoConflict() throws {
        let network = SimulatedNetwork()
        let host = network.addHostWithTwoInterfaces("same")
        try network.publish(0, .http("Web"))
        network.run(for: .seconds(20))
        #expect(host.machine.hostName == DNSName("same.local") && host.published.map(\.name) == ["Web"])
        _ = network.take()
        network.run(for: .seconds(20))
        #expect(network.take().isEmpty)
        let other = network.addHost("same")
        try network.publish(1, .http("Web", port: 81))
        network.run(for: .seconds(20))
        #expect(host.machine.hostName == DNSName("same.local") && host.published.count == 1)
        #expect(other.machine.hostName == DNSName("same-2.local") && other.published.map(\.name) == ["Web (2)"])
    }

    // Parity: SD-023
    @Test func followsInterfaceChanges() throws {
        let network = SimulatedNetwork(hosts: 2)
        let host = network.hosts[0]
        try network.publish(0, .http("Web"))
        let browse = try network.query(1, DNSName("host0.local")!, .a)
        let own = try network.query(0, .http, .ptr)
        network.run(for: .seconds(8))
        #expect(host.records(own).count == 1)
        // A new address is announced, and the old one flushed.
        let address = IPAddress("10.0.0.99")!
        host.link = MulticastLink(index: 1, name: "eth0", addresses: [.init(address: address, prefixLength: 24)])
        host.machine.setLinks([host.link], now: network.now)
        network.run(for: .seconds(3))
        #expect(network.hosts[1].records(browse).map(\.data) == [.a(IPv4Address(10, 0, 0, 99))])
        // The link goes down and comes up again.
        #expect(host.published.count == 1)
        host.machine.setLinks([], now: network.now)
        network.run(for: .seconds(1))
        #expect(host.records(own).isEmpty)
        #expect(host.events.last?.event == .hidden)
        host.machine.setLinks([host.link], now: network.now)
        network.run(for: .seconds(3))
        #expect(host.records(own).count == 1)
        #expect(host.published.count == 2)
    }

    /// A service limited to one interface is published only there, whatever changes on the others.
    @Test func publishesOnlyOnItsInterface() throws {
        let network = SimulatedNetwork(hosts: 1)
        let host = network.hosts[0]
        var service = try ServiceAdvertisement.http("Web")
        service.interface = "eth1"
        try network.publish(0, service)
        network.run(for: .seconds(5))
        #expect(host.published.isEmpty)
        // A new address of the other link has no effect.
        let address = MulticastLink.Address(address: IPAddress("10.0.0.99")!, prefixLength: 24)
        host.link = MulticastLink(index: 1, name: "eth0", addresses: [address])
        host.machine.setLinks([host.link], now: network.now)
        network.run(for: .seconds(5))
        #expect(host.published.isEmpty)
        let other = MulticastLink(index: 2, name: "eth1", addresses: [address])
        host.machine.setLinks([host.link, other], now: network.now)
        network.run(for: .seconds(5))
        #expect(host.published.map(\.name) == ["Web"])
        #expect(
            Set(network.sent.filter { !$0.isQuery }.flatMap(\.message.answers).filter { $0.type == .srv }.map(\.name))
                .count == 1)
        #expect(
            network.sent.filter { $0.records.contains { $0.type == .srv } }.allSatisfy {
                $0.transmission.interface == 2
            })
        host.machine.setLinks([host.link], now: network.now)
        network.run(for: .seconds(1))
        #expect(host.events.last?.event == .hidden)
    }

    /// With the longest possible names, it is probed for and announced.
    @Test func theLargestRecordArrives() throws {
        let network = SimulatedNetwork(hosts: 2)
        let name = String(repeating: "n", count: 63)
        let text = try network.query(1, DNSName("\(name)._http._tcp.local")!, .txt)
        var service = try ServiceAdvertisement.http(name)
        while service.record.size + 130 <= TXTRecord.maximumPublishedSize {
            try service.record.set("\(service.record.entries.count)", to: [UInt8](repeating: 1, count: 120))
        }
        let id = try network.publish(0, service)
        network.run(for: .seconds(5))
        #expect(network.hosts[1].records(text).map(\.data) == [.txt(service.record.strings)])
        try service.record.set("0", to: "new")
        try network.hosts[0].machine.update(id, record: service.record, now: network.now)
        network.run(for: .seconds(5))
        #expect(network.hosts[1].records(text).map(\.data) == [.txt(service.record.strings)])
        network.end(0, id)
        #expect(throws: ServiceDiscoveryError(.invalidated)) {
            try network.hosts[0].machine.update(id, record: service.record, now: network.now)
        }
    }

    @Test func publishesSubtypesAndTypes() throws {
        let network = SimulatedNetwork(hosts: 2)
        var service = try ServiceAdvertisement.http("Web")
        service.type = try ServiceType("_http._tcp,_printer,_a b")
        try network.publish(0, service)
        let asker = network.hosts[1]
        var ids: [Int] = []
        for name in ["_printer._sub._http._tcp.local", "_a b._sub._http._tcp.local", "_services._dns-sd._udp.local"] {
            ids.append(try network.query(1, DNSName(name)!, .ptr))
        }
        network.run(for: .seconds(5))
        let web = DNSRecordData.ptr(DNSName("Web._http._tcp.local")!)
        #expect(ids.map { asker.records($0).map(\.data) } == [[web], [web], [.ptr(.http)]])
    }

    @Test func refusesInvalidPublications() throws {
        let network = SimulatedNetwork(hosts: 1)
        var wide = try ServiceAdvertisement.http("Web")
        wide.domain = try ServiceDomain("example.org")
        let error = #expect(throws: ServiceDiscoveryError.self) {
            try network.publish(0, wide)
        }
        #expect(error?.code == .unsupported)
        var limits = EngineLimits()
        limits.registrations = 1
        let host = network.addHost("small", limits: limits)
        try network.publish(host.number, .http("One"))
        #expect(throws: ServiceDiscoveryError.self) { try network.publish(host.number, .http("Two")) }
    }
}
