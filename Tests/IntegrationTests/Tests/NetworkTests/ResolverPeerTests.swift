import Foundation
import Peers
import Testing

/// Lookups with the system's resolver and with our own, against dnsmasq in a separate network namespace.
@Suite(.serialized) struct ResolverPeerTests {
    private static let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("resolve-probe").path

    private static let engines = ["system", "wire"]

    private static let records = [
        Peers.DNSRecord.a("both.peers.test", "192.0.2.10"), .aaaa("both.peers.test", "2001:db8::10"),
        .a("four.peers.test", "192.0.2.11"), .aaaa("six.peers.test", "2001:db8::12"),
        .a("xn--bcher-kva.peers.test", "192.0.2.13"), .txt("text.peers.test", "x"),
        .a("here.peers.test", "127.0.0.1"), .aaaa("dual.peers.test", "::1"), .a("dual.peers.test", "127.0.0.1"),
        .a("dual.peers.test", "192.0.2.99"), .cname("alias.peers.test", "four.peers.test"),
        .ptr(address: "192.0.2.11", "four.peers.test"),
    ]

    private func namespace(
        _ addresses: [String] = ["192.0.2.1/24", "2001:db8::1/64"], nameServer: String = "127.0.0.1", timeout: Int = 30
    ) throws -> NetworkNamespace {
        try NetworkNamespace(
            addresses: addresses,
            files: [
                "/etc/resolv.conf": "nameserver \(nameServer)\noptions timeout:\(timeout) attempts:1\n",
                "/etc/nsswitch.conf": "hosts: files dns\n",
                "/etc/hosts": "127.0.0.1 localhost\n192.0.2.77 main.peers.test second third\n",
            ])
    }

    private func probe(_ words: String..., in namespace: NetworkNamespace) async throws -> String {
        try await Command(Program("env", package: "coreutils"), [Self.tool] + words, in: namespace).run().text
            .trimmingCharacters(in: .newlines)
    }

    // Parity: HR-001, HR-007, HR-008, HR-014, HR-018 (dnsmasq)
    // Parity: HR-015, HR-022, HR-023 (dnsmasq)
    @Test(arguments: engines)
    func results(_ engine: String) async throws {
        let namespace = try namespace()
        defer { namespace.remove() }
        let server = Dnsmasq(records: Self.records, in: namespace)
        try server.start()
        defer { server.stop() }
        let both: Set = ["192.0.2.10:0", "[2001:db8::10]:0"]
        for verb in ["addresses", "blocking"] {
            let found = try await probe(engine, verb, "both.peers.test", in: namespace)
            #expect(Set(found.split(separator: " ").map(String.init)) == both, "\(found)")
        }
        let called = try await probe(engine, "client", "both.peers.test", in: namespace)
        #expect(called.hasSuffix(" 1 call") && Set(called.dropLast(7).split(separator: " ").map(String.init)) == both)
        #expect(try await probe(engine, "addresses", "four.peers.test", in: namespace) == "192.0.2.11:0")
        #expect(try await probe(engine, "addresses", "six.peers.test", in: namespace) == "[2001:db8::12]:0")
        #expect(try await probe(engine, "addresses", "b\u{fc}cher.peers.test", in: namespace) == "192.0.2.13:0")
        #expect(try await probe(engine, "addresses", "alias.peers.test", in: namespace) == "192.0.2.11:0")
        // EAI_NONAME is 8 on Darwin, EAI_FAIL 4, EAI_AGAIN 2.
        for verb in ["addresses", "blocking", "client"] {
            #expect(try await probe(engine, verb, "none.peers.test", in: namespace) == "error hostNotFound netDB 8")
        }
        let noData = try await probe(engine, "addresses", "text.peers.test", in: namespace)
        #expect(["error noData netDB 7", "error hostNotFound netDB 8"].contains(noData), "\(noData)")
        #expect(try await probe(engine, "names", "192.0.2.11", in: namespace) == "four.peers.test")
        // The file of hosts comes first, and names the aliases.
        #expect(try await probe(engine, "addresses", "third", in: namespace) == "192.0.2.77:0")
        #expect(try await probe(engine, "names", "192.0.2.77", in: namespace) == "main.peers.test second third")
    }

    /// The system's resolver uses the modules that the machine is configured with: here libnss-mdns, which asks Avahi's daemon.
    // Parity: HR-022 (Avahi)
    @Test func modulesOfTheSystem() async throws {
        let network = try WiredNamespaces()
        defer { network.remove() }
        let (here, there) = (Avahi(hostName: "here", in: network.left), Avahi(hostName: "there", in: network.right))
        for daemon in [here, there] { try daemon.start() }
        defer { for daemon in [here, there] { daemon.stop() } }
        for verb in ["addresses", "blocking", "client"] {
            let found = try await here.run(Self.tool, ["system", verb, "there.local"])
            #expect(found.split(separator: " ").contains { $0.hasPrefix("10.77.5.2:0") }, "\(found)")
        }
        #expect(try await here.run(Self.tool, ["system", "names", "10.77.5.2"], modules: "mdns") == "there.local\n")
        let without = try await here.run(Self.tool, ["system", "addresses", "there.local"], modules: "files")
        #expect(without == "error hostNotFound netDB 8\n")
    }

