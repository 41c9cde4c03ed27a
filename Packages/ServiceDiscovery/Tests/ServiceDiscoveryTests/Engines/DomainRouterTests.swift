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
