import HostResolver
import Testing

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

    @Test(arguments: [
        ("localhost", ["127.0.0.1", "::1"]), ("WWW.example.ORG", ["192.0.2.7", "192.0.2.8"]), ("www.", ["192.0.2.7"]),
        ("commented.example", []), ("the", []), ("bad.example", []), ("link.example", ["fe80::1%eth0"]),
        ("ok.example", ["192.0.2.10"]), ("192.0.2.11", []), ("crlf.example", ["192.0.2.12"]), ("", []),
    ])
    func findsAddresses(name: String, addresses: [String]) {
        #expect(hosts.addresses(of: name).map(\.description) == addresses)
    }

    @Test(arguments: [
        ("192.0.2.7", ["www.example.org", "www", "late.example"]), ("::1", ["localhost", "ip6-localhost"]),
        ("192.0.2.9", []), ("192.0.2.99", []),
    ])
    func findsNames(address: String, names: [String]) {
        #expect(hosts.names(of: IPAddress(address)!) == names)
    }
}
