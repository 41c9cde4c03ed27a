import Testing

@testable import StreamKit
@testable import StreamProxies

@Suite("SK-128: hosts without a proxy") struct ProxyBypassTests {
    @Test(
        "no_proxy",
        arguments: [
            (
                "example.org", "example.org www.example.org WWW.Example.ORG. a.b.example.org",
                "nonexample.org example.com org"
            ),
            (".example.org", "example.org www.example.org", "nonexample.org"),
            ("*.example.org", "www.example.org a.b.example.org", "example.org nonexample.org"),
            ("www.*.org", "www.a.org www.a.b.org www..org", "www.org www.a.orgs a.www.a.org"),
            ("example.org.", "example.org. example.org", "example.com"),
            (" a.test ,\tb.test,,", "a.test b.test x.b.test", "c.test"),
            ("*", "a 1.2.3.4 ::1", ""),
            ("192.0.2.7", "192.0.2.7 ::ffff:192.0.2.7", "192.0.2.70 1.192.0.2.7 x.192.0.2.7.test"),
            ("192.0.2.0/24", "192.0.2.0 192.0.2.255 [::ffff:192.0.2.9]", "192.0.3.0 ::192.0.2.1 a.192.0.2.1.test"),
            ("10/8,169.254/16", "10.255.0.1 169.254.9.9", "11.0.0.0 169.255.0.1"),
            ("10.1.*", "10.1.2.3", "10.10.2.3 10.2.1.1"),
            ("0/0", "1.2.3.4", "::1 a"),
            ("::/0", "::1 2001:db8::1", "1.2.3.4 a"),
            ("2001:db8::/33", "2001:db8:7fff::1 [2001:DB8::1]", "2001:db8:8000::"),
            ("[2001:db8::]/32", "2001:db8::1", "2001:db9::1"),
            ("fe80::1", "fe80::1%eth0 fe80::1", "fe80::2"),
            ("::1/128", "::1", "::2 ::"),
            ("<local>", "intranet", "a.b 1.2.3.4 ::1"),
            // U+0D4E forms one character with the comma after it.
            ("b\u{D4E},a.test", "a.test", "c.test"),
            ("bücher.example", "BÜCHER.example xn--bcher-kva.example www.bücher.example", "bucher.example"),
        ])
    func noProxy(_ rules: String, _ covered: String, _ others: String) {
        let list = ProxyBypassList(noProxy: rules)
        #expect(list.unreadable == [])
        for host in covered.split(separator: " ") { #expect(list.covers(host: String(host)), "\(host)") }
        for host in others.split(separator: " ") { #expect(!list.covers(host: String(host)), "\(host)") }
    }

    @Test(
        "ports",
        arguments: [
            ("example.org:8080", "www.example.org"), ("192.0.2.7:8080", "192.0.2.7"),
            ("[2001:db8::1]:8080", "2001:db8::1"),
            ("*:8080", "a"), (".example.org:8080", "a.example.org"), ("<local>:8080", "a"),
        ])
    func ports(_ rule: String, _ host: String) {
        let list = ProxyBypassList(noProxy: rule)
        #expect(list.covers(host: host, port: 8080))
        #expect(!list.covers(host: host, port: 80))
        #expect(!list.covers(host: host))
    }

    @Test("an exceptions list names hosts, not domains")
    func exceptions() {
        let list = ProxyBypassList(exceptions: ["Example.org", ".a.test", "*.b.test", " 10/8 "])
        #expect(list.covers(host: "example.org") && !list.covers(host: "www.example.org"))
        #expect(list.covers(host: "x.a.test") && !list.covers(host: "a.test"))
        #expect(list.covers(host: "x.b.test") && !list.covers(host: "b.test"))
        #expect(list.covers(host: "10.1.1.1"))
        #expect(list.rules.map(\.description) == ["Example.org", ".a.test", "*.b.test", "10/8"])
    }

    @Test("a carriage return around an element is a blank, and within one it is invalid")
    func carriageReturns() {
        for list in [
            ProxyBypassList(exceptions: ["a.test\r", "\r\t10/8 ", "b\rc"]),
            ProxyBypassList(noProxy: "a.test\r,\r\t10/8 ,b\rc"),
        ] {
            #expect(list.rules.map(\.description) == ["a.test", "10/8"] && list.unreadable == ["b\rc"])
            #expect(list.covers(host: "a.test") && list.covers(host: "10.1.1.1"))
        }
    }

    @Test(
        "an invalid element covers nothing and is reported",
        arguments: [
            "a b", "192.0.2.0/33", "192.0.2.0/-1", "192.0.2.0/", "::/129", "[::1", "[a]", "a:b", "a:65536", "a/8",
            "http://a", "fe80::1%eth0", "1.2.3.4.5/8", "/8", ":80", ".", "a\u{1}b",
        ])
    func unreadable(_ text: String) {
        let list = ProxyBypassList(noProxy: "x.test,\(text)")
        #expect(list.unreadable == [text])
        #expect(list.rules.map(\.text) == ["x.test"])
    }

    @Test("the time for a pattern of many stars is linear in each length")
    func manyStars() {
        let list = ProxyBypassList(noProxy: String(repeating: "*a", count: 500) + "b")
        #expect(!list.covers(host: String(repeating: "a", count: 10_000)))
    }
}
