import FoundationEssentials
import HTTPMessage
import Testing

@testable import HTTPStream

/// The rules of a public suffix list, and those for systems without one.
@Suite struct PublicSuffixesTests {
    static let list = PublicSuffixes(
        list: Array(
            "// a comment\ncom\n\nuk\r\nco.uk\n*.ck\n!www.ck\ngithub.io trailing text\nio\n公司.cn\njp\n*.kawasaki.jp\n!city.kawasaki.jp\n"
                .utf8))

    @Test(arguments: [
        ("com", true), ("example.com", false), ("co.uk", true), ("example.co.uk", false), ("other.ck", true),
        ("ck", true), ("www.ck", false), ("a.www.ck", false), ("github.io", true), ("user.github.io", false),
        ("unknown", true), ("example.unknown", false), ("xn--55qx5d.cn", true), ("kawasaki.jp", false),
        ("x.kawasaki.jp", true), ("city.kawasaki.jp", false),
    ])
    func suffixes(_ domain: String, _ isSuffix: Bool) {
        #expect(Self.list.contains(domain) == isSuffix)
    }

    @Test(arguments: [
        ("a.b.example.com", "example.com"), ("example.com", "example.com"), ("com", "com"), ("localhost", "localhost"),
        ("a.b.co.uk", "b.co.uk"), ("a.www.ck", "www.ck"), ("www.ck", "www.ck"), ("a.b.ck", "a.b.ck"),
        ("192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::1"), ("a.city.kawasaki.jp", "city.kawasaki.jp"),
        ("x.user.github.io", "user.github.io"),
    ])
    func sites(_ host: String, _ site: String) {
        #expect(Self.list.site(of: host) == site)
    }

    @Test("without a list, any domain may be a public suffix, and each host is a site of its own")
    func withoutAList() throws {
        for domain in ["com", "co.uk", "example.com", "github.io", "a.b.example.com"] {
            #expect(PublicSuffixes.unknown.contains(domain))
            #expect(PublicSuffixes.unknown.site(of: domain) == domain)
        }
        let url = try #require(URL(string: "https://user.github.io/"))
        let fields = try HTTPFields([
            ("Set-Cookie", "a=1; Domain=github.io"), ("Set-Cookie", "b=1; Domain=user.github.io"),
            ("Set-Cookie", "c=1"),
        ])
        let cookies = HTTPCookies(limits: HTTPCookies.Limits(), suffixes: .unknown)
        cookies.store(fields, from: url)
        #expect(cookies.all.map(\.name) == ["b", "c"] && cookies.all.allSatisfy(\.isHostOnly))
        #expect(!PublicSuffixes.unknown.areKnown && Self.list.areKnown)
    }

    @Test("the system's list knows co.uk") func system() async {
        await PublicSuffixes.readSystemList()
        #expect(PublicSuffixes.system.contains("co.uk") && !PublicSuffixes.system.contains("example.co.uk"))
    }
}
