import Peers
import Testing

/// The behaviour of every combination of publishing and browsing engines on two hosts.
@Suite(.serialized) struct EngineContractTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    private func hosts(_ pair: DiscoveryHost.Pair) throws -> (DiscoveryHost, DiscoveryHost) {
        (
            try DiscoveryHost(pair.left, called: "left", in: network.left),
            try DiscoveryHost(pair.right, called: "right", in: network.right)
        )
    }

    private func stop(_ hosts: DiscoveryHost...) {
        for host in hosts { host.stop() }
    }

    // Parity: SD-020, SD-053 (Avahi)
    @Test(arguments: DiscoveryHost.Pair.all)
    func aServiceIsFoundResolvedAndRemoved(_ pair: DiscoveryHost.Pair) async throws {
        defer { network.remove() }
        let (left, right) = try hosts(pair)
        defer { stop(left, right) }
        let browser = try right.start("browse", "_http._tcp", "120")
        defer { browser.stop() }
        let publisher = try left.start("publish", "Büro. 2", "_http._tcp,_printer", "8080", "120", "path=/", "a")
        defer { publisher.stop() }
        #expect(await publisher.says("published Büro. 2"), "\(publisher.log)")
        #expect(await browser.says("+ Büro. 2"), "\(browser.log)")
        let narrow = try right.start("browse", "_http._tcp,_printer", "120")
        defer { narrow.stop() }
        #expect(await narrow.says("+ Büro. 2"), "\(narrow.log)")
        let types = try right.start("types", "120")
        defer { types.stop() }
        #expect(await types.says("+ _http._tcp"), "\(types.log)")
        let monitor = try right.start("monitor", "Büro. 2", "_http._tcp", "120")
        defer { monitor.stop() }
        #expect(await monitor.says("path=/ a="), "\(monitor.log)")
        let resolver = try right.start("resolve", "Büro. 2", "_http._tcp", "120")
        defer { resolver.stop() }
        let isThere = await resolver.shows(" 8080 ", "10.77.5.1:8080", "[fe80::", "%eth0]:8080", " | path=/ a=")
        #expect(isThere, "\(resolver.log)")
        // Each service once, whatever the number of interfaces and families.
        #expect(browser.log == "+ Büro. 2\n")
        publisher.stop()
        #expect(await browser.says("- Büro. 2"), "\(browser.log)")
        #expect(await narrow.says("- Büro. 2"), "\(narrow.log)")
        #expect(browser.log == "+ Büro. 2\n- Büro. 2\n")
    }

    // Parity: SD-065, SD-069 (Avahi)
    @Test(arguments: DiscoveryHost.Pair.mixed) func changesAreAnnounced(_ pair: DiscoveryHost.Pair) async throws {
        defer { network.remove() }
        let (left, right) = try hosts(pair)
        defer { stop(left, right) }
        let monitor = try right.start("monitor", "Web", "_http._tcp", "120")
        defer { monitor.stop() }
        let publisher = try left.start("publish", "Web", "_http._tcp", "80", "120", "k=v", "--then=new")
        defer { publisher.stop() }
        #expect(await monitor.says("k=v then=new"), "\(monitor.log) \(publisher.log)")
    }

    // Parity: SD-013, SD-111 (Avahi)
    @Test(arguments: DiscoveryHost.Pair.all) func aNameThatIsTakenIsChanged(_ pair: DiscoveryHost.Pair) async throws {
        defer { network.remove() }
        let (left, right) = try hosts(pair)
        defer { stop(left, right) }
        let first = try left.start("publish", "Web", "_http._tcp", "80", "120")
        defer { first.stop() }
        #expect(await first.says("published Web"), "\(first.log)")
        let second = try right.start("publish", "Web", "_http._tcp", "81", "120")
        defer { second.stop() }
        // Avahi uses a different form.
        let name = right.engine == .daemon ? "Web #2" : "Web (2)"
        #expect(await second.says("published \(name)"), "\(second.log)")
        // The same host already has the name.
        let third = try left.start("publish", "Web", "_http._tcp", "82", "120")
        defer { third.stop() }
        #expect(await third.shows("published Web ("), "\(third.log)")
        let browser = try left.start("browse", "_http._tcp", "120")
        defer { browser.stop() }
        #expect(await browser.says("+ Web"), "\(browser.log)")
        #expect(await browser.says("+ \(name)"), "\(browser.log)")
    }

    // Parity: SD-013 (Avahi)
    @Test(arguments: DiscoveryHost.Engine.allCases)
    func aNameThatIsTakenIsAnErrorWithoutRenaming(_ engine: DiscoveryHost.Engine) async throws {
        defer { network.remove() }
        let (left, right) = try hosts(.init(left: .embedded, right: engine))
        defer { stop(left, right) }
        let first = try left.start("publish", "Web", "_http._tcp", "80", "120")
        defer { first.stop() }
        #expect(await first.says("published Web"))
        let second = try right.start("publish", "Web", "_http._tcp", "81", "120", "--no-rename")
        defer { second.stop() }
        let sentence =
            switch engine {
            case .embedded: "error: the name is taken by another service: Web._http._tcp.local."
            case .daemon:
                "error: the discovery engine does not support this for Web: Avahi's library always renames after a conflict"
            }
        #expect(await second.says(sentence), "\(second.log)")
        // The default engine does, with and without a daemon.
        let third = try right.startByDefault("publish", "Web", "_http._tcp", "81", "120", "--no-rename")
        defer { third.stop() }
        let collision = "error: the name is taken by another service: Web._http._tcp.local."
        #expect(await third.says(collision), "\(third.log)")
    }
}
