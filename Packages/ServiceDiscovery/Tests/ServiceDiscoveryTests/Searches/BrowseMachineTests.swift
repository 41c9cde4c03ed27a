import DNSWire
import EventLoops
import Testing

@testable import ServiceDiscovery

@Suite struct BrowseMachineTests {
    private let type = try! ServiceType("_http._tcp,_print")
    private let company = try! ServiceDomain("example.org")
    private let unreachable = ServiceDiscoveryError(.lookupFailed)

    private func name(_ text: String) -> DNSName { DNSName(text)! }

    private func changes(
        _ machine: inout BrowseMachine, _ name: String, _ target: String, isAdded: Bool = true
    ) -> [String] {
        let record = DNSRecord(self.name(name), timeToLive: 9, .ptr(self.name(target)))
        machine.receive(
            isAdded ? .added(record, interface: 0, named: nil) : .removed(record, interface: 0), of: record.key)
        var texts: [String] = []
        while let change = machine.take() { texts.append("\(change.kind) \(change.value)") }
        return texts
    }

    private func questions(_ machine: BrowseMachine) -> Set<String> { Set(machine.questions.map(\.name.description)) }

    @Test func browsesOneDomain() throws {
        let machine = try BrowseMachine(type, in: company, listed: [company])
        #expect(questions(machine) == ["_print._sub._http._tcp.example.org."])
        #expect(try #require(machine.questions.first).type == .ptr)
        #expect(!machine.ignores(unreachable, of: try #require(machine.questions.first)))
    }

