import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// The storage of cookies, their values, and files in Netscape's format.
@Suite struct HTTPCookiesTests {
    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test("the cookies of a response are those of its host's next request") func storage() throws {
        let cookies = HTTPCookies()
        var response = try HTTPResponse(status: .ok)
        try response.fields.append("a=b; Path=/; Max-Age=60", for: .setCookie)
        try response.fields.append("c=d", for: .setCookie)
        cookies.store(response.fields, from: try url("https://user@www.example.com/x/y"))
        #expect(cookies.field(for: try url("https://www.example.com/x/z")) == "c=d; a=b")
        #expect(cookies.field(for: try url("https://www.example.com/")) == "a=b")
        #expect(cookies.field(for: try url("https://example.com/")) == nil)
        #expect(cookies.field(for: try url("ftp://www.example.com/")) == nil)
        cookies.removeAll { $0.expiry == nil }
        #expect(cookies.all.map(\.name) == ["a"])
        cookies.removeAll()
        #expect(cookies.all.isEmpty && cookies.isEmpty)
    }

    @Test("a value of a cookie is no part of its description") func description() throws {
        let cookie = try HTTPCookie(
            name: "a", value: "secret", domain: "Example.COM", expiry: HTTPDate(secondsSinceEpoch: 0), isSecure: true,
            sameSite: .strict)
        #expect(
            "\(cookie)"
                == "a=…; Host=example.com; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Secure; SameSite=Strict")
    }

    @Test(
        "values that cannot be sent",
        arguments: [
            ("a;b", "c", "d.com", "/"), ("a=b", "c", "d.com", "/"), ("a", "c;d", "d.com", "/"),
            ("a", "c\r\nX: y", "d.com", "/"),
            ("", "", "d.com", "/"), ("a", "b", "", "/"), ("a", "b", "d.com", ""), ("a", "b", "d.com", "x"),
            ("a ", "b", "d.com", "/"),
            ("a", String(repeating: "x", count: 4096), "d.com", "/"), ("", "a=b", "d.com", "/"),
            ("a", "b", "d e.com", "/"),
        ])
    func invalid(_ name: String, _ value: String, _ domain: String, _ path: String) {
        let error = #expect(throws: StreamError.self) {
            try HTTPCookie(name: name, value: value, domain: domain, path: path)
        }
        #expect(error?.domain == .posix && error?.code == 22)
    }

    private static let file = """
        # Netscape HTTP Cookie File

        .example.com\tTRUE\t/\tFALSE\t4102444800\ta\tb
        #HttpOnly_www.example.com\tFALSE\t/x\tTRUE\t0\tc\td\te

        """

    @Test("a file is written as it was read") func files() throws {
        let cookies = try HTTPCookies(netscapeFile: Array(Self.file.utf8))
        let all = cookies.all
        #expect(all.map(\.name) == ["a", "c"] && all.map(\.value) == ["b", "d\te"])
        #expect(all.map(\.isHTTPOnly) == [false, true] && all.map(\.isSecure) == [false, true])
        #expect(all.map(\.isHostOnly) == [false, true] && all.map(\.path) == ["/", "/x"])
        #expect(all.map { $0.expiry?.secondsSinceEpoch } == [4_102_444_800, nil])
        #expect(String(decoding: cookies.netscapeFile, as: UTF8.self) == Self.file)
        #expect(cookies.field(for: try url("https://www.example.com/x")) == "c=d\te; a=b")
    }

    @Test("lines: comments, CR LF, no value; expired cookies are left out") func lines() throws {
        let text = "#x\r\n\r\nh.com\tfalse\t/\tfalse\t0\ta\r\nh.com\tFALSE\t/\tFALSE\t1\told\tx\r\n"
        let cookies = try HTTPCookies(netscapeFile: Array(text.utf8))
        #expect(cookies.all.map(\.name) == ["a"] && cookies.all.map(\.value) == [""])
    }

    @Test(
        "a file without lines is an empty jar",
        arguments: ["", "\n \r\n", "# Netscape HTTP Cookie File\n\n", "\u{feff}#x"])
    func empty(_ text: String) throws {
        let cookies = try HTTPCookies(netscapeFile: Array(text.utf8)) { Issue.record("skipped \($0)") }
        #expect(cookies.all.isEmpty)
        #expect(try HTTPCookies(netscapeFile: cookies.netscapeFile).all.isEmpty)
    }

    private static let good = "h.com\tFALSE\t/\tFALSE\t0\tgood\tx"

    @Test(
        "a line that is not a cookie is skipped, and the others are used",
        arguments: [
            "h.com\tFALSE\t/\tFALSE\t0", "h.com\tFALSE\t/\tFALSE\tx\ta\tb",
            "h.com\tFALSE\t/\tFALSE\t1e9x\ta\tb", "h.com\tFALSE\t/\tFALSE\t,5\ta\tb",
            "h.com\tFALSE\t/\tFALSE\t-\ta\tb", "h.com\tFALSE\t/\tFALSE\t2099-01-31\ta\tb",
            "h.com\tFALSE\t/\tFALSE\t31/01/2099\ta\tb", "h.com\tFALSE\t/\tFALSE\tSession\ta\tb",
            "h.com\tFALSE\tx\tFALSE\t0\ta\tb", ".\tFALSE\t/\tFALSE\t0\ta\tb", "h.com\tFALSE\t/\tFALSE\t0\ta\tb;c",
            "h.com\tFALSE\t/\tFALSE\t0\ta\tb\u{1}", "h.com FALSE / FALSE 0 a secret c", "secret",
        ])
    func badLines(_ line: String) throws {
        var skipped: [SkippedLine] = []
        let file = "\u{feff}# a comment\n\(line)\n\n\(Self.good)\n"
        let cookies = try HTTPCookies(netscapeFile: Array(file.utf8)) { skipped.append($0) }
        #expect(cookies.all.map(\.name) == ["good"])
        #expect(skipped.map(\.line) == [2] && !"\(skipped)".contains("secret"))
        // A file without any cookie is another kind of file.
        let error = #expect(throws: StreamError.self) { try HTTPCookies(netscapeFile: Array(line.utf8)) }
        #expect(error?.description.contains("1") == true)
    }

    @Test(
        "expiries of exporters, and blanks in place of tabs",
        arguments: [
            ("h.com\tFALSE\t/\tFALSE\t4102444800.742\ta\tb", 4_102_444_800), ("h.com\tFALSE\t/\tFALSE\t\ta\tb", nil),
            ("h.com\tFALSE\t/\tFALSE\t99999999999999999999\ta\tb", 253_402_300_799),
            ("h.com FALSE / FALSE 4102444800 a b", 4_102_444_800), ("h.com   FALSE / FALSE  0 a b", nil),
            ("h.com  FALSE\t/\tFALSE \t 0 a b", nil),
            ("#HttpOnly_h.com FALSE / FALSE 0 a b", nil), ("  #HttpOnly_h.com FALSE / FALSE 0 a b", nil),
            ("h.com\tFALSE\t/\tFALSE\t1.9e+09\ta\tb", 1_900_000_000),
            ("h.com\tFALSE\t/\tFALSE\t4102444800,5\ta\tb", 4_102_444_800),
            ("h.com\tFALSE\t/\tFALSE\t4102444800.5.5\ta\tb", 4_102_444_800),
            ("h.com\tFALSE\t/\tFALSE\t4102444800Z\ta\tb", 4_102_444_800),
            ("h.com\tFALSE\t\tFALSE\t0\ta\tb", nil), (" \th.com\tFALSE\t/\tFALSE\t0\ta\tb", nil),
            ("h.com\tFALSE\t/\tFALSE\t0\ta\tb\t", nil), ("h.com\tFALSE\t/\tFALSE\t0\ta\t b \t ", nil),
            ("h.com\t0\t/\t0\t0\ta\tb", nil), ("h.com\tMAYBE\t/\tno\t0\ta\tb", nil),
            ("h.com\tFALSE\t/\tFALSE\t0.0\ta\tb", nil),
            ("h.com \t FALSE\t /\tFALSE \t 4102444800 \ta\tb", 4_102_444_800),
        ] as [(String, Int64?)])
    func tolerated(_ line: String, _ expiry: Int64?) throws {
        let cookies = try HTTPCookies(netscapeFile: Array(line.utf8)) { Issue.record("skipped \($0)") }
        #expect(cookies.all.map(\.name) == ["a"] && cookies.all.first?.expiry?.secondsSinceEpoch == expiry)
        #expect(cookies.all.map(\.value) == ["b"] && cookies.all.map(\.path) == ["/"])
        #expect(cookies.all.allSatisfy { $0.domain == "h.com" && !$0.isSecure && $0.isHostOnly })
    }

    @Test("a negative expiry has passed", arguments: ["-1", "-0.5", "-99999999999999999999"])
    func negativeExpiry(_ expiry: String) throws {
        let line = "h.com\tFALSE\t/\tFALSE\t\(expiry)\ta\tb"
        let cookies = try HTTPCookies(netscapeFile: Array("\(line)\n\(Self.good)".utf8)) {
            Issue.record("skipped \($0)")
        }
        #expect(cookies.all.map(\.name) == ["good"])
    }

    @Test("a name with a tab has no place in a file") func tabs() throws {
        let cookies = HTTPCookies()
        cookies.set(try HTTPCookie(name: "a\tb", value: "c", domain: "h.com"))
        cookies.set(try HTTPCookie(name: "d", value: "e", domain: "h.com"))
        #expect(try HTTPCookies(netscapeFile: cookies.netscapeFile).all.map(\.name) == ["d"])
    }
}