    // Parity: HR-018, HR-013 (dnsmasq)
    @Test(arguments: engines)
    func failuresOfServers(_ engine: String) async throws {
        // No server, and one that never answers: no host has its address.
        let namespace = try namespace(nameServer: "192.0.2.99", timeout: 1)
        defer { namespace.remove() }
        #expect(try await probe(engine, "cancel", "both.peers.test", in: namespace) == "error cancelled other 125")
        let found = try await probe(engine, "addresses", "both.peers.test", in: namespace)
        #expect(found.hasPrefix("error temporaryFailure") || found.hasPrefix("error timedOut"), "\(found)")
        // dnsmasq refuses names that it does not serve.
        let other = try self.namespace()
        defer { other.remove() }
        let server = Dnsmasq(records: Self.records, in: other)
        try server.start()
        defer { server.stop() }
        let refused = try await probe(engine, "addresses", "www.example.org", in: other)
        #expect(["error serverFailed netDB 4", "error temporaryFailure netDB 2"].contains(refused), "\(refused)")
    }

    // Parity: HR-020 (dnsmasq)
    @Test(arguments: engines)
    func fiftyLookupsShareOneQuery(_ engine: String) async throws {
        let namespace = try namespace()
        defer { namespace.remove() }
        let server = Dnsmasq(records: Self.records, in: namespace)
        try server.start()
        defer { server.stop() }
        // The server answers only when all lookups have begun.
        server.process.pause()
        let probe = LineProgram(Self.tool, [engine, "share", "four.peers.test", "50"], in: namespace)
        try probe.start()
        defer { probe.stop() }
        #expect(await probe.says("begun"), "\(probe.log)")
        server.process.resume()
        #expect(await probe.says("50 1 192.0.2.11:0"), "\(probe.log)")
        // Our own resolver randomizes the case of letters.
        let queries = server.log.lowercased().components(separatedBy: "query[a] four.peers.test").count - 1
        #expect(queries == 1, "\(server.log)")
    }

    // Parity: HR-021 (dnsmasq)
    @Test(arguments: engines)
    func familiesWithoutAnAddressAreLeftOut(_ engine: String) async throws {
        for (addresses, expected) in [
            (["192.0.2.1/24"], "192.0.2.10:0"), (["2001:db8::1/64"], "[2001:db8::10]:0"),
        ] {
            let namespace = try namespace(addresses)
            defer { namespace.remove() }
            let server = Dnsmasq(records: Self.records, in: namespace)
            try server.start()
            defer { server.stop() }
            let found = try await probe(engine, "addresses", "both.peers.test", in: namespace)
            // Our own resolver returns all addresses of the name, the usable ones first.
            #expect(engine == "system" ? found == expected : found.hasPrefix(expected + " "), "\(found)")
        }
    }

    // Parity: HR-024, SK-011 (dnsmasq, socat)
    @Test(arguments: engines)
    func aStreamToAHost(_ engine: String) async throws {
        let namespace = try namespace()
        defer { namespace.remove() }
        let server = Dnsmasq(records: Self.records, in: namespace)
        try server.start()
        defer { server.stop() }
        let echo = Socat(.echo, in: namespace)
        try echo.start()
        defer { echo.stop() }
        let found = try await probe(engine, "stream", "here.peers.test", "\(echo.port)", in: namespace)
        #expect(found == "127.0.0.1:\(echo.port) hello")
    }

    /// Nothing listens at the IPv6 address, and nothing answers at one of the others.
    // Parity: SK-038 (dnsmasq, socat)
    @Test(arguments: engines)
    func anAddressThatFailsIsFollowedByTheNext(_ engine: String) async throws {
        let namespace = try namespace()
        defer { namespace.remove() }
        let server = Dnsmasq(records: Self.records, in: namespace)
        try server.start()
        defer { server.stop() }
        let echo = Socat(.echo, in: namespace)
        try echo.start()
        defer { echo.stop() }
        let found = try await probe(engine, "stream", "dual.peers.test", "\(echo.port)", in: namespace)
        #expect(found == "127.0.0.1:\(echo.port) hello")
    }

    /// A firewall drops all packets to the port: opening has begun when `open()` returns.
    // Parity: SK-020 (nftables)
    @Test func openingDoesNotWaitForAFilteredAddress() async throws {
        let namespace = try NetworkNamespace(
            addresses: ["192.0.2.1/24"],
            setup: [
                "nft add table ip t", "nft 'add chain ip t o { type filter hook output priority 0; }'",
                "nft add rule ip t o tcp dport 9 drop",
            ])
        defer { namespace.remove() }
        #expect(try await probe("system", "open", "192.0.2.99", "9", in: namespace) == "opening timed out")
    }
}