    /// SD-032, SD-037: an empty domain stands for all listed domains; services of the same name may be in several of
    /// them.
    // Parity: SD-032, SD-037
    @Test func browsesListedDomains() throws {
        var machine = try BrowseMachine(type, in: nil, listed: [company, .local])
        let list = "lb._dns-sd._udp.example.org."
        #expect(questions(machine) == ["_print._sub._http._tcp.local.", list])
        #expect(changes(&machine, list, "Branch.example.org").isEmpty)
        #expect(changes(&machine, list, "local").isEmpty)
        #expect(
            questions(machine).contains("_print._sub._http._tcp.Branch.example.org.") && machine.questions.count == 3)
        let near = changes(&machine, "_print._sub._http._tcp.local", "Web._http._tcp.local")
        #expect(near == ["found Web._http._tcp.local."])
        let far = changes(&machine, "_print._sub._http._tcp.branch.example.org", "Web._http._tcp.branch.example.org")
        #expect(far == ["found Web._http._tcp.branch.example.org."])
        // A domain that is no longer listed is removed with its services.
        let gone = changes(&machine, list, "branch.example.org", isAdded: false)
        #expect(gone == ["removed Web._http._tcp.branch.example.org."] && machine.questions.count == 2)
        #expect(changes(&machine, list, "local", isAdded: false).isEmpty && machine.questions.count == 2)
    }

    @Test func ignoresUnreadableLists() throws {
        var machine = try BrowseMachine(type, in: nil, listed: [company])
        _ = changes(&machine, "lb._dns-sd._udp.example.org", "branch.example.org")
        for key in machine.questions {
            #expect(machine.ignores(unreachable, of: key) == !key.name.isLocal)
            #expect(!machine.ignores(ServiceDiscoveryError(.daemonUnavailable), of: key))
        }
    }

    @Test func limitsListedDomains() throws {
        var machine = try BrowseMachine(type, in: nil, listed: [company])
        for number in 0..<1000 { _ = changes(&machine, "lb._dns-sd._udp.example.org", "d\(number).example.org") }
        #expect(machine.questions.count == WideAreaRules.maximumListedDomains + 2)
    }

    @Test func refusesTooLongDomains() throws {
        let label = String(repeating: "x", count: 61)
        let long = try ServiceDomain([label, label, label, label].joined(separator: "."))
        #expect(throws: ServiceDiscoveryError(.invalidDomain, name: long.description)) {
            _ = try BrowseMachine(type, in: long, listed: [])
        }
    }

    /// Names that are not UTF-8, or have control characters, in one packet with others: these are found, and the odd ones are listed.
    @Test func anOddNameCostsNoOtherService() throws {
        func instance(_ label: [UInt8]) throws -> DNSName {
            try #require(DNSName(labels: [label] + DNSName.http.labels))
        }
        let odd = try [[0xFF, 0x41], [0xC3], [0x41, 0x07], [0xED, 0xA0, 0x80]].map(instance)
        let names = try [odd[0], instance(Array("One".utf8)), odd[1], odd[2], odd[3], instance(Array("Zwölf".utf8))]
        let network = SimulatedNetwork(hosts: 1)
        let id = try network.query(0, .http, .ptr)
        var packet = DNSMessage.response(DNSRecord(.http, timeToLive: 9, .ptr(odd[0])))
        packet.answers = names.map { DNSRecord(.http, timeToLive: 9, .ptr($0)) }
        try network.inject(packet, to: 0)
        var machine = try BrowseMachine(ServiceType("_http._tcp"), in: .local, listed: [])
        // The records are refreshed, and one leaves.
        for _ in 0..<2 {
            for (operation, event) in network.hosts[0].events where operation == id {
                machine.receive(event, of: RecordKey(.http, .ptr))
            }
        }
        machine.receive(.removed(packet.answers[0], interface: 1), of: RecordKey(.http, .ptr))
        var found: [String] = []
        while let change = machine.take() { found.append("\(change.kind) \(change.value.name)") }
        #expect(found == ["found One", "found Zwölf"])
        #expect(machine.skipped == odd)
        for number in UInt8(0)..<100 {
            let record = DNSRecord(.http, timeToLive: 9, .ptr(try instance([0xFF, number])))
            machine.receive(.added(record, interface: 1, named: nil), of: record.key)
        }
        #expect(machine.skipped.count == 16 && Array(machine.skipped.prefix(4)) == odd)
    }

    /// A domain remains as long as one of the lists names it.
    @Test func keepsDomainsNamedByAnyList() throws {
        let names = [name("b._dns-sd._udp.local"), name("lb._dns-sd._udp.local")]
        var machine = PointerMachine<ServiceDomain>(names, initial: [.local]) { ServiceDomain(name: $0) }
        #expect(machine.take()?.value == .local)
        func record(_ index: Int) -> DNSRecord { DNSRecord(names[index], timeToLive: 9, .ptr(company.name)) }
        for index in 0...1 { machine.receive(.added(record(index), interface: 1, named: nil), of: record(index).key) }
        #expect(machine.take()?.kind == .found)
        machine.receive(.removed(record(0), interface: 1), of: record(0).key)
        #expect(machine.take() == nil)
        machine.receive(.removed(record(1), interface: 1), of: record(1).key)
        #expect(machine.take()?.kind == .removed)
    }

    /// The changes after events on interfaces: "found NAME on INTERFACE INDEX".
    private func changes(
        ofEach eachInterface: Bool, _ events: [(isAdded: Bool, interface: UInt32)]
    ) throws -> [String] {
        let names: [UInt32: String] = [1: "eth0", 2: "wlan0"]
        var machine = try BrowseMachine(type, in: .local, listed: [], eachInterface: eachInterface)
        let record = DNSRecord(
            name("_print._sub._http._tcp.local"), timeToLive: 9, .ptr(name("Web._http._tcp.local")))
        var texts: [String] = []
        for (isAdded, interface) in events {
            machine.receive(
                isAdded
                    ? .added(record, interface: interface, named: names[interface])
                    : .removed(record, interface: interface), of: record.key)
            while let change = machine.take() {
                let (name, index) = (change.interface ?? "none", change.interfaceIndex)
                texts.append("\(change.kind) \(change.value.name) on \(name) \(index)")
            }
        }
        return texts
    }

    @Test func changesHaveTheFirstAndTheLastInterface() throws {
        let texts = try changes(ofEach: false, [(true, 1), (true, 2), (true, 2), (false, 1), (false, 2)])
        #expect(texts == ["found Web on eth0 1", "removed Web on wlan0 2"])
        #expect(
            try changes(ofEach: false, [(true, 0), (false, 0)]) == ["found Web on none 0", "removed Web on none 0"])
    }

    @Test func changesOfEachInterface() throws {
        let texts = try changes(ofEach: true, [(true, 1), (true, 2), (true, 2), (false, 1), (false, 2)])
        #expect(
            texts == [
                "found Web on eth0 1", "found Web on wlan0 2", "removed Web on eth0 1", "removed Web on wlan0 2",
            ])
    }

    /// Changes of one interface do not cancel those of another when unread changes are compacted.
    @Test func unreadChangesOfEachInterfaceStay() throws {
        var machine = try BrowseMachine(
            type, in: .local, listed: [], eachInterface: true, limit: WaitingLimit(changes: 2, bytes: .max))
        let record = DNSRecord(
            name("_print._sub._http._tcp.local"), timeToLive: 9, .ptr(name("Web._http._tcp.local")))
        func add(on interface: UInt32) {
            machine.receive(.added(record, interface: interface, named: "if\(interface)"), of: record.key)
        }
        for interface in UInt32(1)...4 { add(on: interface) }
        machine.receive(.removed(record, interface: 2), of: record.key)
        add(on: 5)
        var found: [String] = []
        while let change = machine.take() {
            if change.kind == .found {
                found.append(change.interface ?? "")
            } else {
                found.removeAll { $0 == change.interface }
            }
        }
        #expect(found == ["if1", "if3", "if4", "if5"])
    }
}
