import FoundationEssentials
import HTTPMessage
import Testing

@Suite struct RequestTargetTests {
    @Test(
        arguments: [
            ("/", RequestTarget.Form.origin, "/", nil, nil), ("/a?b?c#d", .origin, "/a", "b?c", nil),
            ("http://a.example", .absolute, "", nil, "a.example"),
            ("http://u:p@a.example:80/x?y", .absolute, "/x", "y", "a.example:80"),
            ("urn://[::1]?q", .absolute, "", "q", "[::1]"), ("a.example:80", .authority, nil, nil, "a.example:80"),
            ("[fe80::1]:443", .authority, nil, nil, "[fe80::1]:443"), ("*", .asterisk, nil, nil, nil),
            ("http://[fe80::1%25eth-0]/", .absolute, "/", nil, "[fe80::1%25eth-0]"),
        ] as [(String, RequestTarget.Form, String?, String?, String?)])
    func parsesForms(text: String, form: RequestTarget.Form, path: String?, query: String?, authority: String?) throws {
        let target = try #require(RequestTarget(text))
        #expect(target.form == form)
        #expect(target.path == path)
        #expect(target.query == query)
        #expect(target.authority == authority)
        #expect(target.description == text)
    }

    @Test(arguments: [
        "", " ", "/a b", "/é", "a", "?x", "**", "http:", "http:///x", "http://a:b", "/\u{7f}", "/\r\n",
        "http://a@b@c/", "http://[]/", "http://[::1%]/", "http://[::1%a$b]/", "[::1%]:443",
    ])
    func rejectsInvalidTargets(text: String) {
        #expect(RequestTarget(text) == nil)
    }

    @Test func createsAbsoluteForm() throws {
        let url = try #require(URL(string: "http://u:p@a.example:81?q=1#f"))
        #expect(try RequestTarget(absolute: url).description == "http://a.example:81/?q=1")
        #expect(throws: HTTPMessageError(.invalidURL, fault: .caller)) {
            try RequestTarget(absolute: try #require(URL(string: "/x")))
        }
    }

    @Test func convertsToURLs() {
        #expect(("/a?b" as RequestTarget).url?.relativeString == "/a?b")
        #expect(("http://a.example/b" as RequestTarget).url?.absoluteString == "http://a.example/b")
        #expect(RequestTarget.asterisk.url == nil)
    }
}
