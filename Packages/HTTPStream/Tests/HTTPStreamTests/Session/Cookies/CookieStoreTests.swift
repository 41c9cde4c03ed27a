import FoundationEssentials
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// The storage model of RFC 6265bis §5.7 and §5.8, with the time passed in.
@Suite struct CookieStoreTests {
    static let now: Int64 = 1_700_000_000

    struct Jar {
        var store: CookieStore

        init(_ limits: HTTPCookies.Limits = .init()) { store = CookieStore(limits) }

        mutating func set(_ field: String, _ url: String, at now: Int64 = CookieStoreTests.now) {
            guard let parsed = SetCookie(Array(field.utf8)) else { return }
            store.store(parsed, from: Self.url(url), at: now, PublicSuffixesTests.list)
        }

        mutating func sent(
            _ url: String, at now: Int64 = CookieStoreTests.now, _ cause: CookieStore.Cause = .ownSite
        ) -> String {
            store.field(for: Self.url(url), at: now, cause).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }

        static func url(_ text: String) -> CookieURL {
            let url = URL(string: text)!
            let origin = try! HTTPOrigin(url)
            return CookieURL(url, origin, isSecure: origin.isSecureWithoutProxy)
        }
    }

    /// A cookie that one URL sets, another URL, and whether its request carries the cookie.
    static let rows: [(field: String, from: String, to: String, isSent: Bool)] = [
        // Hosts and domains
        ("a=b", "https://example.com/", "https://example.com/", true),
        ("a=b", "https://example.com/", "https://EXAMPLE.com/", true),
        ("a=b", "https://example.com/", "https://www.example.com/", false),
        ("a=b", "https://www.example.com/", "https://example.com/", false),
        ("a=b; Domain=example.com", "https://example.com/", "https://www.example.com/", true),
        ("a=b; Domain=.example.com", "https://www.example.com/", "https://example.com/", true),
        ("a=b; Domain=EXAMPLE.com", "https://www.example.com/", "https://x.y.example.com/", true),
        ("a=b; Domain=example.com", "https://www.example.com/", "https://notexample.com/", false),
        ("a=b; Domain=example.com", "https://other.com/", "https://example.com/", false),
        ("a=b; Domain=www.example.com", "https://example.com/", "https://www.example.com/", false),
        ("a=b; Domain=ample.com", "https://example.com/", "https://ample.com/", false),
        ("a=b; Domain=", "https://example.com/", "https://www.example.com/", false),
        ("a=b; Domain=", "https://example.com/", "https://example.com/", true),
        ("a=b", "https://example.com:8443/", "https://example.com/", true),
        // Public suffixes
        ("a=b; Domain=com", "https://example.com/", "https://example.com/", false),
        ("a=b; Domain=co.uk", "https://example.co.uk/", "https://other.co.uk/", false),
        ("a=b; Domain=github.io", "https://user.github.io/", "https://other.github.io/", false),
        ("a=b; Domain=github.io", "https://github.io/", "https://github.io/", true),
        ("a=b; Domain=github.io", "https://github.io/", "https://user.github.io/", false),
        ("a=b; Domain=localhost", "http://localhost/", "http://localhost/", true),
        ("a=b; Domain=localhost", "http://localhost/", "http://x.localhost/", false),
        ("a=b; Domain=com.", "https://example.com./", "https://other.com./", false),
        ("a=b; Domain=..com", "https://example.com/", "https://example.com/", false),
        // Addresses
        ("a=b", "http://192.0.2.1/", "http://192.0.2.1/", true),
        ("a=b; Domain=192.0.2.1", "http://192.0.2.1/", "http://192.0.2.1/", true),
        ("a=b; Domain=2.1", "http://192.0.2.1/", "http://192.0.2.1/", false),
        ("a=b; Domain=0.2.1", "http://192.0.2.1/", "http://7.0.2.1/", false),
        ("a=b", "http://[2001:db8::1]/", "http://[2001:db8::1]/", true),
        ("a=b; Domain=2001:db8::1", "http://[2001:db8::1]/", "http://[2001:db8::1]/", true),
        // Paths
        ("a=b", "https://example.com/x/y", "https://example.com/x/z", true),
        ("a=b", "https://example.com/x/y", "https://example.com/x", true),
        ("a=b", "https://example.com/x/y", "https://example.com/xy", false),
        ("a=b", "https://example.com/x/y", "https://example.com/", false),
        ("a=b", "https://example.com/x", "https://example.com/", true),
        ("a=b", "https://example.com", "https://example.com/x", true),
        ("a=b; Path=/x", "https://example.com/", "https://example.com/x?y", true),
        ("a=b; Path=/x/", "https://example.com/", "https://example.com/x", false),
        ("a=b; Path=/x/", "https://example.com/", "https://example.com/x/y", true),
        ("a=b; Path=/X", "https://example.com/", "https://example.com/x", false),
        // Secure
        ("a=b; Secure", "https://example.com/", "https://example.com/", true),
        ("a=b; Secure", "https://example.com/", "http://example.com/", false),
        ("a=b; Secure", "http://example.com/", "https://example.com/", false),
        ("a=b; Secure", "http://localhost/", "http://localhost/", true),
        ("a=b; Secure", "http://127.0.0.1/", "http://127.0.0.1/", true),
        ("a=b", "https://example.com/", "http://example.com/", true),
        // SameSite=None requires Secure
        ("a=b; SameSite=None", "https://example.com/", "https://example.com/", false),
        ("a=b; SameSite=None; Secure", "https://example.com/", "https://example.com/", true),
        // Prefixes, in any case
        ("__Secure-a=b", "https://example.com/", "https://example.com/", false),
        ("__Secure-a=b; Secure", "https://example.com/", "https://example.com/", true),
        ("__sECURE-a=b", "https://example.com/", "https://example.com/", false),
        ("__Host-a=b; Secure; Path=/", "https://example.com/", "https://example.com/", true),
        ("__Host-a=b; Secure", "https://example.com/", "https://example.com/", false),
        ("__Host-a=b; Path=/", "https://example.com/", "https://example.com/", false),
        ("__host-a=b; Secure; Path=/x", "https://example.com/", "https://example.com/x", false),
        ("__Host-a=b; Secure; Path=/; Domain=example.com", "https://example.com/", "https://example.com/", false),
        ("=__Host-a=b; Secure; Path=/", "https://example.com/", "https://example.com/", false),
        ("__Http-a=b; Secure; HttpOnly", "https://example.com/x", "https://example.com/", true),
        ("__http-a=b; Secure", "https://example.com/", "https://example.com/", false),
        ("__Http-a=b; HttpOnly", "https://example.com/", "https://example.com/", false),
        ("__Host-Http-a=b; Secure; HttpOnly; Path=/", "https://example.com/", "https://example.com/", true),
        ("__HOST-HTTP-a=b; Secure; Path=/", "https://example.com/", "https://example.com/", false),
        ("__Host-Http-a=b; Secure; HttpOnly", "https://example.com/x/y", "https://example.com/x/y", false),
        (
            "__Host-Http-a=b; Secure; HttpOnly; Path=/; Domain=example.com", "https://example.com/",
            "https://example.com/", false
        ),
        ("=__Http-a=b; Secure; HttpOnly", "https://example.com/", "https://example.com/", false),
        ("__Secure-a; Secure", "https://example.com/", "https://example.com/", false),
        // U+0301 forms one character with the hyphen.
        ("__Host-\u{301}=b", "http://example.com/", "http://example.com/", false),
        ("=__Host-\u{301}=b; Secure; Path=/", "https://example.com/", "https://example.com/", false),
    ]

