import FoundationEssentials
import HostResolver
import Testing

@testable import NetKit

@Suite struct PlainAuthorityTests {
    @Test(arguments: [
        ("http://example.org/", "example.org", nil), ("https://a/x?y#z", "a", nil),
        ("http://h.example:8080/", "h.example", 8080),
        ("http://127.0.0.1:1/x", "127.0.0.1", 1), ("http://xn--bcher-kva.example?q", "xn--bcher-kva.example", nil),
        ("https://0.0.0.0#f", "0.0.0.0", nil),
    ])
    func plain(_ url: String, _ host: String, _ port: UInt16?) throws {
        let parsed = try #require(URL(string: url))
        let plain = try #require(PlainAuthority(parsed))
        #expect(plain.host == host)
        #expect(plain.port == port)
        #expect(plain.isSecure == url.hasPrefix("https"))
    }

    /// All of these are for the long way, which refuses some.
    @Test(arguments: [
        "HTTP://example.org/", "http://Example.org/", "http://user@example.org/", "http://[::1]/", "http://127.1/",
        "http://1.2.3.04/", "http://1.2.3.256/", "http://0x7f.1/", "http://a.1/", "http://a..b/", "http://a-.b/",
        "http://-a.b/", "http://a.b./", "http://b%C3%BCcher.example/", "http://a:0/", "http://a:65536/", "http://a:/",
        "http://a:080/", "ftp://example.org/", "https:///x/yyyyy", "http://a_b.example/",
    ])
    func notPlain(_ url: String) throws {
        guard let url = URL(string: url) else { return }
        #expect(PlainAuthority(url) == nil)
    }

    /// What is taken here, the long way takes, too.
    @Test(arguments: ["example.org", "a", "127.0.0.1", "255.255.255.255", "a1.b2-c3.d", "xn--bcher-kva.example"])
    func agrees(_ host: String) throws {
        #expect(throws: Never.self) { _ = try HostName(host) }
    }
}
