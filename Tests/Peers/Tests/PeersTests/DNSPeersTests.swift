import Peers
import Testing

/// The DNS servers, tested with dig.
@Suite struct DNSPeersTests {
    static let records: [DNSRecord] =
        [
            .a("www.peers.test", "192.0.2.1"), .aaaa("www.peers.test", "2001:db8::1"),
            .cname("alias.peers.test", "www.peers.test"),
            .srv("_http._tcp.peers.test", priority: 10, weight: 20, port: 8080, "www.peers.test"),
            .txt("text.peers.test", "hello world", "a \"quoted\" word"), .mx("peers.test", 5, "www.peers.test"),
            .ptr(address: "192.0.2.1", "www.peers.test"),
        ] + DNSRecord.bigTXT("big.peers.test", count: 3000)
    static let servers: [any Peer] = [Dnsmasq(records: records), Unbound(records: records)]

    private func dig(_ port: Int, _ arguments: String...) async throws -> String {
        let fixed = ["@127.0.0.1", "-p", "\(port)", "+tries=1", "+time=5"]
        let result = try await Command(Program("dig", package: "bind9-dnsutils"), fixed + arguments).run()
        return result.text + result.errors
    }

    @Test(arguments: [0, 1])
    func serves(index: Int) async throws {
        let server = Self.servers[index]
        try server.start()
        defer { server.stop() }
        let port = server.port
        #expect(try await dig(port, "+short", "www.peers.test") == "192.0.2.1\n")
        #expect(try await dig(port, "+short", "www.peers.test", "AAAA") == "2001:db8::1\n")
        #expect(try await dig(port, "+short", "alias.peers.test") == "www.peers.test.\n192.0.2.1\n")
        #expect(try await dig(port, "+short", "_http._tcp.peers.test", "SRV") == "10 20 8080 www.peers.test.\n")
        #expect(
            try await dig(port, "+short", "text.peers.test", "TXT") == "\"hello world\" \"a \\\"quoted\\\" word\"\n")
        #expect(try await dig(port, "+short", "peers.test", "MX") == "5 www.peers.test.\n")
        #expect(try await dig(port, "+short", "-x", "192.0.2.1") == "www.peers.test.\n")
        #expect(try await dig(port, "nothing.peers.test").contains("status: NXDOMAIN"))
        #expect(try await dig(port, "+tcp", "+short", "www.peers.test") == "192.0.2.1\n")
        let truncated = try await dig(port, "+ignore", "+noedns", "big.peers.test", "TXT")
        #expect(truncated.contains(" tc"))
        let whole = try await dig(port, "+short", "big.peers.test", "TXT")
        #expect(whole.filter { $0.isLetter || $0.isNumber }.count == 3000)

        server.stop()
        #expect(PortPool.isFree(port))
    }

    @Test func answersTheCLibraryInANamespace() async throws {
        let namespace = try NetworkNamespace(
            addresses: ["10.77.9.1/24", "2001:db8:9::1/64"],
            files: ["/etc/resolv.conf": "nameserver 127.0.0.1\n", "/etc/nsswitch.conf": "hosts: files dns\n"])
        for server in [Dnsmasq(records: Self.records, in: namespace), Unbound(records: Self.records, in: namespace)]
            as [any Peer]
        {
            try server.start()
            defer { server.stop() }
            let result = try await Command(Program("getent"), ["ahostsv6", "www.peers.test"], in: namespace).run()
            #expect(result.text.contains("2001:db8::1"), "\(result)")
            let reverse = try await Command(Program("getent"), ["hosts", "192.0.2.1"], in: namespace).run()
            #expect(reverse.text.contains("www.peers.test"), "\(reverse)")
        }
    }
}
