import DNSWire
import EventLoops
import Foundation
import HostResolver
import Testing

@testable import ServiceDiscovery

/// Every option of the public API has an effect. A new option without a test here is an error.
@Suite struct OptionTests {
    /// The stored properties of a value.
    private static func properties(of value: Any) -> Set<String> {
        Set(Mirror(reflecting: value).children.compactMap(\.label))
    }

    // MARK: Publications

    private static let type = try! ServiceType("_http._tcp")

    private static var web: ServiceAdvertisement {
        ServiceAdvertisement(name: "Web", type: type, port: 80)
    }

    /// The result for a service whose name another host has: its names, and the records that it sends.
    private func outcome(of advertisement: ServiceAdvertisement) throws -> String {
        let network = SimulatedNetwork(hosts: 2)
        try network.publish(1, Self.web)
        network.run(for: .seconds(5))
        do {
            try network.publish(0, advertisement)
        } catch {
            return "\(error)"
        }
        network.run(for: .seconds(10))
        let sent = network.sent.filter { $0.from == 0 && !$0.isQuery }.flatMap(\.records)
        let texts = Set(sent.map { "\($0.name) \($0.data)" }).sorted()
        return "\(network.hosts[0].published) \(network.hosts[0].failures) \(texts)"
    }

    private static let advertised: [String: @Sendable (inout ServiceAdvertisement) throws -> Void] = [
        "name": { $0.name = "Other" },
        "type": { $0.type = try ServiceType("_http._tcp,_printer") },
        "domain": { $0.domain = try ServiceDomain("example.org") },
        "port": { $0.port = 81 },
        "record": { try $0.record.set("k", to: "v") },
        "renamesOnConflict": { $0.renamesOnConflict = false },
        "interface": { $0.interface = "eth1" },
        "host": { $0.host = DNSName("other.local") },
        "furtherRecords": { $0.furtherRecords = [OwnRecord(.other(DNSRecordType(rawValue: 10), [1]))] },
    ]

    @Test(arguments: advertised.keys.sorted()) func advertisementOptionsHaveAnEffect(option: String) throws {
        var changed = Self.web
        try Self.advertised[option]?(&changed)
        #expect(try outcome(of: changed) != outcome(of: Self.web))
    }

    // MARK: Searches

    /// The questions that a search sends to its engine, with their interfaces.
    private func questions(
        _ start: (DiscoveryEngine) throws -> Any
    ) throws -> [String] {
        let engine = ScriptedEngine()
        try withExtendedLifetime(start(DiscoveryEngine(engine))) {}
        return engine.questions
    }

    private var other: DiscoveryEngine { DiscoveryEngine(ScriptedEngine()) }

    @Test func searchOptionsHaveAnEffect() throws {
        let (type, domain) = (Self.type, try ServiceDomain("example.org"))
        let printer = try ServiceType("_http._tcp,_printer")
        let browse = try questions { try ServiceBrowser(type, engine: $0).start() }
        #expect(browse == ["_http._tcp.local. PTR all"])
        #expect(try questions { try ServiceBrowser(printer, engine: $0).start() } != browse)
        #expect(try questions { try ServiceBrowser(type, domain: domain, engine: $0).start() } != browse)
        #expect(
            try questions { try ServiceBrowser(type, interface: "eth1", engine: $0).start() }
                == ["_http._tcp.local. PTR eth1"])
        #expect(try questions { _ in try ServiceBrowser(type, engine: other).start() } == [])

