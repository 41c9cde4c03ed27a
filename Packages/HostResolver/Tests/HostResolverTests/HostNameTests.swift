@_spi(Packages) import HostResolver
import Testing

@Suite struct HostNameTests {
    @Test(arguments: [
        ("www.Example.ORG", "www.example.org", false), ("example.org.", "example.org", true),
        ("localhost", "localhost", false),
        ("_dns-sd._udp.local", "_dns-sd._udp.local", false), ("3com.example", "3com.example", false),
        ("xn--bcher-kva.example", "xn--bcher-kva.example", false), ("a", "a", false),
        ("1.2.3.4.in-addr.arpa", "1.2.3.4.in-addr.arpa", false), ("0xg", "0xg", false),
        ("My-Page-.example", "my-page-.example", false), ("-a.example", "-a.example", false), ("a.-", "a.-", false),
        ("r3---sn-4g5e6nez.example", "r3---sn-4g5e6nez.example", false), ("my_app.example", "my_app.example", false),
    ])
    func acceptsNames(text: String, ascii: String, isFullyQualified: Bool) throws {
        let name = try HostName(text)
        #expect(name.ascii == ascii)
        #expect(name.isFullyQualified == isFullyQualified)
        #expect(name.address == nil)
        #expect(name.description == (isFullyQualified ? ascii + "." : ascii))
    }

    @Test(arguments: ["127.0.0.1", "::1", "fe80::1%eth0", "2001:DB8::1"])
    func recognizesAddresses(text: String) throws {
        let name = try HostName(text)
        #expect(name.address == IPAddress(text))
        #expect(name.labels.isEmpty)
        #expect(name.ascii == IPAddress(text)?.description)
    }

    /// A name contains no user information, port, path or control bytes (CVE-2020-8169 of curl), and is not a number
    /// that `inet_aton` would accept as an address.
    @Test(arguments: [
        "", ".", "..", "a..b", ".a", "a..", "user@host", "user:password@host", "host:80",
        "host/path", "a b", "a\0b", "a\nb", "a%00b", "[::1]", "*.example", "127.1", "0x7f000001", "0x7F.1",
        "2130706433",
        "1.2.3.4.5", "256.256.256.256", "a.0x", "0177.0.0.1", "example.123",
    ])
    func rejectsInvalidNames(text: String) {
        #expect {
            try HostName(text)
        } throws: {
            ($0 as? ResolverError)?.code == .invalidName
        }
    }

    @Test func enforcesTheLimits() throws {
        let label = String(repeating: "a", count: HostName.maximumLabelLength)
        #expect(try HostName(label).ascii == label)
        #expect(throws: ResolverError.self) { try HostName(label + "a") }
        let longest = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")
        #expect(longest.utf8.count == HostName.maximumNameLength)
        #expect(try HostName(longest + ".").ascii == longest)
        #expect(throws: ResolverError.self) { try HostName(longest + "b") }
        #expect(throws: ResolverError.self) { try HostName(String(repeating: "ü.", count: 5000)) }
    }

    /// RFC 5891. The test fails without libidn2, which is present on every machine that can build this package.
    // Parity: HR-023
    @Test(arguments: [
        ("Bücher.example", "xn--bcher-kva.example"), ("straße.example", "xn--strae-oqa.example"),
        ("日本語.example", "xn--wgv71a119e.example"),
        ("bücher.my-page-.example", "xn--bcher-kva.my-page-.example"), ("例。テスト", "xn--fsq.xn--zckzah"),
        ("bu\u{308}cher.example", "xn--bcher-kva.example"),
    ])
    func convertsInternationalNames(text: String, ascii: String) throws {
        #expect(try HostName(text).ascii == ascii)
    }

    @Test func fullWidthDigitsAreAnAddress() throws {
        #expect(try HostName("１２７.０.０.１").address == IPAddress("127.0.0.1"))
    }

    @Test(arguments: ["a\u{200B}\u{FFFF}b.example", "ü\0.example", "xn--ü.example"])
    func rejectsUnconvertibleNames(text: String) {
        #expect(throws: ResolverError.self) { try HostName(text) }
    }
}

@Suite struct URLAuthorityTests {
    @Test(
        arguments: [
            ("http://example.org", "example.org", nil), ("http://example.org:8080/x", "example.org", 8080),
            ("ftp://ann:a@b@example.org:21?q", "example.org", 21), ("http://example.org:#f", "example.org", nil),
            ("http://[2001:db8::1]:443/", "2001:db8::1", 443), ("http://[fe80::1%25eth0]/", "fe80::1%eth0", nil),
            ("http://[fe80::1%eth0]/", "fe80::1%eth0", nil), ("http://%e4%be%8b.test/", "例.test", nil),
            ("http://a:18446744073709551697/", "a", Int.max), ("http://a/b:1", "a", nil), ("http:///x", "", nil),
            ("mailto:ann@example.org", "", nil), ("/x://y", "", nil), ("", "", nil),
            // U+0301 and U+0D4E form one character with the delimiter before or after them.
            ("http://evil.example/\u{301}@good.example", "evil.example", nil),
            ("http://evil.example?\u{301}@good.example:80", "evil.example", nil),
            ("http://evil\u{D4E}/@good.example", "evil\u{D4E}", nil),
            ("http://ann@\u{301}a.example:81", "\u{301}a.example", 81), ("http://a\u{D4E}:81", "a\u{D4E}", 81),
            ("http:/\u{301}/a", "", nil),
        ] as [(String, String, Int?)])
    func reads(_ url: String, _ host: String, _ port: Int?) throws {
        let authority = try URLAuthority(of: url)
        #expect(authority.host == host)
        #expect(authority.port == port)
    }

    @Test(arguments: [
        "http://[example.org]/", "http://[::1", "http://[127.0.0.1]/", "http://[::1]x/", "http://[::1%]/",
        "http://[::%31]/", "http://%41.com/", "http://a%2fb/", "http://a%/", "http://a%e4/", "http://a:b/",
        "http://a:-1/", "http://a:1:2/", "http://a:\u{301}80/", "http://[::1]\u{301}:80/",
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

    @Test func writesAnAddressOfIPv6InBrackets() {
        #expect(
            ["a.test", "127.0.0.1", "2001:db8::1", ""].map(URLAuthority.bracketed) == [
                "a.test", "127.0.0.1", "[2001:db8::1]", "",
            ])
    }

    @Test(arguments: ["http://a_b c/", "http://127.1/", "http://a..b/", "http:///"])
    func rejectsInvalidHosts(_ url: String) throws {
        let authority = try URLAuthority(of: url)
        #expect(throws: ResolverError.self) { try authority.resolvableHost() }
    }
}
