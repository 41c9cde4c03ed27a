import DNSWire
import Glibc
import Testing

@testable import HostResolver

@Suite struct ResolverConfigurationTests {
    @Test func parsesACompleteFile() {
        let configuration = ResolverConfiguration(
            parsing: """
                # made by hand
                ; also a comment
                nameserver 192.0.2.53
                nameserver 2001:db8::53
                nameserver fe80::1%eth0 
                nameserver not-an-address
                nameserver
                domain old.example
                search example.org  sub.example.org\texample.org
                options ndots:3 timeout:2 attempts:4 rotate edns0 trust-ad use-vc no-tld-query unknown:5 ndots:x
                sortlist 192.0.2.0/24
                """)
        #expect(
            configuration.servers.map(\.description) == ["192.0.2.53:53", "[2001:db8::53]:53", "[fe80::1%eth0]:53"])
        #expect(configuration.search == [DNSName("example.org")!, DNSName("sub.example.org")!])
        #expect(configuration.dotsBeforeSearch == 3)
        #expect(configuration.timeout == .seconds(2))
        #expect(configuration.attempts == 4)
        #expect(configuration.rotatesServers && configuration.trustsAuthenticatedData && configuration.usesTCPOnly)
        #expect(configuration.usesEDNS && configuration.skipsTopLevelQueries)
    }

    /// Line ends and spaces are those of ASCII: text in other scripts cannot end a comment.
    @Test func readsLinesAsTheSystemDoes() {
        for separator in ["\u{85}", "\u{2028}", "\u{2029}"] {
            let text = "# by hand\(separator)nameserver 192.0.2.66\r\nnameserver 192.0.2.53\r\nsearch a.example\r\n"
            let configuration = ResolverConfiguration(parsing: text)
            #expect(configuration.servers.map(\.description) == ["192.0.2.53:53"])
            #expect(configuration.search == [DNSName("a.example")!])
            #expect(AddressPolicy(parsing: "# by hand\(separator)precedence ::/0 9\r\n") == .standard)
        }
        #expect(ResolverConfiguration(parsing: "nameserver\u{A0}192.0.2.66").isFallback)
        #expect(AddressPolicy(parsing: "precedence ::/0 9\r\n") != .standard)
    }

    @Test func anEmptyFileMeansTheServerOnThisMachine() {
        let configuration = ResolverConfiguration(parsing: "")
        #expect(configuration.servers == [.ip(.v4(.loopback), port: 53)])
        #expect(configuration.isFallback)
        #expect(!ResolverConfiguration(parsing: "nameserver 127.0.0.1").isFallback)
        #expect(configuration.search.isEmpty)
        #expect(
            configuration.dotsBeforeSearch == 1 && configuration.attempts == 2 && configuration.timeout == .seconds(5))
    }

    @Test(arguments: [
        ("ndots:99", 15), ("ndots:-1", 1), ("ndots:0", 0), ("ndots:", 1), ("ndots", 1),
        ("ndots:99999999999999999999", 1),
    ])
    func clampsDots(option: String, dots: Int) {
        #expect(ResolverConfiguration(parsing: "options " + option).dotsBeforeSearch == dots)
    }

    @Test func clampsTimes() {
        let configuration = ResolverConfiguration(parsing: "options timeout:900 attempts:900")
        #expect(configuration.timeout == .seconds(30) && configuration.attempts == 5)
    }

    @Test func boundsItsLists() {
        let servers = (0..<100).map { "nameserver 192.0.2.\($0)" }.joined(separator: "\n")
        let search = "search " + (0..<100).map { "d\($0).example" }.joined(separator: " ")
        let configuration = ResolverConfiguration(parsing: servers + "\n" + search)
        #expect(configuration.servers.count == ResolverConfiguration.maximumServers)
        #expect(configuration.search.count == ResolverConfiguration.maximumSearchDomains)
    }

    @Test func usesTheHostsDomainWithoutASearchList() {
        #expect(ResolverConfiguration(parsing: "", hostName: "pc.example.net").search == [DNSName("example.net")!])
        #expect(ResolverConfiguration(parsing: "", hostName: "pc").search.isEmpty)
        #expect(ResolverConfiguration(parsing: "search .", hostName: "pc.example.net").search.isEmpty)
        #expect(ResolverConfiguration(parsing: "search a b\ndomain c").search == [DNSName("c")!])
    }

    @Test func theEnvironmentOverridesTheFile() {
        let configuration = ResolverConfiguration(
            parsing: "search file.example\noptions ndots:2 timeout:9", localDomain: "env.example", options: "ndots:4")
        #expect(configuration.search == [DNSName("env.example")!])
        #expect(configuration.dotsBeforeSearch == 4 && configuration.timeout == .seconds(9))
    }

    @Test(arguments: [
        ("www", 1, ["www.a.", "www.b.", "www."]), ("www.x", 1, ["www.x.", "www.x.a.", "www.x.b."]),
        ("www.x", 2, ["www.x.a.", "www.x.b.", "www.x."]), ("www.", 1, ["www."]),
        ("www", 0, ["www.", "www.a.", "www.b."]),
        ("192.0.2.1", 1, []),
    ])
    func listsCandidates(host: String, dots: Int, names: [String]) throws {
        var configuration = ResolverConfiguration(servers: [], search: [DNSName("a")!, DNSName("b")!])
        configuration.dotsBeforeSearch = dots
        #expect(configuration.candidates(for: try HostName(host)).map(\.description) == names)
    }

    @Test func canSkipTopLevelQueries() throws {
        var configuration = ResolverConfiguration(servers: [], search: [DNSName("a")!])
        configuration.skipsTopLevelQueries = true
        #expect(configuration.candidates(for: try HostName("www")).map(\.description) == ["www.a."])
    }

    /// CVE-2024-25629 of c-ares: a read before the beginning of a line.
    @Test func survivesRandomFiles() {
        var random = SeededRandom(seed: 4)
        let words = [
            "nameserver", "search", "domain", "options", "ndots:", "timeout:-1", "\0", "\n", " ", "\t", "%", "::1",
            "a.b", "#", ";", "é",
        ]
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0...30, using: &random)).map { _ in words.randomElement(using: &random)! }
                .joined()
            _ = ResolverConfiguration(parsing: text, hostName: text, localDomain: text, options: text)
            _ = HostsFile(parsing: text)
            _ = AddressPolicy(parsing: text)
        }
    }
}

