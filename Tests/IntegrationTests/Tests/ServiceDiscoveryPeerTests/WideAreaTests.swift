import NetKit
import Peers
import Testing

/// Services in DNS domains, on real and scripted name servers (SD-114).
@Suite(.timeLimit(.minutes(5))) struct WideAreaTests {
    private static let printer = "Office\\032Printer\\.\\0322._ipp._tcp.branch.peers.test"

    private static let zone: [Peers.DNSRecord] = [
        .init("_services._dns-sd._udp.branch.peers.test", .ptr("_ipp._tcp.branch.peers.test")),
        .init("_ipp._tcp.branch.peers.test", .ptr(printer)),
        .init("_ipp._tcp.branch.peers.test", .ptr("Lab._ipp._tcp.branch.peers.test")),
        .init("_color._sub._ipp._tcp.branch.peers.test", .ptr(printer)),
        .srv(printer, priority: 20, weight: 0, port: 632, "spare.peers.test"),
        .srv(printer, priority: 10, weight: 0, port: 631, "alias.peers.test"),
        .txt(printer, "note=2nd floor", "color"),
        .cname("alias.peers.test", "printer.peers.test"),
        .a("printer.peers.test", "192.0.2.9"), .aaaa("printer.peers.test", "2001:db8::9"),
        .a("spare.peers.test", "192.0.2.10"),
        .init("b._dns-sd._udp.peers.test", .ptr("branch.peers.test")),
        .init("b._dns-sd._udp.peers.test", .ptr("other.peers.test")),
        .init("lb._dns-sd._udp.peers.test", .ptr("branch.peers.test")),
        .init("r._dns-sd._udp.peers.test", .ptr("dyn.peers.test")),
    ]

    private func asking(_ port: Int) throws -> DiscoveryEngine {
        let server = try #require(SocketAddress("127.0.0.1:\(port)"))
        var configuration = ResolverConfiguration(servers: [server])
        (configuration.timeout, configuration.attempts) = (.seconds(5), 2)
        return .embedded.usingNameServers(of: configuration)
    }

    private func instance(_ name: String, _ type: String, _ domain: String) throws -> ServiceInstance {
        try ServiceInstance(name: name, type: ServiceType(type), domain: ServiceDomain(domain))
    }

    /// The values known once there are no further changes at the moment.
    private func first<Thing>(_ feed: DiscoveryFeed<DiscoveryChange<Thing>>, _ count: Int) async throws -> Set<Thing> {
        var found: Set<Thing> = []
        while found.count < count, let change = try await feed.next() { found.insert(change.value) }
        #expect(try feed.tryNext() == nil)
        return found
    }

    // Parity: SD-045, SD-046, SD-114 (unbound)
    @Test func aServiceIsFoundResolvedAndMonitored() async throws {
        let server = Unbound(records: Self.zone)
        try server.start()
        defer { server.stop() }
        let engine = try asking(server.port)
        let branch = try ServiceDomain("branch.peers.test")
        let printer = try instance("Office Printer. 2", "_ipp._tcp", "branch.peers.test")
        let types = try await first(ServiceTypeBrowser(domain: branch, engine: engine).start(), 1)
        #expect(types == [try ServiceType("_ipp._tcp")])
        let all = try await first(ServiceBrowser(ServiceType("_ipp._tcp"), domain: branch, engine: engine).start(), 2)
        #expect(all == [printer, try instance("Lab", "_ipp._tcp", "branch.peers.test")])
        let color = try ServiceType("_ipp._tcp,_color")
        let some = try await first(ServiceBrowser(color, domain: branch, engine: engine).start(), 1)
        #expect(some == [printer])
        // The better of two SRV records, through an alias.
        let answers = try ServiceResolver(printer, engine: engine).start()
        var service = try #require(try await answers.next())
        while !service.isComplete || service.port != 631 { service = try #require(try await answers.next()) }
        #expect(service.hostName == "alias.peers.test.")
        #expect(Set(service.addresses.map(\.description)) == ["192.0.2.9:631", "[2001:db8::9]:631"])
        #expect(service.record.string("note") == "2nd floor" && service.record.contains("color"))
        // Both families, although their answers come one after the other.
        #expect(try await ServiceResolver(printer, engine: engine).resolve(until: nil).addresses.count == 2)
        do throws(ServiceDiscoveryError) {
            let absent = try! instance("Absent", "_ipp._tcp", "branch.peers.test")
            _ = try await ServiceResolver(absent, engine: engine).resolve(until: nil)
            Issue.record("it was found")
        } catch {
            #expect(error.code == .notFound && error.number == -72002, "\(error)")
        }
        let record = try #require(try await ServiceMonitor(printer, engine: engine).start().next())
        #expect(record == service.record)
        // SD-045, SD-046: the domains.
        let top = try ServiceDomain("peers.test")
        let domains = try await first(ServiceDomainBrowser(.browsing, listedIn: top, engine: engine).start(), 2)
        #expect(domains == [branch, try ServiceDomain("other.peers.test")])
        let registration = try await first(
            ServiceDomainBrowser(.registration, listedIn: top, engine: engine).start(), 1)
        #expect(registration == [try ServiceDomain("dyn.peers.test")])
    }

    /// SD-008, SD-032, SD-037, SD-045: without a domain, the default domains are used, some of which a name server lists.
    // Parity: SD-008, SD-032, SD-037, SD-045, SD-114 (unbound)
    @Test func theDefaultDomainsAreSearched() async throws {
        let host = try NetworkNamespace(files: ["/etc/resolv.conf": "nameserver 127.0.0.1\nsearch peers.test\n"])
        defer { host.remove() }
        let server = Unbound(records: Self.zone, in: host)
        try server.start()
        defer { server.stop() }
        let publisher = try Probes.start("publish", "Lab", "_ipp._tcp", "631", "120", in: host)
        defer { publisher.stop() }
        let browser = try Probes.start("browse", "_ipp._tcp", "120", in: host)
        defer { browser.stop() }
        #expect(await browser.says("+ Office Printer. 2"), "\(browser.log)")
        // Once in local, and once in the branch domain.
        #expect(await browser.says("+ Lab", times: 2), "\(browser.log)")
        let domains = try Probes.start("domains", "browsing", "120", in: host)
        defer { domains.stop() }
        #expect(await domains.says("+ branch.peers.test."), "\(domains.log)")
        #expect(domains.log.hasPrefix("+ local.\n"))
        let registration = try Probes.start("domains", "registration", "120", in: host)
        defer { registration.stop() }
        #expect(await registration.says("+ dyn.peers.test."), "\(registration.log)")
        #expect(registration.log.hasPrefix("+ local.\n"))
    }

    /// SD-058: reconfirming queries at once.
    // Parity: SD-058
    @Test func reconfirmingQueriesAtOnce() async throws {
        let record = Peers.DNSRecord("_http._tcp.peers.test", timeToLive: 3600, .ptr("Web._http._tcp.peers.test"))
        let isGone = Locked(false)
        let server = try ScriptedNameServer { _ in isGone.withLock { $0 } ? [.failure(3)] : [.answer([record])] }
        let engine = try asking(server.port)
        let web = try instance("Web", "_http._tcp", "peers.test")
        let feed = try ServiceBrowser(web.type, domain: web.domain, engine: engine).start()
        #expect(try await feed.next()?.kind == .found)
        isGone.withLock { $0 = true }
        try ServiceResolver(web, engine: engine).reconfirm()
        #expect(try await feed.next()?.kind == .removed)
    }

    /// A name server that refuses is reported, and so is one that does not answer.
    @Test(arguments: [2, 4, 5]) func theErrorOfANameServerIsReported(_ code: Int) async throws {
        let server = try ScriptedNameServer { _ in [.failure(code)] }
        let web = try instance("Web", "_http._tcp", "peers.test")
        do throws(ServiceDiscoveryError) {
            _ = try await ServiceResolver(web, engine: try! asking(server.port)).resolve(until: nil)
            Issue.record("it was found")
        } catch {
            #expect(
                error.code == .lookupFailed && error.detail?.contains("the name servers failed") == true, "\(error)")
        }
    }

    @Test func aSilentNameServerIsATimeout() async throws {
        let silent = try UnansweredPort()
        var configuration = ResolverConfiguration(servers: [try #require(SocketAddress("127.0.0.1:\(silent.port)"))])
        (configuration.timeout, configuration.attempts) = (.milliseconds(100), 1)
        let engine = DiscoveryEngine.embedded.usingNameServers(of: configuration)
        let feed = try ServiceBrowser(
            ServiceType("_http._tcp"), domain: ServiceDomain("peers.test"), engine: engine
        ).start()
        do throws(ServiceDiscoveryError) {
            _ = try await feed.next()
            Issue.record("it was found")
        } catch {
            #expect(error.code == .lookupFailed, "\(error)")
        }
    }
}
