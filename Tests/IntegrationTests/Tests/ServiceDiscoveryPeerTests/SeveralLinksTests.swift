import Peers
import Testing

/// Two hosts with two links between them, or on networks that are joined later.
@Suite(.serialized) struct SeveralLinksTests {
    private static let printer = Avahi.Service("Printer", type: "_ipp._tcp", port: 9000)

    // Parity: SD-041 (Avahi)
    @Test(
        "SD-041: a service on two links is found once, and removed with the last one",
        arguments: DiscoveryHost.Engine.allCases)
    func oneServiceOnTwoLinks(_ engine: DiscoveryHost.Engine) async throws {
        let network = try WiredNamespaces(links: 2)
        defer { network.remove() }
        let avahi = Avahi(hostName: "left", services: [Self.printer], in: network.left)
        try avahi.start()
        defer { avahi.stop() }
        let right = try DiscoveryHost(engine, called: "right", in: network.right)
        defer { right.stop() }
        let browser = try right.startNetService("browse", "_ipp._tcp")
        defer { browser.stop() }
        #expect(await browser.shows("+ Printer "), "\(browser.log)")
        let resolver = try right.start("resolve", "Printer", "_ipp._tcp", "300")
        defer { resolver.stop() }
        #expect(await resolver.shows("10.77.5.1:9000", "10.77.6.1:9000"), "\(resolver.log)")
        // The other link is enough, also for new services, among them those of this host.
        try network.setLink("eth0", of: network.right, up: false)
        let own = try right.startNetService("publish", "Own", "_ipp._tcp", "1")
        defer { own.stop() }
        #expect(await browser.shows("+ Own "), "\(browser.log) \(own.log)")
        let near = try DiscoveryHost(.embedded, called: "", in: network.left)
        let other = try near.startNetService("publish", "Other", "_ipp._tcp", "1")
        defer { other.stop() }
        #expect(await browser.shows("+ Other "), "\(browser.log) \(other.log)")
        #expect(!browser.log.contains("- "), "\(browser.log)")
        #expect(browser.log.split(separator: "\n").count == 3, "\(browser.log)")
        try network.setLink("eth1", of: network.right, up: false)
        #expect(await browser.shows("- Printer ", "- Other "), "\(browser.log)")
        #expect(browser.log.split(separator: "\n").count { $0.hasPrefix("- Printer") } == 1, "\(browser.log)")
    }

    /// As avahi-browse: one line for each link.
    @Test("A browser of each interface sees a service on two links twice", arguments: DiscoveryHost.Engine.allCases)
    func oneServiceOnEachLink(_ engine: DiscoveryHost.Engine) async throws {
        let network = try WiredNamespaces(links: 2)
        defer { network.remove() }
        let avahi = Avahi(hostName: "left", services: [Self.printer], in: network.left)
        try avahi.start()
        defer { avahi.stop() }
        let right = try DiscoveryHost(engine, called: "right", in: network.right)
        defer { right.stop() }
        let browser = try right.start("browse-each", "_ipp._tcp", "300")
        defer { browser.stop() }
        #expect(await browser.shows("+ eth0 Printer\n", "+ eth1 Printer\n"), "\(browser.log)")
        try network.setLink("eth0", of: network.right, up: false)
        #expect(await browser.shows("- eth0 Printer\n"), "\(browser.log)")
        #expect(!browser.log.contains("- eth1 "), "\(browser.log)")
        #expect(browser.log.split(separator: "\n").count == 3, "\(browser.log)")
    }

    // Parity: SD-023 (Avahi)
    @Test("SD-023: each link sees the publisher's addresses on that link")
    func eachLinkHasItsAddresses() async throws {
        let network = try WiredNamespaces(links: 2)
        defer { network.remove() }
        let avahi = Avahi(hostName: "right", in: network.right)
        try avahi.start()
        defer { avahi.stop() }
        let publisher = try Probes.start("publish", "Web", "_http._tcp", "80", "300", in: network.left)
        defer { publisher.stop() }
        #expect(await publisher.says("published Web"), "\(publisher.log)")
        var seen: [String: Set<Substring>] = [:]
        let end = ContinuousClock.now + .seconds(Deadline.ofHangs)
        while seen.count < 2, ContinuousClock.now < end {
            for line in try await avahi.browse("_http._tcp") {
                // =;INTERFACE;FAMILY;NAME;TYPE;DOMAIN;HOST;ADDRESS;PORT;TXT
                let fields = line.split(separator: ";", omittingEmptySubsequences: false)
                // Either family's answer may have an address of the other one.
                guard fields.count > 8, fields[7].contains(".") else { continue }
                #expect(fields[3] == "Web" && fields[6].hasSuffix(".local") && fields[8] == "80", "\(line)")
                seen[String(fields[1]), default: []].insert(fields[7])
            }
        }
        #expect(seen == ["eth0": ["10.77.5.1"], "eth1": ["10.77.6.1"]], "\(seen)")
    }

