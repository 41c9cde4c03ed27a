import DNSWire
import EventLoops
import Foundation
import HostResolver
import RunLoopDelivery
import ServiceDiscoveryFoundation
import Testing

@testable import ServiceDiscovery

/// The counterparts of the CFNetServices functions, row by row of the migration table: asynchronous and blocking forms.
@Suite(.timeLimit(.minutes(5))) struct CFNetServicesTests {
    private let scripted = ScriptedEngine()
    private let type = try! ServiceType("_http._tcp")
    private let service = try! ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))

    private var engine: DiscoveryEngine { DiscoveryEngine(scripted) }
    private var web: ServiceAdvertisement { ServiceAdvertisement(name: "Web", type: type, port: 80) }
    private var soon: ContinuousClock.Instant { .now + .milliseconds(20) }

    private func netService(port: Int32 = -1, type: String = "_http._tcp") -> NetService {
        NetService(domain: "local.", type: type, name: "Web", port: port, engine: engine)
    }

    private func pointer(_ name: String) throws -> DNSRecord {
        DNSRecord(
            try #require(DNSName("_http._tcp.local")), timeToLive: 9,
            .ptr(try ServiceInstance(name: name, type: type).fullName))
    }

    private func text(_ text: String) -> DNSRecord {
        DNSRecord(service.fullName, timeToLive: 9, .txt([Array(text.utf8)]))
    }

    /// The records that locate the service.
    private func location() throws -> [DNSRecord] {
        let host = try #require(DNSName("h.local"))
        return [
            DNSRecord(service.fullName, timeToLive: 9, .srv(priority: 0, weight: 0, port: 80, target: host)),
            DNSRecord(host, timeToLive: 9, .a(IPv4Address(10, 0, 0, 1))),
            DNSRecord(host, timeToLive: 9, .aaaa(IPv6Address("2001:db8::1")!)), text("k=v"),
        ]
    }

    /// Runs `body` on another thread, while the current operation is running.
    private func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
        #expect(!scripted.running.isEmpty)
        Thread.detachNewThread(body)
    }

    private func code(of body: () throws(ServiceDiscoveryError) -> Void) -> Int? {
        do throws(ServiceDiscoveryError) {
            try body()
            return nil
        } catch {
            return error.number
        }
    }

    // MARK: Services

    // Parity: SD-080
    @Test("SD-080: creating a service checks and begins nothing; the modern types are always valid")
    func creates() {
        let lazy = netService(port: 80, type: "nonsense")
        #expect(lazy.type == "nonsense" && lazy.port == 80 && netService().port == -1)
        #expect(code { () throws(ServiceDiscoveryError) in _ = try ServiceType("nonsense") } == -72004)
        #expect(code { () throws(ServiceDiscoveryError) in _ = try ServiceDomain("a..b") } == -72004)
        #expect(scripted.calls.isEmpty)
    }

    // Parity: SD-081
    @Test("SD-081: a copy has the known values, but not the running operation")
    func copies() throws {
        scripted.set(try location())
        let feed = try ServiceResolver(service, engine: engine).start()
        let found = try #require(try feed.next(until: nil))
        let copy = found
        feed.stop()
        #expect(copy == found && copy.service == service && !copy.addresses.isEmpty && scripted.running.isEmpty)
        // The type identifier is the Swift type itself.
        #expect(Swift.type(of: copy) == ResolvedService.self)
    }

    // Parity: SD-082
    @Test("SD-082: properties before and after resolving")
    func reads() throws {
        let old = netService()
        #expect(old.addresses == nil && old.hostName == nil && old.port == -1 && old.txtRecordData() == nil)
        #expect((old.name, old.type, old.domain) == ("Web", "_http._tcp", "local."))
        scripted.set(try location())
        let found = try ServiceResolver(service, engine: engine).resolve(until: nil)
        #expect(found.hostName == "h.local." && found.port == 80)
        #expect(Set(found.addresses.map(\.description)).isSuperset(of: ["10.0.0.1:80"]))
        #expect(found.addresses.allSatisfy { $0.port == 80 })
    }

    // Parity: SD-083
    @Test("SD-083: a new TXT record while it is published, but not while it is resolved")
    func setsText() throws {
        let publisher = try ServicePublisher(web, engine: engine)
        try publisher.update(try TXTRecord(["k": "v"]))
        #expect(scripted.calls == ["publish Web", "update k=v"])
        let resolving = netService()
        resolving.resolve(withTimeout: 0)
        #expect(!resolving.setTXTRecord(Data([3, 107, 61, 118])))
        resolving.stop()
    }

    // Parity: SD-084, SD-085
    @Test("SD-084, SD-085: a client is notified on its queue, loop or run loop; without one the caller waits")
    func clients() throws {
        let feed = try ServiceBrowser(type, engine: engine).start()
        let mode = RunLoop.Mode("clients")
        let notified = Locked(0)
        let subscription = feed.observe(on: RunLoopTarget(RunLoop.current, mode: mode)) {
            while (try? feed.tryNext()) != nil { notified.withLock { $0 += 1 } }
        }
        scripted.set([try pointer("A"), try pointer("B")])
        while notified.withLock({ $0 }) < 2 { _ = RunLoop.current.run(mode: mode, before: Date() + 1) }
        // The client is removed.
        subscription.cancel()
        scripted.set([try pointer("C")])
        #expect(!RunLoop.current.run(mode: mode, before: Date() + 0.01))
        #expect(try feed.next(until: nil)?.value.name == "C")
        #expect(notified.withLock { $0 } == 2)
        let onLoop = Locked(0)
        let other = feed.observe(on: .loop(.shared)) { onLoop.withLock { $0 += 1 } }
        while onLoop.withLock({ $0 }) == 0 {}
        other.cancel()
    }

    // Parity: SD-086
    @Test("SD-086: registering returns at once, and bad input fails at once")
    func registersAsynchronously() async throws {
        let publisher = try ServicePublisher(web, engine: engine)
        #expect(publisher.current == nil)
        scripted.report(.published(service))
        #expect(try await publisher.published() == service && scripted.running.count == 1)
        publisher.stop()
        #expect(scripted.running.isEmpty)
        let distant = ServiceAdvertisement(
            name: "Web", type: type, domain: try ServiceDomain("example.org"), port: 80)
        #expect(
            code { () throws(ServiceDiscoveryError) in _ = try ServicePublisher(distant, engine: engine) } == -72000)
    }

    /// The cause of a daemon crash (CVE-2026-34933).
    // Parity: SD-012, SD-086
    @Test(
        "SD-086: any combination of options is accepted or refused", arguments: 0..<UInt(16),
        ["_http._tcp", "_http._udp"])
    func checksOptions(_ bits: UInt, _ type: String) {
        let (service, delegate) = (netService(port: 0, type: type), RecordingDelegate())
        service.delegate = delegate
        service.publish(options: NetService.Options(rawValue: bits))
        delegate.run(until: 1)
        #expect(delegate.calls.first?.hasPrefix(bits < 2 ? "willPublish" : "didNotPublish") == true)
        service.stop()
    }

    // Parity: SD-087, SD-090
    @Test("SD-087, SD-090: registering may block until another thread cancels it, or it fails")
    func registersBlocking() throws {
        let publisher = try ServicePublisher(web, engine: engine)
        onAnotherThread { publisher.stop() }
        #expect(code { () throws(ServiceDiscoveryError) in try publisher.published() } == -72005)
        let other = try ServicePublisher(web, engine: engine)
        scripted.report(.published(service))
        #expect(try other.names.next(until: nil) == service)
        let scripted = scripted
        onAnotherThread { scripted.report(.failed(ServiceDiscoveryError(.collision))) }
        #expect(code { () throws(ServiceDiscoveryError) in _ = try other.names.next(until: nil) } == -72001)
    }

    // Parity: SD-088
    @Test("SD-088: resolving returns at once and continues until it is stopped")
    func resolvesAsynchronously() async throws {
        let feed = try ServiceResolver(service, engine: engine).start()
        #expect(try feed.tryNext() == nil)
        let parts = try location()
        scripted.set(Array(parts[...1]))
        #expect(try await feed.next()?.addresses.count == 1)
        scripted.set([parts[2]])
        #expect(try await feed.next()?.addresses.count == 2)
        feed.stop()
        #expect(try await feed.next() == nil && scripted.running.isEmpty)
    }

    // Parity: SD-089
    @Test("SD-089: or it blocks until the first address, the time limit, or the end")
    func resolvesBlocking() throws {
        let resolver = ServiceResolver(service, engine: engine)
        #expect(code { () throws(ServiceDiscoveryError) in _ = try resolver.resolve(until: soon) } == -72007)
        let feed = try resolver.start()
        onAnotherThread { feed.stop() }
        #expect(try feed.next(until: nil) == nil)
        scripted.set(try location())
        #expect(try resolver.resolve(until: .now + .seconds(30)).port == 80)
        #expect(scripted.running.isEmpty)
    }

    // Parity: SD-091
    @Test(
        "SD-091: removing, releasing and stopping in any order",
        arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    func ends(_ order: [Int]) {
        for publishes in [true, false] {
            var object: NetService? = netService(port: publishes ? 80 : -1)
            let delegate = RecordingDelegate()
            object?.delegate = delegate
            if publishes { object?.publish() } else { object?.resolve(withTimeout: 0) }
            #expect(!scripted.running.isEmpty)
            for step in order {
                switch step {
                case 0: object?.remove(from: .current, forMode: .default)
                case 1: object?.delegate = nil
                default: object?.stop()
                }
            }
            object = nil
            #expect(scripted.running.isEmpty && delegate.calls.isEmpty)
        }
    }

    // MARK: Browsers

    // Parity: SD-092
    @Test("SD-092: a new browser does nothing yet")
    func makesBrowsers() {
        _ = NetServiceBrowser(engine: engine)
        _ = ServiceBrowser(type, engine: engine)
        #expect(scripted.calls.isEmpty)
    }

    // Parity: SD-093
    @Test("SD-093: a browser delivers events only where it is scheduled")
    func schedulesBrowsers() throws {
        let (browser, delegate) = (NetServiceBrowser(engine: engine), RecordingDelegate())
        let mode = RunLoop.Mode("browsers")
        browser.delegate = delegate
        browser.remove(from: .current, forMode: .default)
        browser.searchForServices(ofType: "_http._tcp", inDomain: "local")
        _ = RunLoop.current.run(mode: .default, before: Date() + 0.01)
        #expect(delegate.calls.isEmpty)
        browser.schedule(in: .current, forMode: mode)
        delegate.run(until: 1, mode: mode)
        #expect(delegate.calls == ["willSearch"])
    }

    // Parity: SD-094
    @Test("SD-094: searching for services, and one search at a time")
    func searchesServices() throws {
        scripted.set([try pointer("A")])
        let feed = try ServiceBrowser(type, engine: engine).start()
        #expect(try feed.next(until: nil)?.value.name == "A")
        #expect(code { () throws(ServiceDiscoveryError) in _ = try feed.next(until: soon) } == -72007)
        let scripted = scripted
        onAnotherThread { scripted.report(.failed(ServiceDiscoveryError(.daemonUnavailable))) }
        #expect(code { () throws(ServiceDiscoveryError) in _ = try feed.next(until: nil) } == -72000)
        let (browser, delegate) = (NetServiceBrowser(engine: engine), RecordingDelegate())
        browser.delegate = delegate
        browser.searchForServices(ofType: "_http._tcp", inDomain: "")
        browser.searchForServices(ofType: "_http._tcp", inDomain: "")
        delegate.run(until: 3)
        #expect(Set(delegate.calls) == ["willSearch", "found A _http._tcp. local. false", "didNotSearch -72003 of 10"])
    }

    // Parity: SD-095
    @Test(
        "SD-095: searching for domains, for browsing and for registration",
        arguments: [ServiceDomainBrowser.Purpose.browsing, .registration])
    func searchesDomains(_ purpose: ServiceDomainBrowser.Purpose) throws {
        let feed = try ServiceDomainBrowser(purpose, engine: engine).start()
        #expect(try feed.next(until: nil)?.value == .local)
        onAnotherThread { feed.stop() }
        #expect(try feed.next(until: nil) == nil)
        let (browser, delegate) = (NetServiceBrowser(engine: engine), RecordingDelegate())
        browser.delegate = delegate
        if purpose == .browsing { browser.searchForBrowsableDomains() } else { browser.searchForRegistrationDomains() }
        delegate.run(until: 2)
        #expect(delegate.calls == ["willSearch", "found local. false"])
    }

    // Parity: SD-096
    @Test("SD-096: the flags are properties of a change")
    func reportsFlags() throws {
        scripted.set([try pointer("A"), try pointer("B")])
        let feed = try ServiceBrowser(type, engine: engine).start()
        let changes = try [feed.next(until: nil), feed.next(until: nil)].compactMap(\.self)
        #expect(changes.map(\.moreComing) == [true, false] && changes.map(\.kind) == [.found, .found])
        scripted.set([try pointer("A")], isPresent: false)
        let change = try #require(try feed.next(until: nil))
        #expect(change.kind == .removed && change.value.name == "A" && !change.moreComing)
    }

    // Parity: SD-097
    @Test("SD-097: stopping ends a waiting call, and has no effect without a search")
    func stops() throws {
        let feed = try ServiceBrowser(type, engine: engine).start()
        onAnotherThread { feed.stop() }
        #expect(try feed.next(until: nil) == nil)
        feed.stop()
        #expect(try feed.next(until: nil) == nil && scripted.calls == ["query PTR", "end"])
        NetServiceBrowser(engine: engine).stop()
    }

    // Parity: SD-098
    @Test("SD-098: after the end no event is delivered, and later calls fail", arguments: [false, true])
    func invalidates(stopsFirst: Bool) throws {
        var browser: NetServiceBrowser? = NetServiceBrowser(engine: engine)
        let delegate = RecordingDelegate()
        browser?.delegate = delegate
        browser?.searchForServices(ofType: "_http._tcp", inDomain: "")
        if stopsFirst { browser?.stop() }
        browser?.remove(from: .current, forMode: .default)
        if !stopsFirst { browser?.stop() }
        browser = nil
        scripted.report(.failed(ServiceDiscoveryError(.daemonUnavailable)))
        _ = RunLoop.current.run(mode: .default, before: Date() + 0.01)
        #expect(delegate.calls.isEmpty && scripted.running.isEmpty)
        let publisher = try ServicePublisher(web, engine: engine)
        publisher.stop()
        publisher.stop()
        #expect(code { () throws(ServiceDiscoveryError) in try publisher.update(TXTRecord()) } == -72006)
    }

    // MARK: Monitors, records, errors

    // Parity: SD-099, SD-100
    @Test("SD-099, SD-100: a monitor reports the first record and each change, scheduled or blocking")
    func monitors() throws {
        let feed = try ServiceMonitor(service, engine: engine).start()
        #expect(code { () throws(ServiceDiscoveryError) in _ = try feed.next(until: soon) } == -72007)
        for number in 1...3 {
            scripted.set([text("n=\(number)")])
            #expect(try feed.next(until: nil)?.string("n") == "\(number)")
        }
        let notifications = Locked(0)
        let subscription = feed.observe(on: .loop(.shared)) { notifications.withLock { $0 += 1 } }
        scripted.set([text("n=4")])
        while notifications.withLock({ $0 }) == 0 {}
        #expect(try feed.tryNext()?.string("n") == "4")
        // Its end, in the order of Apple's guide.
        feed.stop()
        subscription.cancel()
        #expect(try feed.tryNext() == nil && scripted.running.isEmpty)
    }

    // Parity: SD-101
    @Test("SD-101: records and dictionaries")
    func translates() throws {
        let record = try TXTRecord(dictionary: ["k": [1, 2], "flag": nil])
        #expect(TXTRecord(wire: record.wireForm).dictionary == ["k": [1, 2], "flag": nil])
        #expect(code { () throws(ServiceDiscoveryError) in _ = try TXTRecord(dictionary: ["": []]) } == -72004)
        let long = [UInt8](repeating: 0, count: 254)
        #expect(code { () throws(ServiceDiscoveryError) in _ = try TXTRecord(dictionary: ["k": long]) } == -72004)
        #expect(NetService.dictionary(fromTXTRecord: Data([3, 107, 61, 118, 9, 97])) == ["k": Data("v".utf8)])
    }

    // Parity: SD-102
    @Test("SD-102: the old name for resolving exists")
    @available(*, deprecated)
    func keepsTheOldName() {
        let old = netService()
        old.resolve()
        #expect(!scripted.running.isEmpty)
        old.stop()
    }

    // Parity: SD-103
    @Test(
        "SD-103: the numbers of errors",
        arguments: [
            (.collision, -72001), (.notFound, -72002), (.busy, -72003), (.invalidName, -72004), (.invalidType, -72004),
            (.invalidDomain, -72004), (.invalidRecord, -72004), (.badArgument, -72004), (.cancelled, -72005),
            (.invalidated, -72006), (.timedOut, -72007), (.daemonFailed, -73000), (.daemonUnavailable, -72000),
            (.unsupported, -72000), (.limitReached, -72000), (.lookupFailed, -72000),
        ] as [(ServiceDiscoveryError.Code, Int)])
    func numbers(_ code: ServiceDiscoveryError.Code, _ number: Int) {
        let error = ServiceDiscoveryError(code)
        #expect(error.number == number && error.domain.rawValue == 10)
    }

    // Parity: SD-103
    @Test(
        "SD-103: the numbers of the daemon's errors",
        arguments: [
            (-65_548, .collision), (-65_540, .badArgument), (-65_549, .badArgument), (-65_568, .timedOut),
            (-65_544, .unsupported), (-65_563, .daemonUnavailable), (-65_537, .daemonUnavailable),
            (-65_553, .limitReached),
            (-65_555, .daemonFailed),
        ] as [(Int32, ServiceDiscoveryError.Code)])
    func daemonNumbers(_ number: Int32, _ code: ServiceDiscoveryError.Code) {
        let error = DaemonNumber.error(number)
        #expect(error.code == code)
        #expect(error.daemonNumber == ([.daemonFailed, .badArgument].contains(code) ? Int(number) : nil))
    }
}
