import HostResolver
import Testing

@Suite struct URLAuthorityTests {
    @Test(
        arguments: [
            ("http://example.org", "example.org", nil), ("http://example.org:8080/x", "example.org", 8080),
            ("ftp://ann:a@b@example.org:21?q", "example.org", 21), ("http://example.org:#f", "example.org", nil),
            ("http://[2001:db8::1]:443/", "2001:db8::1", 443), ("http://[fe80::1%25eth0]/", "fe80::1%eth0", nil),
            ("http://[fe80::1%eth0]/", "fe80::1%eth0", nil), ("http://%e4%be%8b.test/", "例.test", nil),
            ("http://a:18446744073709551697/", "a", Int.max), ("http://a/b:1", "a", nil), ("http:///x", "", nil),
            ("mailto:ann@example.org", "", nil), ("/x://y", "", nil), ("", "", nil),
        ] as [(String, String, Int?)])
    func reads(_ url: String, _ host: String, _ port: Int?) throws {
        let authority = try URLAuthority(of: url)
        #expect(authority.host == host)
        #expect(authority.port == port)
    }

    @Test(arguments: [
        "http://[example.org]/", "http://[::1", "http://[127.0.0.1]/", "http://[::1]x/", "http://[::1%]/",
        "http://[::%31]/", "http://%41.com/", "http://a%2fb/", "http://a%/", "http://a%e4/", "http://a:b/",
        "http://a:-1/", "http://a:1:2/",
    ])
    func rejects(_ url: String) {
        let error = #expect(throws: ResolverError.self) { try URLAuthority(of: url) }
        #expect(error?.code == .invalidName)
    }

    @Test(arguments: [
        ("http://Example.ORG./", "example.org"), ("http://[2001:DB8::1]/", "2001:db8::1"),
        ("http://127.0.0.1/", "127.0.0.1"),
    ])
    func returnsTheResolvableHost(_ url: String, _ host: String) throws {
        #expect(try URLAuthority(of: url).resolvableHost() == host)
    }

    @Test(arguments: ["http://a_b c/", "http://127.1/", "http://-a/", "http:///"])
    func rejectsInvalidHosts(_ url: String) throws {
        let authority = try URLAuthority(of: url)
        #expect(throws: ResolverError.self) { try authority.resolvableHost() }
    }
}
