import Peers
import Testing

/// The C functions of CFNetServices on both engines, with services of Avahi on another host.
@Suite(.serialized) struct CFNetServicesPeerTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    private static let cancelled = "returned false -72005 10"

    /// Avahi on the left host, and a host with the engine on the right one.
    private func hosts(_ engine: DiscoveryHost.Engine) throws -> (avahi: Avahi, right: DiscoveryHost) {
        let printer = Avahi.Service("Printer", type: "_ipp._tcp", port: 631, texts: ["a=b"])
        let avahi = Avahi(hostName: "left", services: [printer], in: network.left)
        try avahi.start()
        return (avahi, try DiscoveryHost(engine, called: "right", in: network.right))
    }

    /// Waits until Avahi finds a service of the type, or none.
    private func avahi(_ avahi: Avahi, finds isThere: Bool, _ type: String) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(Deadline.ofHangs)
        while ContinuousClock.now < end {
            if try await !avahi.browse(type).isEmpty == isThere { return true }
        }
        return false
    }

    // Parity: SD-087, SD-090, SD-103 (Avahi)
    @Test(
        "SD-087, SD-090: registering blocks until another thread cancels it; the service is visible meanwhile",
        arguments: DiscoveryHost.Engine.allCases)
    func registeringBlocks(_ engine: DiscoveryHost.Engine) async throws {
        defer { network.remove() }
        let (avahi, right) = try hosts(engine)
        defer { avahi.stop() }
        defer { right.stop() }
        let program = try right.startCFNetServices("register", "Büro", "_http._tcp", "80")
        defer { program.stop() }
        #expect(try await self.avahi(avahi, finds: true, "_http._tcp"), "\(program.log)")
        #expect(program.log == "registering\n")
        try program.tell("cancel")
        #expect(await program.says(Self.cancelled), "\(program.log)")
        // The program is still running: the registration has ended.
        #expect(try await self.avahi(avahi, finds: false, "_http._tcp") && program.isRunning, "\(program.log)")
        // Or until an error.
        let rival = try right.startCFNetServices("register", "Printer", "_ipp._tcp", "1", "norename")
        defer { rival.stop() }
        #expect(await rival.says("returned false -72001 10"), "\(rival.log)")
        let asynchronous = try right.startCFNetServices("register-async", "Web", "_http._tcp", "80")
        defer { asynchronous.stop() }
        #expect(await asynchronous.says("event 0 Web"), "\(asynchronous.log)")
        try asynchronous.tell("cancel")
        #expect(await asynchronous.says("event -72005 Web"), "\(asynchronous.log)")
        #expect(asynchronous.log == "started\nevent 0 Web\nevent -72005 Web\n")
    }

    // Parity: SD-089, SD-090, SD-103 (Avahi)
    @Test(
        "SD-089: resolving blocks until an address, the time limit, or the end",
        arguments: DiscoveryHost.Engine.allCases)
    func resolvingBlocks(_ engine: DiscoveryHost.Engine) async throws {
        defer { network.remove() }
        let (avahi, right) = try hosts(engine)
        defer { avahi.stop() }
        defer { right.stop() }
        let present = try right.startCFNetServices("resolve", "Printer", "_ipp._tcp", "local.", "0")
        defer { present.stop() }
        #expect(await present.says("returned true 0 0"), "\(present.log)")
        let location = try #require(present.log.split(separator: "\n").dropFirst().first)
        #expect(location.hasPrefix("left.local. 631 ") && !location.hasSuffix(" 0"), "\(present.log)")
        let absent = try right.startCFNetServices("resolve", "Absent", "_ipp._tcp", "local.", "2")
        defer { absent.stop() }
        #expect(await absent.says("returned false -72007 10"), "\(absent.log)")
        let patient = try right.startCFNetServices("resolve", "Absent", "_ipp._tcp", "local.", "0")
        defer { patient.stop() }
        #expect(await patient.says("resolving"))
        try patient.tell("cancel")
        #expect(await patient.says(Self.cancelled), "\(patient.log)")
        #expect(patient.log == "resolving\n\(Self.cancelled)\n")
    }

    // Parity: SD-094, SD-096, SD-097, SD-103 (Avahi)
    @Test(
        "SD-094, SD-096, SD-097: searching blocks until it is stopped, or delivers on a run loop",
        arguments: DiscoveryHost.Engine.allCases)
    func searchingForServices(_ engine: DiscoveryHost.Engine) async throws {
        defer { network.remove() }
        let (avahi, right) = try hosts(engine)
        defer { avahi.stop() }
        defer { right.stop() }
        let blocked = try right.startCFNetServices("browse", "_ipp._tcp", "local.")
        defer { blocked.stop() }
        let other = try right.startCFNetServices("browse", "_ipp._tcp", "")
        defer { other.stop() }
        let asynchronous = try right.startCFNetServices("browse-async", "_ipp._tcp", "")
        defer { asynchronous.stop() }
        for program in [blocked, other, asynchronous] {
            #expect(await program.says("+ Printer 0"), "\(program.log)")
            // One search at a time.
            try program.tell("again")
            #expect(await program.says("again false -72003"), "\(program.log)")
        }
        // It continues, and reports services that appear and disappear.
        let publisher = try DiscoveryHost(.embedded, called: "", in: network.left).start(
            "publish", "Second", "_ipp._tcp", "1", "300")
        defer { publisher.stop() }
        for program in [blocked, asynchronous] { #expect(await program.says("+ Second 0"), "\(program.log)") }
        publisher.stop()
        for program in [blocked, asynchronous] { #expect(await program.says("- Second 8"), "\(program.log)") }
        try blocked.tell("stop")
        #expect(await blocked.says(Self.cancelled), "\(blocked.log)")
        try other.tell("stop 7")
        #expect(await other.says("returned false 7 -1"), "\(other.log)")
        try asynchronous.tell("stop 7")
        #expect(await asynchronous.says("event 7 -1"), "\(asynchronous.log)")
        #expect(asynchronous.log.hasPrefix("started\n+ Printer 0\n") && asynchronous.log.hasSuffix("event 7 -1\n"))
    }

    /// Avahi's library notices that its daemon has gone, which ends the searches on a run loop and those that block.
    // Parity: SD-094, SD-103 (Avahi)
    @Test("SD-094: an error ends a search", arguments: ["browse", "browse-async"])
    func anErrorEndsASearch(_ verb: String) async throws {
        defer { network.remove() }
        let (avahi, right) = try hosts(.daemon)
        defer { avahi.stop() }
        defer { right.stop() }
        let program = try right.startCFNetServices(verb, "_ipp._tcp", "local.")
        defer { program.stop() }
        #expect(await program.says("+ Printer 0"), "\(program.log)")
        right.stop()
        #expect(await program.says(verb == "browse" ? "returned false -72000 10" : "event -72000 10"), "\(program.log)")
    }

    private static let zone: [Peers.DNSRecord] = [
        .init("b._dns-sd._udp.peers.test", .ptr("branch.peers.test")),
        .init("lb._dns-sd._udp.peers.test", .ptr("branch.peers.test")),
        .init("r._dns-sd._udp.peers.test", .ptr("dyn.peers.test")),
        .a("h.peers.test", "192.0.2.9"),
    ]

    /// A host whose name server lists domains.
    private func withNameServer(_ body: (NetworkNamespace) async throws -> Void) async throws {
        network.remove()
        let host = try NetworkNamespace(files: ["/etc/resolv.conf": "nameserver 127.0.0.1\nsearch peers.test\n"])
        defer { host.remove() }
        let server = Unbound(records: Self.zone, in: host)
        try server.start()
        defer { server.stop() }
        try await body(host)
    }

    private func start(_ words: String..., in host: NetworkNamespace) throws -> LineProgram {
        let program = LineProgram(Probes.path(of: "cfnetservices"), words, hasInput: true, in: host)
        try program.start()
        return program
    }

    // Parity: SD-095, SD-096 (unbound)
    @Test(
        "SD-095, SD-096: searching for domains blocks until it is stopped, or delivers on a run loop",
        arguments: [("browsing", "branch.peers.test."), ("registration", "dyn.peers.test.")],
        ["domains", "domains-async"])
    func searchingForDomains(_ purpose: (String, String), _ verb: String) async throws {
        try await withNameServer { host in
            let program = try start(verb, purpose.0, in: host)
            defer { program.stop() }
            // The default domain, which is known at once, then those of the name server. Flag 1 says that more is coming.
            #expect(await program.shows("domain local. ", "domain \(purpose.1) 2\n"), "\(program.log)")
            let prefix = verb == "domains" ? "" : "started\n"
            #expect(["6", "7"].contains { program.log.hasPrefix("\(prefix)domain local. \($0)\n") }, "\(program.log)")
            try program.tell("stop")
            #expect(await program.says(verb == "domains" ? Self.cancelled : "event -72005 10"), "\(program.log)")
        }
    }

    // Parity: SD-098, SD-103 (unbound)
    @Test(
        "SD-103: each cause of a failure has its number",
        arguments: [
            (["resolve", "Absent", "_http._tcp", "peers.test.", "0"], "", -72002),
            (["register", "Web", "http", "80"], "", -72004), (["register", "Web", "_http._tcp", "-1"], "", -72004),
            (["browse", "_http", "local."], "", -72004), (["browse", "_http._tcp", "a..b"], "", -72004),
            (["invalid", "_http._tcp"], "", -72006), (["browse", "_http._tcp", "local."], "invalidate", -72006),
        ])
    func theNumbers(_ words: [String], _ line: String, _ number: Int) async throws {
        try await withNameServer { host in
            let program = LineProgram(Probes.path(of: "cfnetservices"), words, hasInput: true, in: host)
            try program.start()
            defer { program.stop() }
            if !line.isEmpty { try program.tell(line) }
            #expect(await program.says("returned false \(number) 10"), "\(program.log)")
        }
    }

    // Parity: SD-103 (Linux)
    @Test("SD-103: a name server that cannot be reached is the unknown error")
    func aMissingNameServer() async throws {
        network.remove()
        let host = try NetworkNamespace(files: ["/etc/resolv.conf": "nameserver 127.0.0.1\n"])
        defer { host.remove() }
        let program = try start("resolve", "Web", "_http._tcp", "peers.test.", "0", in: host)
        defer { program.stop() }
        #expect(await program.says("returned false -72000 10"), "\(program.log)")
    }
}