    private static let stubborn = """
        import signal, socket
        from zeroconf import ServiceInfo, Zeroconf
        Zeroconf(interfaces=["10.77.5.1"]).register_service(ServiceInfo("_ipp._tcp.local.", "Printer._ipp._tcp.local.",
            port=9000, addresses=[socket.inet_aton("10.77.5.1")], server="py.local."))
        print("published", flush=True)
        while True: signal.pause()
        """

    /// python-zeroconf defends its name and never changes it.
    // Parity: SD-014 (python-zeroconf)
    @Test("SD-014: after a conflict of networks that were joined, the delegate gets the new name")
    func aConflictOfJoinedNetworks() async throws {
        let network = try WiredNamespaces.apart()
        defer { network.remove() }
        let peer = LineProgram("/usr/bin/python3", ["-c", Self.stubborn], in: network.left)
        try peer.start()
        defer { peer.stop() }
        #expect(await peer.says("published"), "\(peer.log)")
        let publisher = try Probes.start(
            ["publish", "Printer", "_ipp._tcp", "631"], program: Probes.path(of: "net-service"), in: network.right)
        defer { publisher.stop() }
        #expect(await publisher.says("published Printer at 631 in local."), "\(publisher.log)")
        try network.connect()
        // A search brings the records of both to both hosts.
        let resolver = try Probes.start("resolve", "Printer", "_ipp._tcp", "300", in: network.right)
        defer { resolver.stop() }
        #expect(await publisher.says("published Printer (2) at 631 in local."), "\(publisher.log) \(peer.log)")
        let browser = try Probes.start("browse", "_ipp._tcp", "300", in: network.right)
        defer { browser.stop() }
        #expect(await browser.shows("+ Printer\n", "+ Printer (2)\n"), "\(browser.log)")
    }

    /// Avahi may change its own name.
    // Parity: SD-014 (Avahi)
    @Test("SD-014: after a conflict of networks that were joined, the services have different names")
    func aConflictWithAvahi() async throws {
        let network = try WiredNamespaces.apart()
        defer { network.remove() }
        let avahi = Avahi(hostName: "left", services: [Self.printer], in: network.left)
        try avahi.start()
        defer { avahi.stop() }
        let publisher = try Probes.start(
            ["publish", "Printer", "_ipp._tcp", "631"], program: Probes.path(of: "net-service"), in: network.right)
        defer { publisher.stop() }
        #expect(await publisher.says("published Printer at 631 in local."), "\(publisher.log)")
        try network.connect()
        let resolver = try Probes.start("resolve", "Printer", "_ipp._tcp", "300", in: network.right)
        defer { resolver.stop() }
        // =;INTERFACE;FAMILY;NAME;TYPE;DOMAIN;HOST;ADDRESS;PORT;TXT
        var names: [Substring: Substring] = [:]  // by port
        let end = ContinuousClock.now + .seconds(Deadline.ofHangs)
        while Set(names.values).count < 2, ContinuousClock.now < end {
            for line in try await avahi.browse("_ipp._tcp") {
                let fields = line.split(separator: ";", omittingEmptySubsequences: false)
                if fields.count > 8 { names[fields[8]] = fields[3] }
            }
        }
        #expect(Set(names.keys) == ["631", "9000"] && Set(names.values).count == 2, "\(names)")
        let own = try #require(names["631"])
        let name = own == "Printer" ? "Printer" : "Printer (2)"
        let isTold = publisher.log.split(separator: "\n").last == "published \(name) at 631 in local."
        #expect(isTold, "\(names) \(publisher.log)")
    }

    // Parity: SD-042 (Avahi)
    @Test("SD-042: a service whose host loses its link stays listed")
    func aHostWithoutLinkStaysListed() async throws {
        let network = try WiredNamespaces.apart()
        defer { network.remove() }
        try network.connect()
        let avahi = Avahi(hostName: "left", services: [Self.printer], in: network.left)
        try avahi.start()
        defer { avahi.stop() }
        let browser = try Probes.start(
            ["browse", "_ipp._tcp"], program: Probes.path(of: "net-service"), in: network.right)
        defer { browser.stop() }
        #expect(await browser.shows("+ Printer "), "\(browser.log)")
        try network.setLink(of: network.left, up: false)
        // The search goes on, and reports what else appears.
        let other = try Probes.start("publish", "Other", "_ipp._tcp", "1", "300", in: network.right)
        defer { other.stop() }
        #expect(await browser.shows("+ Other "), "\(browser.log) \(other.log)")
        #expect(!browser.log.contains("- "), "\(browser.log)")
    }
}
