import Testing

@testable import netkit

/// The URLs that an argument stands for.
@Suite struct URLGlobTests {
    @Test(arguments: [
        ("http://h/x", ["http://h/x"]), ("http://h/{a,b,}", ["http://h/a", "http://h/b", "http://h/"]),
        ("http://h/[8-10]", ["http://h/8", "http://h/9", "http://h/10"]),
        ("http://h/[08-10]", ["http://h/08", "http://h/09", "http://h/10"]),
        ("http://h/[000-100:50]", ["http://h/000", "http://h/050", "http://h/100"]),
        ("http://h/[a-e:2]", ["http://h/a", "http://h/c", "http://h/e"]),
        ("http://h/{a,b}[1-2]", ["http://h/a1", "http://h/a2", "http://h/b1", "http://h/b2"]),
        ("http://[::1]/a[0]b[]c[x-]", ["http://[::1]/a[0]b[]c[x-]"]),
        ("http://[fe80::1%25e-0]/", ["http://[fe80::1%25e-0]/"]),
        (#"http://h/\{a\}\[1-2\]\x"#, [#"http://h/{a}[1-2]\x"#]),
        (#"http://h/{a\,b,c}"#, ["http://h/a,b", "http://h/c"]),
        ("{\"a\":1}", ["{\"a\":1}"]), ("[1,2]", ["[1,2]"]),
        // U+0301 forms one character with the bracket before it.
        ("http://h/{\u{301}a}\u{301}", ["http://h/\u{301}a\u{301}"]),
    ])
    func expansions(_ text: String, _ urls: [String]) throws {
        let glob = try URLGlob(text)
        #expect(glob.count == urls.count)
        // By bytes: canonically equivalent texts are equal.
        #expect(glob.expansions.map { Array($0.url.utf8) } == urls.map { Array($0.utf8) })
    }

    @Test(arguments: [
        "http://h/{a", "http://h/a}", "http://h/[1-2", "http://h/1]", "http://h/{a{b}}", "http://h/{[1-2]}",
        "http://h/[2-1]",
        "http://h/[b-a]", "http://h/[a-Z]", "http://h/[a-9]", "http://h/[1-2:0]", "http://h/[1-9223372036854775807]",
        "http://h/[1-99999999999999999999]", "http://h/[1-1000][1-1000]",
        "http://h/[0-9223372036854775806][0-9223372036854775806]",
    ])
    func mistakes(_ text: String) {
        #expect(throws: URLArgument.Invalid.self) { try URLGlob(text) }
    }

    @Test(arguments: [
        ("f#1-#2.txt", "fa-7.txt"), ("#3#", "#3#"), ("##1", "#a"), ("#<n>#<m>", "7#<m>"), ("#1#<n", "a#<n"),
        ("#12", "#12"),
        ("#99999999999999999999", "#99999999999999999999"), ("#1\u{301}", "a\u{301}"),
    ])
    func paths(_ template: String, _ path: String) throws {
        let expansion = try #require(try URLGlob("http://h/{a}[<n>7-9]").expansions.first)
        #expect(Array(expansion.path(template).utf8) == Array(path.utf8))
    }

    @Test func theBoundOfURLs() throws {
        #expect(try URLGlob("http://h/[1-\(URLGlob.maximumCount)]").count == URLGlob.maximumCount)
        #expect(throws: URLArgument.Invalid.self) { try URLGlob("http://h/[0-\(URLGlob.maximumCount)]") }
    }
}
