import DNSWire
import HostResolver
import Testing

@testable import ServiceDiscovery

@Suite struct DomainRouterTests {
    private let local = ScriptedEngine()
    private let type = try! ServiceType("_http._tcp")
    private let company = try! ServiceDomain("example.org")

    /// An engine without name servers.
    private var engine: DiscoveryEngine { DiscoveryEngine(local) }

    @Test func queriesTheLinkForLocalOnly() async throws {
        let near = try ServiceBrowser(type, domain: ServiceDomain("LOCAL."), engine: engine).start()
        #expect(local.calls == ["query PTR"])
        near.stop()
        #expect(local.calls == ["query PTR", "end"])
        let far = try ServiceBrowser(type, domain: company, engine: engine).start()
        do throws(ServiceDiscoveryError) {
            _ = try await far.next()
            Issue.record("it found something")
        } catch {
            #expect(error.code == .lookupFailed && error.number == -72000)
            #expect(error.description.contains("no name server is configured to look up _http._tcp.example.org"))
        }
        far.stop()
        #expect(local.calls.count == 2)
    }

    /// A service of the link whose host is not in `local`: without a name server, the link knows it.
    @Test(arguments: ["myhostname", "x.lan"]) func resolvesAHostOutsideLocalOnTheLink(host: String) async throws {
        let service = try ServiceInstance(name: "Web", type: type)
        let name = try #require(DNSName(host))
        let location = DNSRecord.unique(service.fullName, 120, .srv(priority: 0, weight: 0, port: 80, target: name))
        local.set([location, .unique(name, 120, .a(IPv4Address(10, 0, 0, 9)))])
        // A daemon knows the service, and would ask name servers for its host.
        let daemon = ScriptedEngine()
        daemon.set([location])
        for engine in [engine, DiscoveryEngine(AutomaticEngine(daemon, or: local), configuration: nil)] {
            let found = try await ServiceResolver(service, engine: engine).resolve(until: .now + .seconds(50))
            #expect(found.addresses.map(\.description) == ["10.0.0.9:80"] && found.hostName == host + ".")
        }
    }

    /// An engine for `local` only, such as Avahi's library.
    private struct LinkEngine: RecordEngine {
        let base: ScriptedEngine

        func query(
            _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
        ) throws(ServiceDiscoveryError) {
            guard key.name.isLocal else { throw ServiceDiscoveryError(.unsupported) }
            try base.query(key, interface: interface, as: operation, sink: sink)
        }

        func publish(
            _ advertisement: ServiceAdvertisement, as operation: Int, sink: any EventSink
        ) throws(ServiceDiscoveryError) { try base.publish(advertisement, as: operation, sink: sink) }
        func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError) {}
        func reconfirm(_ key: RecordKey, _ data: DNSRecordData, interface: String?) throws(ServiceDiscoveryError) {}
        func end(_ operation: Int) { base.end(operation) }
    }

    /// An engine that refuses a query does not end the search if there is another way.
    @Test func aRefusedQueryDoesNotEndTheSearch() async throws {
        let service = try ServiceInstance(name: "Web", type: type)
        let name = try #require(DNSName("myhostname"))
        local.set([
            .unique(service.fullName, 120, .srv(priority: 0, weight: 0, port: 80, target: name)),
            .unique(try #require(DNSName("myhostname.local")), 120, .a(IPv4Address(10, 0, 0, 9))),
        ])
        let machine = ResolutionMachine(service)
        let feed = DiscoveryFeed(try SearchDriver(machine, engine: LinkEngine(base: local), interface: nil))
        #expect(try await feed.next(until: .now + .seconds(50))?.addresses.map(\.description) == ["10.0.0.9:80"])
        feed.stop()
        #expect(local.running.isEmpty)
    }

    @Test func publishesInLocalOnly() throws {
        let web = ServiceAdvertisement(name: "Web", type: type, domain: company, port: 80)
        do throws(ServiceDiscoveryError) {
            _ = try ServicePublisher(web, engine: engine)
            Issue.record("it published")
        } catch {
            #expect(error.code == .unsupported && error.name == "example.org.")
            #expect(error.description.contains("services can be published only in local."))
        }
        #expect(local.calls.isEmpty)
    }

    /// A search list whose domains cannot be queried has no effect.
    @Test func browsesWithoutNameServers() throws {
        let engine = engine.usingNameServers(of: ResolverConfiguration(servers: [], search: [company.name]))
        #expect(engine.searchDomains == [company])
        let pointer = DNSRecord(
            try #require(DNSName("_http._tcp.local")), timeToLive: 9,
            .ptr(try ServiceInstance(name: "Web", type: type).fullName))
        local.set([pointer])
        let services = try ServiceBrowser(type, engine: engine).start()
        #expect(try services.tryNext()?.value.name == "Web")
        let domains = try ServiceDomainBrowser(.browsing, engine: engine).start()
        #expect(try domains.tryNext()?.value == .local)
        let end = ContinuousClock.now + .milliseconds(50)
        #expect(throws: ServiceDiscoveryError(.timedOut)) { _ = try services.next(until: end) }
        #expect(throws: ServiceDiscoveryError(.timedOut)) { _ = try domains.next(until: end) }
    }

    @Test func failsIfTheRequestedListCannotBeRead() async throws {
        let domains = try ServiceDomainBrowser(.registration, listedIn: company, engine: engine).start()
        do throws(ServiceDiscoveryError) {
            _ = try await domains.next()
            Issue.record("it found something")
        } catch {
            #expect(error.code == .lookupFailed)
        }
        #expect(local.calls.isEmpty)
    }

    @Test func doesNotConfigureTheDaemon() {
        #expect(DiscoveryEngine.daemon.searchDomains.isEmpty)
        let asking = DiscoveryEngine.daemon.usingNameServers(
            of: ResolverConfiguration(servers: [], search: [company.name]))
        #expect(asking.searchDomains.isEmpty && asking.engine is DaemonEngine)
    }
}