        let types = try questions { try ServiceTypeBrowser(engine: $0).start() }
        #expect(types == ["_services._dns-sd._udp.local. PTR all"])
        #expect(try questions { try ServiceTypeBrowser(domain: domain, engine: $0).start() } != types)
        #expect(
            try questions { try ServiceTypeBrowser(interface: "eth1", engine: $0).start() }
                == ["_services._dns-sd._udp.local. PTR eth1"])
        #expect(try questions { _ in try ServiceTypeBrowser(engine: other).start() } == [])

        let domains = try questions { try ServiceDomainBrowser(.browsing, engine: $0).start() }
        #expect(domains == ["b", "db", "lb"].map { "\($0)._dns-sd._udp.local. PTR all" })
        #expect(
            try questions { try ServiceDomainBrowser(.registration, engine: $0).start() }
                == ["dr", "r"].map { "\($0)._dns-sd._udp.local. PTR all" })
        #expect(try questions { try ServiceDomainBrowser(.browsing, listedIn: domain, engine: $0).start() } == [])
        #expect(
            try questions { try ServiceDomainBrowser(.browsing, interface: "eth1", engine: $0).start() }
                == ["b", "db", "lb"].map { "\($0)._dns-sd._udp.local. PTR eth1" })
        #expect(try questions { _ in try ServiceDomainBrowser(.browsing, engine: other).start() } == [])
    }

    @Test(arguments: [false, true]) func eachInterfaceHasAnEffect(_ eachInterface: Bool) throws {
        let engine = ScriptedEngine()
        let browser = ServiceBrowser(Self.type, eachInterface: eachInterface, engine: DiscoveryEngine(engine))
        let feed = try browser.start()
        let service = try ServiceInstance(name: "Web", type: Self.type)
        let record = DNSRecord(
            try #require(DNSName("_http._tcp.local")), timeToLive: 9, .ptr(service.fullName))
        for interface in UInt32(1)...2 { engine.report(.added(record, interface: interface, named: nil)) }
        var count = 0
        while try feed.tryNext() != nil { count += 1 }
        #expect(count == (eachInterface ? 2 : 1))
    }

    @Test func resolverAndMonitorOptionsHaveAnEffect() throws {
        let service = try ServiceInstance(name: "Web", type: Self.type)
        let second = try ServiceInstance(name: "Other", type: Self.type)
        #expect(
            try questions { try ServiceResolver(service, engine: $0).start() }
                == ["SRV", "TXT"].map { "Web._http._tcp.local. \($0) all" })
        #expect(
            try questions { try ServiceResolver(second, interface: "eth1", engine: $0).start() }
                == ["SRV", "TXT"].map { "Other._http._tcp.local. \($0) eth1" })
        #expect(try questions { _ in try ServiceResolver(service, engine: other).start() } == [])
        #expect(
            try questions { try ServiceMonitor(service, engine: $0).start() } == ["Web._http._tcp.local. TXT all"])
        #expect(
            try questions { try ServiceMonitor(second, interface: "eth1", engine: $0).start() }
                == ["Other._http._tcp.local. TXT eth1"])
        #expect(try questions { _ in try ServiceMonitor(service, engine: other).start() } == [])
    }

    /// A question for one interface is sent on that interface only, and only answers from there count.
    @Test func questionsStayOnTheirInterface() throws {
        var machine = DiscoveryMachine(hostLabel: "h", seed: 1)
        let start = DiscoveryTime.now
        let links = (1...2).map { Self.link($0) }
        machine.setLinks(links, now: start)
        let id = OperationNumber.next()
        try machine.query(RecordKey(.http, .ptr), interface: "eth2", as: id, now: start)
        let record = DNSRecord(.http, timeToLive: 4500, .ptr(DNSName("Web._http._tcp.local")!))
        var (sent, reported): (Set<UInt32>, [DiscoveryEvent]) = ([], [])
        for interface: UInt32 in [1, 2] {
            let datagram = Datagram(
                bytes: try DNSMessage.response(record).wireForm(),
                source: links[Int(interface) - 1].addresses[0].address,
                sourcePort: 5353, isMulticast: true, interface: interface)
            machine.receive(datagram, now: start)
        }
        var time = start
        func run(_ id: Int) {
            for _ in 0..<20 {
                switch machine.next(now: time) {
                case .send(let transmission): sent.insert(transmission.interface)
                case .report(let operation, let event): if operation == id { reported.append(event) }
                case .wait(let next): time = next ?? time
                }
            }
        }
        run(id)
        #expect(sent == [2] && reported == [.added(record, interface: 2, named: "eth2")])
        // Known records come with their interface as well.
        let second = OperationNumber.next()
        try machine.query(RecordKey(.http, .ptr), interface: "eth2", as: second, now: time)
        reported = []
        run(second)
        #expect(reported.first == .added(record, interface: 2, named: "eth2"))
    }

    // MARK: The embedded engine

    private static func link(_ number: Int) -> MulticastLink {
        MulticastLink(
            index: UInt32(number), name: "eth\(number)",
            addresses: [.init(address: .v4(IPv4Address(10, 0, UInt8(number), 1)), prefixLength: 24)])
    }

    /// `interfaces` is tested by ``InterfaceTests``, `limits` below.
    @Test func engineUsesItsHostName() {
        #expect(EmbeddedEngine(hostName: "desk").hostName == "desk.local.")
    }

    /// On loopback, the engine finds its own service, and the events come on the thread of its loop.
    @Test func engineRunsOnItsLoop() async throws {
        let loop = EventLoop(name: "discovery")
        defer { loop.shutdown() }
        let engine = EmbeddedEngine(interfaces: ["lo"], hostName: "netkit-option-test", loop: loop)
        defer { engine.stop() }
        let type = try ServiceType("_nk-option._tcp")
        let publisher = try ServicePublisher(
            ServiceAdvertisement(name: "Web", type: type, port: 80), engine: .embedded(engine))
        let names = publisher.names
        let isOnLoop = Locked<[Bool]>([])
        let subscription = names.observe(on: Inline()) { isOnLoop.withLock { $0.append(loop.isCurrent) } }
        #expect(try await names.next()?.name == "Web")
        // The first signal is that of the subscription; the loop delivers the second after it has resumed this task.
        while isOnLoop.withLock(\.count) < 2, !Task.isCancelled { await Task.yield() }
        #expect(isOnLoop.withLock { $0[1] })
        subscription.cancel()
        publisher.stop()
    }

    private struct Inline: DeliveryTarget {
        private final class Signal: DeliverySignal {
            let perform: @Sendable () -> Void
            init(_ perform: @escaping @Sendable () -> Void) { self.perform = perform }
            func signal() { perform() }
            func cancel() {}
        }
        func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal { Signal(perform) }
        func isSame(as other: any DeliveryTarget) -> Bool { other is Inline }
    }

    // MARK: Limits of the embedded engine

    /// A changed limit, and the counts with the changed and with the default limit.
    private struct Bound: Sendable {
        let change: @Sendable (inout EngineLimits) -> Void
        let counted: Int
        let usually: Int
        let count: @Sendable (EngineLimits) throws -> Int
    }

    private static func pointer(_ number: Int) -> DNSRecord {
        DNSRecord(.http, timeToLive: 4500, .ptr(DNSName("S\(number)._http._tcp.local")!))
    }

    private static func address(_ number: Int) -> DNSRecord {
        .unique(DNSName("h\(number).local")!, 120, .a(IPv4Address(1, 2, 3, 4)))
    }

    /// A host that knows 20 services, from one sender each or all from the same.
    private static func informed(_ limits: EngineLimits, oneSender: Bool = false) throws -> SimulatedNetwork {
        let network = SimulatedNetwork(hosts: 1, limits: limits)
        _ = try network.query(0, .http, .ptr)
        network.run(for: .milliseconds(500))
        for number in 0..<20 {
            try network.inject(.response(pointer(number)), to: 0, from: "10.0.0.\(oneSender ? 9 : number + 9)")
        }
        _ = network.take()
        return network
    }

    /// A host that publishes 20 services.
    private static func publishing(_ limits: EngineLimits) throws -> SimulatedNetwork {
        let network = SimulatedNetwork(hosts: 1, limits: limits)
        for number in 0..<20 { try network.publish(0, .http("S\(number)")) }
        network.run(for: .seconds(30))
        _ = network.take()
        return network
    }

    /// No limit makes a calculation overflow, or has fewer than no records.
    @Test(arguments: [Int.max, .min]) func limitsAreInRange(_ value: Int) {
        var limits = EngineLimits()
        for path in EngineLimits.sizes + EngineLimits.percentages { limits[keyPath: path] = value }
        let inRange = limits.inRange
        for (label, limit) in Mirror(reflecting: inRange).children {
            guard let label, let limit = limit as? Int else { continue }
            let largest =
                ["packetSize": 65_535, "percentOfOneSender": 100, "percentWhenFull": 100][label] ?? Int(Int32.max)
            #expect(limit == (value < 0 ? 0 : largest), "\(label)")
        }
        #expect(EngineLimits().inRange == EngineLimits())
    }

    private static func truncated() -> DNSMessage {
        var query = DNSMessage.query(.http, .ptr)
        query.header.isTruncated = true
        return query
    }

    private static let bounds: [String: Bound] = [
        "packetSize": Bound(change: { $0.packetSize = 20 }, counted: 20, usually: 0) {
            try informed($0).hosts[0].machine.statistics.packetsRefused
        },
        "cachedRecords": Bound(change: { $0.cachedRecords = 10 }, counted: 10, usually: 20) {
            try informed($0).hosts[0].machine.statistics.cachedRecords
        },
        "cachedBytes": Bound(
            change: { $0.cachedBytes = (0..<10).reduce(0) { $0 + pointer($1).memory } }, counted: 10, usually: 20
        ) { try informed($0).hosts[0].machine.statistics.cachedRecords },
        "unaskedRecords": Bound(change: { $0.unaskedRecords = 10 }, counted: 10, usually: 20) {
            let network = SimulatedNetwork(hosts: 1, limits: $0)
            for number in 0..<20 { try network.inject(.response(address(number)), to: 0) }
            return network.hosts[0].machine.statistics.cachedRecords
        },
        "percentOfOneSender": Bound(
            change: { ($0.cachedRecords, $0.percentOfOneSender) = (100, 10) }, counted: 10, usually: 20
        ) { try informed($0, oneSender: true).hosts[0].machine.statistics.cachedRecords },
        "percentWhenFull": Bound(change: { $0.percentWhenFull = 100 }, counted: 20, usually: 21) {
            var limits = $0
            (limits.cachedRecords, limits.percentOfOneSender) = (20, 100)
            let network = try informed(limits, oneSender: true)
            // The newest record of the only sender is displaced, or none is.
            try network.inject(.response(pointer(20)), to: 0, from: "10.0.0.99")
            return network.hosts[0].events.count { if case .added = $0.event { true } else { false } }
        },
        "maximumTimeToLive": Bound(change: { $0.maximumTimeToLive = 60 }, counted: 0, usually: 20) {
            let network = try informed($0)
            network.run(for: .seconds(100))
            return network.hosts[0].machine.statistics.cachedRecords
        },
        "questions": Bound(change: { $0.questions = 10 }, counted: 10, usually: 20) { limits in
            let network = SimulatedNetwork(hosts: 1, limits: limits)
            return (0..<20).count { (try? network.query(0, DNSName("h\($0).local")!, .a)) != nil }
        },
        "registrations": Bound(change: { $0.registrations = 10 }, counted: 10, usually: 20) { limits in
            let network = SimulatedNetwork(hosts: 1, limits: limits)
            return (0..<20).count { (try? network.publish(0, .http("S\($0)"))) != nil }
        },
        "interfaces": Bound(change: { $0.interfaces = 2 }, counted: 2, usually: 3) {
            var machine = DiscoveryMachine(hostLabel: "h", limits: $0, seed: 1)
            var time = DiscoveryTime.now
            machine.setLinks((1...3).map(link), now: time)
            try machine.query(RecordKey(.http, .ptr), interface: nil, as: 1, now: time)
            var sent: Set<UInt32> = []
            for _ in 0..<100 {
                switch machine.next(now: time) {
                case .send(let transmission): sent.insert(transmission.interface)
                case .report: break
                case .wait(let next): time = next ?? time
                }
            }
            return sent.count
        },
        "heldQueries": Bound(change: { $0.heldQueries = 10 }, counted: 10, usually: 4) {
            let network = try publishing($0)
            for number in 0..<20 { try network.inject(truncated(), to: 0, from: "10.0.0.\(number + 9)") }
            return network.hosts[0].machine.statistics.repliesRefused
        },
        "heldKnownAnswers": Bound(change: { $0.heldKnownAnswers = 10 }, counted: 10, usually: 0) {
            let network = try publishing($0)
            try network.inject(truncated(), to: 0)
            var rest = DNSMessage(header: DNSHeader(id: 0))
            rest.answers = (0..<20).map(pointer)
            try network.inject(rest, to: 0)
            network.run(for: .seconds(1))
            return network.take().flatMap(\.records).count
        },
        "listedAnswers": Bound(change: { $0.listedAnswers = 10 }, counted: 10, usually: 20) {
            let network = try informed($0)
            network.run(for: .seconds(1))
            return network.take().flatMap(\.message.answers).count
        },
        "listedAnswersPerMinute": Bound(change: { $0.listedAnswersPerMinute = 30 }, counted: 30, usually: 60) {
            let network = try informed($0)
            network.run(for: .seconds(10))
            return network.take().flatMap(\.message.answers).count
        },
        "pendingAnswers": Bound(change: { $0.pendingAnswers = 10 }, counted: 10, usually: 20) {
            let network = try publishing($0)
            try network.inject(.query(.http, .ptr), to: 0)
            network.run(for: .seconds(1))
            return network.take().flatMap(\.records).count
        },
        "unicastRepliesPerSecond": Bound(change: { $0.unicastRepliesPerSecond = 10 }, counted: 10, usually: 20) {
            let network = try publishing($0)
            for _ in 0..<20 { try network.inject(.query(.http, .ptr), to: 0, port: 999) }
            return network.take().count
        },
        // Fifty services that are found and removed before the first read: all changes, or the rest if ten may wait.
        "waitingChanges": Bound(change: { $0.waitingChanges = 10 }, counted: 10, usually: 100) {
            try unread($0) { engine throws(ServiceDiscoveryError) in try ServiceBrowser(type, engine: engine).start() }
        },
        "waitingBytes": Bound(
            change: {
                let change = RecordChange.added(pointer(10), interface: 1)
                $0.waitingBytes = 10 * change.memory
            }, counted: 10, usually: 100
        ) {
            try unread($0) { engine throws(ServiceDiscoveryError) in
                try RecordBrowser(pointer(10).name, types: [.ptr], engine: engine).start()
            }
        },
    ]

    /// The number of changes that wait after services were found and removed.
    private static func unread<Element>(
        _ limits: EngineLimits,
        _ start: (DiscoveryEngine) throws(ServiceDiscoveryError) -> DiscoveryFeed<Element>
    ) throws -> Int {
        let engine = ScriptedEngine(maximumWaiting: EmbeddedEngine(limits: limits).maximumWaiting)
        let feed = try start(DiscoveryEngine(engine))
        for number in 10..<60 {
            engine.set([pointer(number)])
            engine.set([pointer(number)], isPresent: false)
        }
        var count = 0
        while try feed.tryNext() != nil { count += 1 }
        return count
    }

    @Test(arguments: bounds.keys.sorted()) func limitsHaveAnEffect(option: String) throws {
        let bound = try #require(Self.bounds[option])
        var limits = EngineLimits()
        #expect(try bound.count(limits) == bound.usually)
        bound.change(&limits)
        #expect(try bound.count(limits) == bound.counted)
    }

    // MARK: Completeness

    @Test func everyOptionHasATest() throws {
        let service = try ServiceInstance(name: "Web", type: Self.type)
        #expect(Self.properties(of: EngineLimits()) == Set(Self.bounds.keys))
        #expect(Self.properties(of: Self.web) == Set(Self.advertised.keys))
        #expect(
            Self.properties(of: ServiceBrowser(Self.type))
                == ["type", "domain", "interface", "eachInterface", "engine"])
        #expect(Self.properties(of: ServiceTypeBrowser()) == ["domain", "interface", "engine"])
        #expect(
            Self.properties(of: ServiceDomainBrowser(.browsing)) == ["purpose", "listedIn", "interface", "engine"])
        #expect(Self.properties(of: ServiceResolver(service)) == ["service", "interface", "engine"])
        #expect(Self.properties(of: ServiceMonitor(service)) == ["service", "interface", "engine"])
        // `hostName` is part of the state.
        #expect(Self.properties(of: EmbeddedEngine()) == ["names", "limits", "loop", "state"])
    }
}
