import FoundationEssentials
import HostResolver
import StreamKit
import Testing

@testable import HTTPStream

@Suite struct HTTPOriginTests {
    @Test(arguments: [
        ("http://example.org", "http", "example.org", 80), ("HTTPS://Example.ORG/x", "https", "example.org", 443),
        ("http://127.0.0.1:8080/", "http", "127.0.0.1", 8080), ("http://[2001:DB8::1]/", "http", "2001:db8::1", 80),
        ("https://user:pass@h.example:1/?q#f", "https", "h.example", 1),
    ])
    func parts(_ url: String, _ scheme: String, _ host: String, _ port: Int) throws {
        let origin = try HTTPOrigin(#require(URL(string: url)))
        #expect(origin.scheme == scheme)
        #expect(origin.host == host)
        #expect(Int(origin.port) == port)
        #expect(origin.isSecure == (scheme == "https"))
    }

    @Test(arguments: [
        "ftp://a/", "file:///x", "http:///x", "http://:80/", "http://a:0/", "http://a:65536/", "/relative",
        "http://a:18446744073709551697/", "http://[example.org]/", "http://％４１.com/",
    ])
    func impossible(_ url: String) throws {
        guard let url = URL(string: url) else { return }
        #expect(throws: StreamError.badURL("")) { _ = try HTTPOrigin(url) }
    }

    /// A pool finds a connection by the bytes of a URL only if the parser finds the same origin.
    @Test(arguments: [
        ("http://a.example", "http://a.example", true), ("http://a.example", "http://a.example/x", true),
        ("http://a.example", "http://a.example?q", true), ("http://a.example", "http://a.example#f", true),
        ("http://a.example", "http://a.example:80/", false), ("http://a.example", "http://a.example.org/", false),
        ("http://a.example", "http://a.exampl", false), ("http://a.example", "https://a.example/", false),
        ("http://a.example", "http://A.example/", false), ("http://a.example", "http://a.example@b/", false),
        ("http://a.example", "HTTP://a.example/", false), ("http://a.example", "http://a.example.evil/", false),
        ("http://a.example", "http://a.example\\@b/", false), ("http://a.example", "http://u:p@a.example/", false),
        ("http://a.example", "http://a.example./", false), ("http://a.example", "http://a.example%2f/", false),
        ("http://a.example", "http://a.example\u{301}/", false), ("http://a.example", "http://xa.example/", false),
        ("http://a.example:80", "http://a.example:80/", true), ("http://a.example:80", "http://a.example/", false),
        ("http://a.example:80", "http://a.example:8/", false), ("http://a.example:80", "http://a.example:800/", false),
        ("http://a.example:80", "http://a.example:080/", false), ("http://a.example:80", "http://a.example:", false),
        ("http://a.example:80", "http://a.example:18446744073709551696/", false),
        ("http://a.example:80", "http://a.example:80@b/", false),
        ("https://127.0.0.1:443", "https://127.0.0.1:443/x", true),
        ("https://127.0.0.1:443", "http://127.0.0.1:443/x", false), ("http://[::1]", "http://[::1]/", false),
        ("HTTP://a.example", "HTTP://a.example/", false), ("http://a.example", "", false),
        ("http://a.example", "http://", false),
    ])
    func beginsURL(_ first: String, _ second: String, _ begins: Bool) throws {
        let origin = try HTTPOrigin(#require(URL(string: first)))
        var text = second
        let prefix = Array((origin.plainPrefix ?? "").utf8)
        let found = text.withUTF8 { PlainAuthority.isIn($0, endingAfter: prefix) }
        #expect(found == begins)
        if found { #expect(try HTTPOrigin(#require(URL(string: second))) == origin) }
    }

    @Test func equality() throws {
        func origin(_ url: String) throws -> HTTPOrigin { try HTTPOrigin(#require(URL(string: url))) }
        #expect(try origin("http://a/") == origin("http://A:80/x"))
        #expect(try origin("http://a/").hashValue == origin("http://A:80/x").hashValue)
        #expect(try origin("http://a/") != origin("https://a/"))
        #expect(try origin("http://a:443/") != origin("https://a/"))
        #expect(try origin("http://a/") != origin("http://b/"))
    }
}

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

    /// The full parser handles all of these, and rejects some.
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

    /// The full parser accepts everything that is accepted here.
    @Test(arguments: ["example.org", "a", "127.0.0.1", "255.255.255.255", "a1.b2-c3.d", "xn--bcher-kva.example"])
    func agrees(_ host: String) throws {
        #expect(throws: Never.self) { _ = try HostName(host) }
    }
}
