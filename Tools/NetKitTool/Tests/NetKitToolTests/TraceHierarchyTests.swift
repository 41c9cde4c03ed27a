import Peers
import Testing

/// `resolve --trace` through a root, two zones below it and the zones below these, each with name servers of its own (NSD), and a
/// recursive server (unbound) that the machine is configured to use.
@Suite(.serialized) struct TraceHierarchyTests {
    /// The servers of the hierarchy; they end with the value.
    private final class Hierarchy {
        let namespace: NetworkNamespace
        /// The DS records of the signed zones.
        let delegations: [String: String]
        private var servers: [any Peer] = []

        /// 127.0.1.1 serves the root, .2 `test`, .3 `example`, .4 zones below `test`, .5 `host.example` and others; .9 has no
        /// server, and .8 does not answer.
        init() throws {
            namespace = try NetworkNamespace(
                addresses: ["10.77.9.1/24"],
                setup: [
                    "nft add table ip lab", "nft add chain ip lab in '{ type filter hook input priority 0; }'",
                    "nft add rule ip lab in ip daddr 127.0.1.8 drop",
                ],
                files: ["/etc/resolv.conf": "nameserver 127.0.0.1\n", "/etc/nsswitch.conf": "hosts: files dns\n"])
            let signed = try DNSZone(
                "signed.test", [.ns("signed.test", "ns.peers.test"), .a("www.signed.test", "192.0.2.9")]
            ).signed()
            let test = try DNSZone(
                "test",
                [
                    .ns("test", "ns.test"), .a("ns.test", "127.0.1.2"), .ns("peers.test", "ns.peers.test"),
                    .a("ns.peers.test", "127.0.1.4"), .ns("signed.test", "ns.peers.test"),
                    // The server's address is in another zone.
                    .ns("glueless.test", "ns.host.example"),
                    // The first servers, whose addresses are known, do not serve the zone, or do not answer; the second one does.
                    .ns("lame.test", "ns.test"), .ns("lame.test", "ns.host.example"),
                    .ns("refused.test", "ns.peers.test"), .ns("refused.test", "ns.host.example"),
                    .ns("dead.test", "none.test"), .a("none.test", "127.0.1.9"), .ns("dead.test", "ns.host.example"),
                    .ns("silent.test", "mute.test"), .a("mute.test", "127.0.1.8"),
                    .ns("silent.test", "ns.host.example"), .ns("alone.test", "none.test"),
                ] + signed.delegation
            ).signed()
            let root = try DNSZone(
                "",
                [
                    .ns("", "a.root"), .a("a.root", "127.0.1.1"), .ns("test", "ns.test"),
                    .a("ns.test", "127.0.1.2"), .ns("example", "ns.example"), .a("ns.example", "127.0.1.3"),
                ] + test.delegation
            ).signed()
            let example = DNSZone(
                "example",
                [
                    .ns("example", "ns.example"), .a("ns.example", "127.0.1.3"),
                    .ns("host.example", "ns.host.example"), .a("ns.host.example", "127.0.1.5"),
                    .a("target.example", "192.0.2.7"),
                ])
            let peers = DNSZone(
                "peers.test",
                [
                    .ns("peers.test", "ns.peers.test"), .a("ns.peers.test", "127.0.1.4"),
                    .a("www.peers.test", "192.0.2.1"), .cname("alias.peers.test", "target.example"),
                ] + DNSRecord.bigTXT("big.peers.test", count: 3000))
            let host = DNSZone(
                "host.example", [.ns("host.example", "ns.host.example"), .a("ns.host.example", "127.0.1.5")])
            let others = ["glueless", "lame", "refused", "dead", "silent"].map {
                DNSZone("\($0).test", [.ns("\($0).test", "ns.host.example"), .a("www.\($0).test", "192.0.2.3")])
            }
            delegations = Dictionary(
                uniqueKeysWithValues: [test, signed].map { ($0.name, $0.delegationText ?? "") })
            try start(NSD([root], on: "127.0.1.1", in: namespace))
            try start(NSD([test], on: "127.0.1.2", in: namespace))
            try start(NSD([example], on: "127.0.1.3", in: namespace))
            try start(NSD([peers, signed], on: "127.0.1.4", in: namespace))
            try start(NSD([host] + others, on: "127.0.1.5", in: namespace))
            try start(Unbound(rootServers: ["127.0.1.1"], in: namespace))
        }

        deinit {
            for server in servers { server.stop() }
            namespace.remove()
        }

        private func start(_ server: some Peer) throws {
            servers.append(server)
            try server.start()
        }

        /// Runs a trace; returns its lines without times.
        func trace(_ name: String, _ options: String...) async throws -> (status: Int32, lines: [String]) {
            let run = try await Tool.run(["resolve", "--trace"] + options + [name], in: namespace)
            let lines = run.text.split(separator: "\n").map { line in
                line.hasPrefix("  from ") ? line.prefix { $0 != ")" } + ")" : line
            }
            return (run.status, lines.map { $0.trimmingPrefix("  ") }.map(String.init))
        }

        func dig(_ name: String, _ options: String...) async throws -> String {
            let program = Program("dig", package: "bind9-dnsutils")
            return try await Command(program, ["+trace", "+time=1", name] + options, in: namespace).run().text
        }
    }

