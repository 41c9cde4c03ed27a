import FoundationEssentials
import Testing

@testable import HTTPStream

/// The value of `Set-Cookie`, by the algorithm of RFC 6265bis §5.6.
@Suite struct SetCookieTests {
    @Test(
        "name and value",
        arguments: [
            ("a=b", "a", "b"), (" a = b ", "a", "b"), ("a=b=c", "a", "b=c"), ("a=", "a", ""), ("=b", "", "b"),
            ("b", "", "b"), ("a=\"b c\"", "a", "\"b c\""), ("a=b;", "a", "b"), ("a\t=\tb\t;x", "a", "b"),
            ("a=b,c", "a", "b,c"), ("a=ü", "a", "ü"), ("a=b\tc", "a", "b\tc"), ("==b", "", "=b"),
        ])
    func pairs(_ text: String, _ name: String, _ value: String) throws {
        let cookie = try #require(SetCookie(Array(text.utf8)))
        #expect(cookie.name == Array(name.utf8) && cookie.value == Array(value.utf8))
    }

    @Test(
        "fields that set no cookie",
        arguments: [
            "", ";", "=", " = ", " ; Path=/", "a=b\u{0}", "a=b; Path=/\u{7f}", "a\u{1}=b", "a=b\r\nX: y", "a=b\n",
            "a=b; Domain=exämple.org", "a=" + String(repeating: "x", count: 4096), String(repeating: "x", count: 4097),
        ])
    func refused(_ text: String) {
        #expect(SetCookie(Array(text.utf8)) == nil)
    }

    @Test func longestPair() {
        #expect(SetCookie(Array(("a=" + String(repeating: "x", count: 4095)).utf8))?.value.count == 4095)
    }

    @Test("attributes: any case, spaces, the last one has effect, unknown and long ones are ignored")
    func attributes() throws {
        func parse(_ attributes: String) throws -> SetCookie {
            try #require(SetCookie(Array("a=b;\(attributes)".utf8)))
        }
        let all = try parse(" DOMAIN = .Example.ORG ;path=/p;SECURE;httponly=x;SameSite=lAx;Max-Age=60;New=1;;=x")
        #expect(all.domain == "example.org" && all.path == "/p" && all.isSecure && all.isHTTPOnly)
        #expect(all.sameSite == .lax && all.maximumAge == 60 && all.expires == nil)
        #expect(try parse("Path=/a;Path=/b").path == "/b")
        #expect(try parse("Path=/a;Path=").path == nil)
        #expect(try parse("Path=a").path == nil)
        #expect(try parse("Domain=a.org;Domain=").domain.isEmpty)
        #expect(try parse("SameSite=Strict;SameSite=odd").sameSite == nil)
        let long = String(repeating: "x", count: 1023)
        #expect(try parse("Path=/\(long)").path?.utf8.count == 1024)
        #expect(try parse("Path=/\(long)x").path == nil)
    }

    @Test(
        "Max-Age",
        arguments: [
            ("0", 0), ("-1", -1), ("60", 60), ("060", 60), ("99999999999999999999999", Int64(Int32.max)),
            ("", nil), ("-", nil), ("+1", nil), ("1.5", nil), ("1s", nil), ("0x10", nil),
        ] as [(String, Int64?)])
    func maximumAge(_ text: String, _ seconds: Int64?) {
        #expect(SetCookie(Array("a=b;Max-Age=\(text)".utf8))?.maximumAge == seconds)
    }

    @Test(
        "dates in the forms that servers use",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("6 november 1994 8:49:37", 784_111_777),
            ("1994 08:49:37 06 Nov", 784_111_777), ("Nov 6 1994 08:49:37PM", 784_111_777), ("06.11.1994 08:49:37", nil),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Mon, 06 Nov 1994 08:49:37", 784_111_777),
            ("Sun, 06 Nov 69 08:49:37", 3_150_953_377), ("Sun, 06 Nov 70 00:00:00", 26_697_600),
            ("Sun, 30 Feb 2026 08:49:37", nil), ("Sun, 00 Nov 1994 08:49:37", nil), ("Sun, 32 Nov 1994 08:49:37", nil),
            ("Sun, 06 Nov 1600 08:49:37", nil), ("Sun, 06 Nov 1994 24:00:00", nil), ("Sun, 06 Nov 1994 08:60:00", nil),
            ("Sun, 06 Nov 1994 08:49:60", nil), ("Sun, 06 Nov 1994 08:49", nil), ("Sun, 06 Nov 1994", nil),
            ("Sun, 06 Nov 19940 08:49:37", nil), ("006 Nov 1994 08:49:37", nil), ("", nil), ("tomorrow", nil),
            ("Sun, 06 Nov 1994 08:49:370", nil),
        ] as [(String, Int64?)])
    func dates(_ text: String, _ seconds: Int64?) {
        #expect(CookieDate.seconds(Array(text.utf8)) == seconds)
    }
}
