import Foundation
import Peers
import Testing

/// The passive status in network namespaces: what it does not send, and what a stream adds to it.
@Suite(.serialized, .timeLimit(.minutes(5))) struct PassiveStatusPeerTests {
    private static let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("diagnose-here").path

    /// A host with a default route. IPv6 is off, because the kernel itself sends packets of it.
    private static func host(_ setup: [String] = [], nameServer: String = "127.0.0.1") throws -> NetworkNamespace {
        let silence = "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1"
        return try NetworkNamespace(
            addresses: ["192.0.2.1/24"], setup: [silence, "ip route add default via 192.0.2.254"] + setup,
            files: ["/etc/resolv.conf": "nameserver \(nameServer)\noptions timeout:1 attempts:1\n"])
    }

    private static func run(_ words: String..., in host: NetworkNamespace) async throws -> String {
        let result = try await Command(Program(tool, package: ""), words, in: host).run()
        return result.text.trimmingCharacters(in: .newlines)
    }

    /// The packets that each interface has sent and received, as the kernel counts them.
    private static func counters(of host: NetworkNamespace) async throws -> [String: [Int]] {
        let table = try await Command(Program("cat", package: "coreutils"), ["/proc/net/dev"], in: host).run().text
        var counters: [String: [Int]] = [:]
        for line in table.split(separator: "\n").dropFirst(2) {
            let fields = line.split(whereSeparator: { $0 == " " || $0 == ":" })
            // NAME, received: bytes, packets, six others; sent: bytes, packets …
            guard fields.count > 10 else { continue }
            counters[String(fields[0])] = [2, 10].compactMap { Int(fields[$0]) }
        }
        return counters
    }

    // Parity: ND-007 (Linux, tshark)
    @Test("ND-007: no packet is sent, not even to look up a name")
    func noPacketIsSent() async throws {
        let host = try Self.host(nameServer: "192.0.2.53")
        defer { host.remove() }
        let observer = Tshark("", fields: ["frame.protocols"], interface: "any", in: host)
        try observer.start()
        defer { observer.stop() }
        let before = try await Self.counters(of: host)
        #expect(Set(before.keys) == ["lo", "outside", "far"] && before.values.allSatisfy { $0.count == 2 })
        for url in ["passive:///", "passive://192.0.2.77/", "passive://198.51.100.7/", "passive://192.0.2.1/"] {
            #expect(try await Self.run(url, in: host) == "up", "\(url)")
        }
        for url in ["http://www.peers.test/", "https://192.0.2.77/", "ftp://198.51.100.7/", "http://127.0.0.1:9/"] {
            #expect(try await Self.run("--passive", url, in: host) == "up", "\(url)")
        }
        #expect(try await Self.counters(of: host) == before)
        // The packets of an active diagnosis are counted and observed.
        _ = try await Self.run("http://192.0.2.77/", in: host)
        #expect(try await Self.counters(of: host) != before)
        #expect(await observer.sees { !$0.isEmpty })
        #expect(observer.packets.first?["frame.protocols"]?.contains("arp") == true, "\(observer.log)")
    }

    // Parity: ND-011 (dnsmasq, Linux, nftables)
    @Test("ND-011: a failed lookup, an unreachable host and a timeout lower the status, a refusal does not")
    func failedStreams() async throws {
        let host = try Self.host([
            "nft add table ip t", "nft 'add chain ip t o { type filter hook output priority 0; }'",
            "nft add rule ip t o tcp dport 9 drop", "ip address add 192.0.2.2/24 dev outside",
        ])
        defer { host.remove() }
        let server = Dnsmasq(records: [.a("silent.peers.test", "192.0.2.77")], in: host)
        try server.start()
        defer { server.stop() }
        for (url, result) in [
            ("http://absent.peers.test/", "up\nindeterminate 12 "),
            ("http://silent.peers.test/", "up\nindeterminate 1 113"),
            ("http://192.0.2.2:9/", "up\nindeterminate 1 110"), ("http://192.0.2.2:10/", "up\nup 1 111"),
        ] {
            let output = try await Self.run("--passive-stream", url, in: host)
            #expect(output.hasPrefix(result), "\(url): \(output)")
        }
    }

    // Parity: ND-011 (Linux, socat)
    @Test("ND-011: a connected stream makes the status up, whatever the link says")
    func connectedStreams() async throws {
        let network = try WiredNamespaces()
        defer { network.remove() }
        let echo = Socat(.echo, at: "10.77.5.1", in: network.left)
        try echo.start()
        defer { echo.stop() }
        let url = "http://10.77.5.1:\(echo.port)/"
        #expect(
            try await Self.run("--passive-stream", url, "ip link set eth0 down", in: network.right)
                == "up\nup connected")
        #expect(try await Self.run("--passive", url, in: network.right) == "down")
    }
}