@Suite struct HostsFileTests {
    private let hosts = HostsFile(
        parsing: """
            127.0.0.1\tlocalhost
            ::1 localhost ip6-localhost
            # 192.0.2.1 commented.example
            192.0.2.7   www.Example.org www  # the old one
            192.0.2.8 www.example.org
            192.0.2.7 late.example
            fe80::1%eth0 link.example
            300.1.1.1 bad.example
            192.0.2.9
            192.0.2.10 192.0.2.11 ok.example bad..name
            192.0.2.12 crlf.example\r
            """)

    // Parity: HR-022
    @Test(arguments: [
        ("localhost", ["127.0.0.1", "::1"]), ("WWW.example.ORG", ["192.0.2.7", "192.0.2.8"]), ("www.", ["192.0.2.7"]),
        ("commented.example", []), ("the", []), ("bad.example", []), ("link.example", ["fe80::1%eth0"]),
        ("ok.example", ["192.0.2.10"]), ("192.0.2.11", []), ("crlf.example", ["192.0.2.12"]), ("", []),
    ])
    func findsAddresses(name: String, addresses: [String]) {
        #expect(hosts.addresses(of: name).map(\.description) == addresses)
    }

    // Parity: HR-015
    @Test(arguments: [
        ("192.0.2.7", ["www.example.org", "www", "late.example"]), ("::1", ["localhost", "ip6-localhost"]),
        ("192.0.2.9", []), ("192.0.2.99", []),
    ])
    func findsNames(address: String, names: [String]) {
        #expect(hosts.names(of: IPAddress(address)!) == names)
    }

    /// Lists of this length block advertisements. Each name was once compared with all names before it, which took minutes. The limit is one
    /// of the processor's time, of which this needs a tenth.
    @Test func readsABlockList() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 60, rlim_max: 60)
            setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
            let lines = (0..<100_000).map { "0.0.0.0 host\($0).advertisements.example\n" }.joined()
            let hosts = HostsFile(parsing: lines)
            #expect(hosts.names(of: IPAddress("0.0.0.0")!).count == 100_000)
            #expect(hosts.addresses(of: "host99999.advertisements.example") == [IPAddress("0.0.0.0")!])
        }
    }

    @Test func limitsTheAddressesOfOneName() {
        let lines = (0..<200).map { "192.0.2.\($0) many.example\n" }.joined()
        #expect(HostsFile(parsing: lines).addresses(of: "many.example").count == 128)
    }
}
