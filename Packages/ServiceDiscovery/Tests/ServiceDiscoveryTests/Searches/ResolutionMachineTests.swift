import DNSWire
import Testing

@testable import ServiceDiscovery

@Suite struct ResolutionMachineTests {
    private let service: ServiceInstance
    private var machine: ResolutionMachine
    private let host = DNSName("h.local")!

    init() throws {
        service = try ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))
        machine = ResolutionMachine(service)
    }

    private func location(_ host: DNSName, port: UInt16) -> DNSRecord {
        .unique(service.fullName, 120, .srv(priority: 0, weight: 0, port: port, target: host))
    }

    private mutating func add(_ record: DNSRecord, on interface: UInt32 = 1) {
        machine.receive(.added(record, interface: interface, named: "eth\(interface)"), of: record.key)
    }

    private mutating func remove(_ record: DNSRecord, on interface: UInt32 = 1) {
        machine.receive(.removed(record, interface: interface), of: record.key)
    }

    @Test mutating func queriesAddressesOfAKnownHost() {
        #expect(machine.questions.map(\.type).sorted { $0.rawValue < $1.rawValue } == [.txt, .srv])
        add(location(host, port: 80))
        #expect(machine.questions.contains(RecordKey(host, .a)) && machine.questions.contains(RecordKey(host, .aaaa)))
        let taken = machine.take()
        #expect(taken == nil)
    }

    // Parity: SD-055
    @Test mutating func reportsEachChangeOnce() throws {
        add(location(host, port: 80))
        add(.unique(host, 120, .a(IPv4Address(10, 0, 0, 1))))
        var taken = machine.take()
        let first = try #require(taken)
        #expect(first.hostName == "h.local." && first.port == 80 && !first.isComplete)
        taken = machine.take()
        #expect(taken == nil)
        add(.unique(service.fullName, 4500, .txt([Array("a=1".utf8)])))
        add(.unique(host, 120, .aaaa(IPv6Address("fe80::1")!)))
        let next = machine.take()
        let second = try #require(next)
        #expect(second.isComplete && second.record.string("a") == "1")
        #expect(second.addresses.map(\.description) == ["10.0.0.1:80", "[fe80::1%eth1]:80"])
    }

    @Test mutating func recognizesCompleteness() {
        add(location(host, port: 80))
        add(.unique(host, 120, .a(IPv4Address(10, 0, 0, 1))))
        machine.receive(.absent(interface: 1), of: RecordKey(host, .aaaa))
        machine.receive(.absent(interface: 1), of: RecordKey(service.fullName, .txt))
        let taken = machine.take()
        #expect(taken?.isComplete == true)
    }

    // Parity: SD-057
    @Test mutating func continuesWithoutUnavailableRecords() {
        let failure = ServiceDiscoveryError(.lookupFailed)
        func passes(_ machine: inout Self, _ name: DNSName, _ type: DNSRecordType) -> Bool {
            machine.machine.ignores(failure, of: RecordKey(name, type))
        }
        var results = [passes(&self, service.fullName, .srv)]
        add(location(host, port: 80))
        results += [passes(&self, service.fullName, .txt), passes(&self, host, .aaaa), passes(&self, host, .a)]
        // After this failure, no address can follow.
        #expect(results == [false, true, true, false])
        add(.unique(host, 120, .a(IPv4Address(10, 0, 0, 1))))
        let taken = machine.take()
        results = [passes(&self, host, .aaaa)]
        results.append(machine.ignores(ServiceDiscoveryError(.daemonUnavailable), of: RecordKey(host, .a)))
        #expect(taken?.isComplete == true && results == [true, false])
    }

    /// A device names its bare host, or one in the domain of its router. The link is asked for that name, and a second way is tried at the
    /// same time. No failure of one way ends the search.
    @Test(arguments: [
        ("myhostname", "myhostname.local", "myhostname"), ("myhostname", "myhostname.local", "MyHostName.local"),
        ("x.lan", "x.lan", "x.lan"), ("a.b.example.org", "a.b.example.org", "a.b.example.org"),
    ])
    mutating func aHostOutsideLocalIsLookedForInTwoWays(host: String, asked: String, answered: String) throws {
        let name = try #require(DNSName(host))
        add(location(name, port: 80))
        let second = try #require(DNSName(asked))
        #expect(machine.linkQuestions == [RecordKey(name, .a), RecordKey(name, .aaaa)])
        #expect(machine.questions.isSuperset(of: [RecordKey(second, .a), RecordKey(second, .aaaa)]))
        #expect(machine.questions.count == 4)
        for (key, code) in [
            (RecordKey(second, .a), ServiceDiscoveryError.Code.lookupFailed), (RecordKey(name, .aaaa), .unsupported),
        ] {
            let isIgnored = machine.ignores(ServiceDiscoveryError(code), of: key)
            #expect(isIgnored)
        }
        machine.receive(.absent(interface: 0), of: RecordKey(second, .aaaa))
        add(.unique(try #require(DNSName(answered)), 120, .a(IPv4Address(10, 0, 0, 9))))
        let taken = machine.take()
        #expect(taken?.addresses.map(\.description) == ["10.0.0.9:80"] && taken?.hostName == host + ".")
    }

    /// A device names its address instead of a host.
    @Test(arguments: [
        ("10.0.0.9", "10.0.0.9:80"), ("2001:db8::9", "[2001:db8::9]:80"), ("fe80::9", "[fe80::9%eth1]:80"),
    ])
    mutating func aHostMayBeAnAddress(host: String, address: String) throws {
        add(location(try #require(DNSName(host)), port: 80))
        #expect(machine.questions.count == 2 && machine.linkQuestions.isEmpty)
        machine.receive(.absent(interface: 1), of: RecordKey(service.fullName, .txt))
        let taken = machine.take()
        #expect(taken?.addresses.map(\.description) == [address] && taken?.isComplete == true)
        // A later location replaces it.
        remove(location(try #require(DNSName(host)), port: 80))
        add(location(self.host, port: 80))
        #expect(machine.questions.contains(RecordKey(self.host, .a)) && machine.take() == nil)
    }

    /// In other domains, name servers are asked and nothing else: the link could answer for any name.
    @Test func aServiceInAnotherDomainNeverAsksTheLink() throws {
        let far = try ServiceInstance(
            name: "Web", type: ServiceType("_http._tcp"), domain: ServiceDomain("example.org"))
        var machine = ResolutionMachine(far)
        let host = try #require(DNSName("myhostname"))
        let location = DNSRecord.unique(far.fullName, 120, .srv(priority: 0, weight: 0, port: 80, target: host))
        machine.receive(.added(location, interface: 0, named: nil), of: location.key)
        #expect(machine.linkQuestions.isEmpty && machine.questions.contains(RecordKey(host, .a)))
    }

    /// RFC 2782.
    @Test mutating func prefersTheLowestPriority() {
        let other = DNSName("spare.example.org")!
        add(location(host, port: 80))
        add(.unique(service.fullName, 120, .srv(priority: 9, weight: 0, port: 81, target: other)))
        add(.unique(host, 120, .a(IPv4Address(10, 0, 0, 1))))
        let taken = machine.take()
        #expect(taken?.port == 80)
    }

    @Test mutating func usesTheNewestLocation() {
        add(location(host, port: 80))
        add(.unique(host, 120, .a(IPv4Address(10, 0, 0, 1))))
        _ = machine.take()
        let other = DNSName("other.local")!
        add(location(other, port: 81))
        var taken = machine.take()
        #expect(taken == nil)  // its addresses are unknown
        #expect(!machine.questions.contains(RecordKey(host, .a)))
        // A late answer about the former host is ignored.
        add(.unique(host, 120, .a(IPv4Address(10, 0, 0, 9))))
        taken = machine.take()
        #expect(taken == nil)
        add(.unique(other, 120, .a(IPv4Address(10, 0, 0, 2))))
        remove(location(host, port: 80))
        taken = machine.take()
        #expect(taken?.addresses.map(\.description) == ["10.0.0.2:81"])
    }

    @Test mutating func distinguishesLinkLocalAddresses() {
        add(location(host, port: 1))
        let address = DNSRecord.unique(host, 120, .aaaa(IPv6Address("fe80::1")!))
        add(address, on: 1)
        add(address, on: 2)
        var taken = machine.take()
        #expect(taken?.addresses.map(\.description) == ["[fe80::1%eth1]:1", "[fe80::1%eth2]:1"])
        remove(address, on: 1)
        taken = machine.take()
        #expect(taken?.addresses.map(\.description) == ["[fe80::1%eth2]:1"])
    }

    @Test func reportsFoundAndRemovedServices() throws {
        var machine = PointerMachine<ServiceInstance>([.http], limit: WaitingLimit(changes: 4, bytes: .max)) {
            ServiceInstance(fullName: $0)
        }
        func pointer(_ name: String) -> DNSRecord { DNSRecord(.http, timeToLive: 1, .ptr(DNSName(name)!)) }
        let key = RecordKey(.http, .ptr)
        machine.receive(.added(pointer("A._http._tcp.local"), interface: 1, named: nil), of: key)
        machine.receive(.added(pointer("A._http._tcp.local"), interface: 2, named: nil), of: key)
        machine.receive(.added(pointer("B._http._tcp.local"), interface: 2, named: nil), of: key)
        machine.receive(.added(pointer("nonsense"), interface: 2, named: nil), of: key)
        machine.receive(.removed(pointer("A._http._tcp.local"), interface: 1), of: key)
        let first = machine.take()
        #expect(first?.value.name == "A" && first?.kind == .found && first?.moreComing == true)
        let second = machine.take()
        #expect(second?.value.name == "B" && second?.moreComing == false)
        var taken = machine.take()
        #expect(taken == nil)
        machine.receive(.removed(pointer("A._http._tcp.local"), interface: 2), of: key)
        taken = machine.take()
        #expect(taken?.kind == .removed)
        // Of values found and removed between two reads, only the final state remains.
        for _ in 0..<1000 {
            machine.receive(.added(pointer("C._http._tcp.local"), interface: 1, named: nil), of: key)
            machine.receive(.removed(pointer("C._http._tcp.local"), interface: 1), of: key)
        }
        var left = 0
        while machine.take() != nil { left += 1 }
        #expect(left <= 4)
    }

    /// A host may send any number of records: the memory and time for them are limited.
    @Test mutating func limitsRecordsOfAService() {
        for port in UInt16(1)...2000 { add(location(DNSName("h\(port).local")!, port: port)) }
        #expect(machine.questions.count == 4)
        for port in UInt16(1)...2000 { remove(location(DNSName("h\(port).local")!, port: port)) }
        #expect(machine.questions.count == 2)
        add(location(host, port: 80))
        for number in UInt32(0)..<4000 { add(.unique(host, 120, .a(IPv4Address(rawValue: 0x0A00_0000 | number)))) }
        var taken = machine.take()
        #expect(taken?.addresses.count == ResolutionMachine.maximumAddresses)
        for number in UInt32(0)..<4000 { remove(.unique(host, 120, .a(IPv4Address(rawValue: 0x0A00_0000 | number)))) }
        add(.unique(host, 120, .a(IPv4Address(10, 1, 0, 1))))
        taken = machine.take()
        #expect(taken?.addresses.map(\.description) == ["10.1.0.1:80"])
    }

    /// A reader that is always one change behind: the changes that it has taken are freed.
    @Test func freesTakenChanges() {
        var machine = PointerMachine<ServiceInstance>([.http]) { ServiceInstance(fullName: $0) }
        var most = 0
        for number in 0..<2000 {
            let pointer = DNSRecord(.http, timeToLive: 1, .ptr(DNSName("\(number)._http._tcp.local")!))
            machine.receive(.added(pointer, interface: 1, named: nil), of: pointer.key)
            most = max(most, machine.waiting.count)
            guard number > 0 else { continue }
            let change = machine.take()
            #expect(change?.value.name == "\(number - 1)" && change?.moreComing == true)
        }
        #expect(most <= 130)
        let last = machine.take()
        #expect(last?.value.name == "1999" && last?.moreComing == false && machine.waiting.isEmpty)
    }

    /// Nothing is reported of services that are found and removed between two reads, such as ever new names from
    /// another host.
    @Test func dropsUnreadChangesThatCancelEachOther() {
        var machine = PointerMachine<ServiceInstance>([.http], limit: WaitingLimit(changes: 10, bytes: .max)) {
            ServiceInstance(fullName: $0)
        }
        func pointer(_ name: String) -> DNSRecord { DNSRecord(.http, timeToLive: 1, .ptr(DNSName(name)!)) }
        let key = RecordKey(.http, .ptr)
        machine.receive(.added(pointer("First._http._tcp.local"), interface: 1, named: nil), of: key)
        let first = machine.take()
        #expect(first?.value.name == "First")
        machine.receive(.removed(pointer("First._http._tcp.local"), interface: 1), of: key)
        for number in 0..<1000 {
            machine.receive(.added(pointer("\(number)._http._tcp.local"), interface: 1, named: nil), of: key)
            machine.receive(.removed(pointer("\(number)._http._tcp.local"), interface: 1), of: key)
        }
        machine.receive(.added(pointer("Last._http._tcp.local"), interface: 1, named: nil), of: key)
        var changes: [DiscoveryChange<ServiceInstance>] = []
        while let change = machine.take() { changes.append(change) }
        #expect(changes.count <= 11)
        #expect(changes.first?.value.name == "First" && changes.first?.kind == .removed)
        #expect(changes.last?.value.name == "Last" && changes.last?.kind == .found)
    }
}