    private static let root = [
        "test.  NS ns.test.", "test.  DS $test", "from 127.0.1.1:53 (a.root.)",
    ]

    /// The lines after the root's referral, and the exit status.
    private static let paths: [(name: String, status: Int32, lines: [String])] = [
        (
            "www.peers.test", 0,
            [
                "peers.test.  NS ns.peers.test.", "from 127.0.1.2:53 (ns.test.)",
                "www.peers.test.  A 192.0.2.1  TTL 300",
                "from 127.0.1.4:53 (ns.peers.test.)",
            ]
        ),
        (
            "www.signed.test", 0,
            [
                "signed.test.  NS ns.peers.test.", "signed.test.  DS $signed", "from 127.0.1.2:53 (ns.test.)",
                "www.signed.test.  A 192.0.2.9  TTL 300", "from 127.0.1.4:53 (ns.peers.test.)",
            ]
        ),
        (
            "www.glueless.test", 0,
            [
                "glueless.test.  NS ns.host.example.", "from 127.0.1.2:53 (ns.test.)",
                "www.glueless.test.  A 192.0.2.3  TTL 300", "from 127.0.1.5:53 (ns.host.example.)",
            ]
        ),
        (
            "www.lame.test", 0,
            [
                "lame.test.  NS ns.test. ns.host.example.", "from 127.0.1.2:53 (ns.test.)",
                "a referral to lame.test., which does not lead to the name", "from 127.0.1.2:53 (ns.test.)",
                "www.lame.test.  A 192.0.2.3  TTL 300", "from 127.0.1.5:53 (ns.host.example.)",
            ]
        ),
        (
            "www.refused.test", 0,
            [
                "refused.test.  NS ns.peers.test. ns.host.example.", "from 127.0.1.2:53 (ns.test.)",
                "response code REFUSED", "from 127.0.1.4:53 (ns.peers.test.)",
                "www.refused.test.  A 192.0.2.3  TTL 300", "from 127.0.1.5:53 (ns.host.example.)",
            ]
        ),
        (
            "www.dead.test", 0,
            [
                "dead.test.  NS none.test. ns.host.example.", "from 127.0.1.2:53 (ns.test.)",
                "cannot be reached: Connection refused", "from 127.0.1.9:53 (none.test.)",
                "www.dead.test.  A 192.0.2.3  TTL 300", "from 127.0.1.5:53 (ns.host.example.)",
            ]
        ),
        (
            "www.silent.test", 0,
            [
                "silent.test.  NS mute.test. ns.host.example.", "from 127.0.1.2:53 (ns.test.)", "no answer",
                "from 127.0.1.8:53 (mute.test.)", "www.silent.test.  A 192.0.2.3  TTL 300",
                "from 127.0.1.5:53 (ns.host.example.)",
            ]
        ),
        // As dig does, the trace ends at an alias in another zone.
        (
            "alias.peers.test", 0,
            [
                "peers.test.  NS ns.peers.test.", "from 127.0.1.2:53 (ns.test.)",
                "alias.peers.test.  CNAME target.example.  TTL 300", "from 127.0.1.4:53 (ns.peers.test.)",
            ]
        ),
        (
            "nothing.peers.test", 6,
            [
                "peers.test.  NS ns.peers.test.", "from 127.0.1.2:53 (ns.test.)", "no such name",
                "from 127.0.1.4:53 (ns.peers.test.)", "netkit: no such host: nothing.peers.test.",
            ]
        ),
        (
            "www.alone.test", 7,
            [
                "alone.test.  NS none.test.", "from 127.0.1.2:53 (ns.test.)",
                "cannot be reached: Connection refused", "from 127.0.1.9:53 (none.test.)",
                "netkit: DNS server 127.0.1.9:53 cannot be reached",
            ]
        ),
    ]

    @Test("From a root of real name servers to the answer") func hierarchy() async throws {
        let hierarchy = try Hierarchy()
        for path in Self.paths {
            let trace = try await hierarchy.trace(path.name)
            let expected = (Self.root + path.lines).map { line in
                line.replacing("$test", with: hierarchy.delegations["test"] ?? "")
                    .replacing("$signed", with: hierarchy.delegations["signed.test"] ?? "")
            }
            #expect(trace.lines == expected && trace.status == path.status, "\(path.name)")
        }
        // dig asks for the same, and shows the same DS records and the same answer.
        let dig = try await hierarchy.dig("www.signed.test").filter { !$0.isWhitespace }
        for records in hierarchy.delegations.values {
            #expect(dig.contains(records.filter { !$0.isWhitespace }.uppercased()), "\(dig)")
        }
        #expect(dig.contains("www.signed.test.300INA192.0.2.9"), "\(dig)")

        let json = try await Tool.run(["resolve", "--trace", "--json", "www.signed.test"], in: hierarchy.namespace)
        #expect(json.output.contains(#""ds":["\#(hierarchy.delegations["signed.test"] ?? "")"]"#), "\(json.text)")

        // Truncated over UDP, complete over TCP.
        let big = try await hierarchy.trace("big.peers.test", "--type", "TXT")
        #expect(big.lines.count { $0.hasPrefix("big.peers.test.  TXT ") } == 15, "\(big)")
    }
}