    @Test("which request carries a cookie", arguments: rows.indices)
    func rule(_ index: Int) {
        let row = Self.rows[index]
        var jar = Jar()
        jar.set(row.field, row.from)
        #expect(!jar.sent(row.to).isEmpty == row.isSent, "\(row)")
    }

    @Test(
        "expiry: Max-Age over Expires, at most 400 days, removed by a past one",
        arguments: [
            ("Max-Age=60", 60), ("Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 60),
            ("Expires=Tue, 14 Nov 2023 22:14:20 GMT", 60), ("Max-Age=99999999999", 400 * 86_400),
            ("Expires=Fri, 31 Dec 9999 23:59:59 GMT", 400 * 86_400),
        ] as [(String, Int64)])
    func expiry(_ attributes: String, _ seconds: Int64) {
        var jar = Jar()
        jar.set("a=b; \(attributes)", "http://example.com/")
        #expect(jar.sent("http://example.com/", at: Self.now + seconds - 1) == "a=b")
        #expect(jar.sent("http://example.com/", at: Self.now + seconds) == "")
        for end in ["Max-Age=0", "Max-Age=-5", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"] {
            jar.set("a=b; \(attributes)", "http://example.com/")
            jar.set("a=; \(end)", "http://example.com/")
            #expect(jar.store.count == 0)
        }
    }

    @Test("longer paths first, then older cookies; a replaced cookie keeps its place") func order() {
        var jar = Jar()
        for field in [
            "a=1; Path=/", "b=2; Path=/x", "c=3; Path=/x/y", "d=4; Path=/x; Domain=example.com", "a=5; Path=/",
        ] {
            jar.set(field, "http://example.com/x/y")
        }
        jar.set("e=6; Path=/", "http://example.com/")
        #expect(jar.sent("http://example.com/x/y/z") == "c=3; b=2; d=4; a=5; e=6")
    }

    @Test("the same name with another path, domain or host-only flag is another cookie") func identity() {
        var jar = Jar()
        jar.set("a=1; Path=/", "http://example.com/")
        jar.set("a=2; Path=/; Domain=example.com", "http://example.com/")
        jar.set("a=3; Path=/x", "http://example.com/")
        jar.set("A=4; Path=/", "http://example.com/")
        #expect(jar.sent("http://example.com/x") == "a=3; a=1; a=2; A=4")
    }

    @Test(
        "an insecure response leaves secure cookies alone",
        arguments: [
            ("https://example.com/", "Path=/", "http://example.com/", "Path=/", true),
            ("https://example.com/", "Path=/", "http://example.com/", "Path=/x", true),
            ("https://example.com/", "Path=/x", "http://example.com/", "Path=/", false),
            ("https://www.example.com/", "Path=/", "http://example.com/", "Path=/; Domain=example.com", true),
            ("https://www.example.com/", "Path=/; Domain=example.com", "http://www.example.com/", "Path=/", true),
            ("https://other.com/", "Path=/", "http://example.com/", "Path=/", false),
        ])
    func secureCookies(_ from: String, _ attributes: String, _ later: String, _ others: String, _ isLeft: Bool) {
        var jar = Jar()
        jar.set("a=secure; Secure; \(attributes)", from)
        jar.set("a=insecure; \(others)", later)
        #expect(jar.store.count == (isLeft ? 1 : 2))
        jar.set("a=insecure; \(others); Max-Age=0", later)
        #expect(jar.store.cookies(at: Self.now).contains { $0.value == "secure" })
    }

    @Test("SameSite after a redirect from another site") func sameSite() {
        var jar = Jar()
        for field in ["s=1; SameSite=Strict", "l=2; SameSite=Lax", "n=3; SameSite=None; Secure", "u=4"] {
            jar.set(field, "https://example.com/")
        }
        #expect(jar.sent("https://example.com/") == "s=1; l=2; n=3; u=4")
        #expect(jar.sent("https://example.com/", .otherSiteSafe) == "l=2; n=3; u=4")
        #expect(jar.sent("https://example.com/", .otherSiteUnsafe) == "n=3; u=4")
    }

    @Test("a value alone, and bytes in another encoding, are sent as received") func bytes() throws {
        var jar = Jar()
        jar.set("alone", "http://example.com/")
        #expect(jar.sent("http://example.com/") == "alone")
        let parsed = try #require(SetCookie([UInt8(ascii: "x"), UInt8(ascii: "="), 0xe4]))
        jar.store.store(parsed, from: Jar.url("http://other.com/"), at: Self.now, .unknown)
        #expect(jar.store.field(for: Jar.url("http://other.com/"), at: Self.now) == [0x78, 0x3d, 0xe4])
    }

    // MARK: Limits

    @Test("a domain's cookies beyond the limit: expired, not secure, longest unused") func limitOfADomain() {
        var limits = HTTPCookies.Limits()
        limits.cookiesPerDomain = 3
        var jar = Jar(limits)
        jar.set("s=1; Secure; Path=/s", "https://example.com/")
        jar.set("a=1; Path=/a", "https://example.com/")
        jar.set("b=1; Path=/b", "https://example.com/")
        #expect(jar.sent("https://example.com/a") == "a=1")
        jar.set("c=1; Path=/c", "https://example.com/")
        #expect(jar.store.cookies(at: Self.now).map(\.name) == ["s", "a", "c"])
        jar.set("d=1; Path=/d; Max-Age=10", "https://other.com/")
        #expect(jar.store.count == 4)
    }

    @Test("all cookies beyond the limit, and a server with countless names") func limitOfAll() {
        var limits = HTTPCookies.Limits()
        limits.cookieCount = 10
        var jar = Jar(limits)
        jar.set("s=1; Secure", "https://bank.com/")
        jar.set("e=1; Max-Age=5", "https://short.com/")
        for number in 0..<30 { jar.set("a=1", "http://h\(number).evil.com/", at: Self.now + 10) }
        #expect(jar.store.count == 10)
        #expect(jar.sent("https://bank.com/") == "s=1")
        #expect(jar.sent("http://h29.evil.com/") == "a=1" && jar.sent("http://h2.evil.com/") == "")
        var usual = Jar()
        for number in 0..<200 { usual.set("a\(number)=1", "http://example.com/") }
        #expect(usual.store.count == 50)
    }

    @Test("a Cookie field has a limit") func limitOfTheField() {
        var jar = Jar()
        for number in 0..<10 { jar.set("a\(number)=\(String(repeating: "x", count: 1000))", "http://example.com/") }
        let sent = jar.sent("http://example.com/")
        #expect(sent.utf8.count <= 8192 && sent.utf8.count > 7000 && sent.hasPrefix("a0="))
    }

    /// What a server can store can be saved and read again.
    @Test("cookies that a file could not contain are refused", arguments: ["==b", "=a=b"])
    func unsavable(_ field: String) {
        var jar = Jar()
        jar.set(field, "https://example.com/")
        #expect(jar.sent("https://example.com/") == "")
        jar.set("a=b", "https://example.com/\(String(repeating: "y", count: 2000))/")
        #expect(jar.store.count == 0)
    }

    @Test func anExpiredSecureCookieHidesNothing() {
        var jar = Jar()
        jar.set("a=1; Secure; Max-Age=1", "https://example.com/")
        jar.set("a=2", "http://example.com/", at: Self.now + 2)
        #expect(jar.sent("http://example.com/", at: Self.now + 2) == "a=2")
    }

    @Test func domainsInOlderNotation() throws {
        let cookie = try HTTPCookie(name: "a", value: "b", domain: ".Example.com", isHostOnly: false)
        #expect(cookie.domain == "example.com")
        for domain in [".example.com", "example.com:8080", "[::1]", "https://h", "a/b"] {
            #expect(throws: StreamError.self) { try HTTPCookie(name: "a", value: "b", domain: domain) }
        }
        #expect(throws: Never.self) { try HTTPCookie(name: "a", value: "b", domain: "::1") }
    }
}
