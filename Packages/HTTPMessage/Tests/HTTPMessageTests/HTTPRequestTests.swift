import FoundationEssentials
import HTTPMessage
import Testing

@Suite struct HTTPRequestTests {
    // Parity: HM-002, HM-013
    @Test func createsARequestInFourSteps() throws {
        var request = try HTTPRequest(method: .post, url: try #require(URL(string: "http://a.example/form?x=1#frag")))
        request.body = Array("name=value".utf8)
        try request.fields.set("a.example", for: "Host")
        try request.fields.set("charset=utf-8", for: .contentType)
        try request.fields.set("10", for: .contentLength)
        let text = """
            POST /form?x=1 HTTP/1.1\r\nHost: a.example\r\nContent-Type: charset=utf-8\r\nContent-Length: 10\r\n\r
            name=value
            """
        #expect(String(decoding: request.serialized(), as: UTF8.self) == text)
        #expect(request.url?.absoluteString == "http://a.example/form?x=1#frag")
    }

    // Parity: HM-014
    @Test(arguments: [
        ("http://a.example", "/"), ("http://a.example?q", "/?q"), ("http://u:p@a.example:8080/x", "/x"),
        ("http://a.example/%7Ea/%2F?b=%20#c", "/%7Ea/%2F?b=%20"), ("http://a.example/a/", "/a/"),
        ("http://[::1]/a", "/a"), ("/relative?x", "/relative?x"),
    ])
    func derivesTheTargetFromTheURL(url: String, target: String) throws {
        let request = try HTTPRequest(method: .get, url: try #require(URL(string: url)), version: .http10)
        #expect(request.requestLine == "GET \(target) HTTP/1.0")
    }

    // Parity: HM-001, HM-049
    @Test(arguments: ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "TRACE", "propfind", "M-SEARCH"])
    func acceptsAnyMethod(name: String) throws {
        let request = try HTTPRequest(method: try #require(HTTPMethod(name)), target: "/")
        #expect(request.serialized() == Array("\(name) / HTTP/1.1\r\n\r\n".utf8))
        #expect(request.method.name == name)
    }

    @Test(arguments: [
        ("https://a.example/x", "a.example:443"), ("http://a.example", "a.example:80"),
        ("https://a.example:8443", "a.example:8443"), ("https://[::1]", "[::1]:443"),
    ])
    func derivesHostAndPortForConnect(url: String, target: String) throws {
        let request = try HTTPRequest(method: .connect, url: try #require(URL(string: url)))
        #expect(request.target.description == target)
    }

    @Test func rejectsTargetsThatTheMethodDoesNotAllow() throws {
        #expect { try HTTPRequest(method: .get, target: .asterisk) } throws: {
            ($0 as? HTTPMessageError)?.code == .invalidTarget && ($0 as? HTTPMessageError)?.fault == .caller
        }
        #expect { try HTTPRequest(method: .connect, target: "/") } throws: {
            ($0 as? HTTPMessageError)?.code == .invalidTarget
        }
        #expect { try HTTPRequest(method: .get, url: URL(string: "mailto:a@b")!) } throws: {
            ($0 as? HTTPMessageError)?.code == .invalidURL
        }
        #expect(try HTTPRequest(method: .options, target: .asterisk).requestLine == "OPTIONS * HTTP/1.1")
    }

    @Test func textsThatAreNotLiterals() throws {
        let words = ["PROPFIND", "/a?b", "bad target"]
        let request = try HTTPRequest(method: words[0], target: words[1])
        #expect(request.method == "PROPFIND" && request.target == "/a?b" && request.body == [])
        #expect(try HTTPRequest(method: .get, target: words[1]) == HTTPRequest(method: .get, target: "/a?b"))
        #expect { try HTTPRequest(method: .get, target: words[2]) } throws: {
            ($0 as? HTTPMessageError)?.code == .invalidTarget
        }
        #expect { try HTTPRequest(method: words[2], target: words[1]) } throws: {
            ($0 as? HTTPMessageError)?.code == .invalidMethod
        }
    }

    // Parity: HM-003
    @Test(arguments: [HTTPVersion.http10, .http11, .http20, .http30])
    func serializesAnyVersion(version: HTTPVersion) throws {
        let request = try HTTPRequest(method: .get, target: "/", version: version)
        #expect(request.requestLine.hasSuffix(version.description))
        #expect(request.version == version)
    }

    @Test func replacesTheTarget() throws {
        var request = try HTTPRequest(method: .get, target: "/a")
        try request.fields.set("1", for: "A")
        request.body = [1]
        try request.setTarget("http://a.example/b")
        #expect(request.serialized() == Array("GET http://a.example/b HTTP/1.1\r\nA: 1\r\n\r\n\u{1}".utf8))
    }

    @Test func fieldsMoveBetweenMessages() throws {
        var (one, other) = (
            try parsed("GET /one HTTP/1.0\r\nA: 1\r\n\r\n"), try parsed("GET /two HTTP/1.0\r\nB: 2\r\n\r\n")
        )
        one.fields = other.fields
        swap(&one.fields, &other.fields)
        try other.fields.append("3", for: "C")
        #expect(String(decoding: one.serialized(), as: UTF8.self) == "GET /one HTTP/1.0\r\nB: 2\r\n\r\n")
        #expect(String(decoding: other.serialized(), as: UTF8.self) == "GET /two HTTP/1.0\r\nB: 2\r\nC: 3\r\n\r\n")
        other.fields = HTTPFields()
        #expect(other.requestLine == "GET /two HTTP/1.0")
        #expect(other.method == .get && other.target == "/two")
    }

    // Parity: HM-010
    @Test func copiesTheBody() throws {
        var request = try HTTPRequest(method: .put, target: "/")
        #expect(request.body.isEmpty)
        var bytes = Array("abc".utf8)
        request.body = bytes
        bytes[0] = 0
        #expect(request.body == Array("abc".utf8))
        #expect(!request.fields.contains(.contentLength))
    }

    private func parsed(_ text: String) throws -> HTTPRequest {
        let bytes = Array(text.utf8)
        var parser = HeadParser(.request)
        _ = try parser.parse(bytes.span.bytes)
        return try parser.makeRequest(from: bytes.span.bytes)
    }
}

@Suite struct RequestTargetTests {
    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a:81\r\n\r\n", "a:81"), ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "b"),
        ("GET / HTTP/1.0\r\n\r\n", nil), ("CONNECT c:443 HTTP/1.1\r\nHost: a\r\n\r\n", "c:443"),
    ])
    func theTargetPrecedesTheHostField(_ text: String, _ authority: String?) throws {
        let bytes = Array(text.utf8)
        var parser = HeadParser(.request)
        _ = try parser.parse(bytes.span.bytes)
        #expect(try parser.makeRequest(from: bytes.span.bytes).authority == authority)
    }

    @Test(
        arguments: [
            ("/", RequestTarget.Form.origin, "/", nil, nil), ("/a?b?c", .origin, "/a", "b?c", nil),
            ("http://a.example", .absolute, "", nil, "a.example"),
            ("http://a.example:80/x?y@z", .absolute, "/x", "y@z", "a.example:80"),
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
        "http://a@b@c/", "http://a@b/", "http://@b", "/a#b", "/#", "http://a#b", "#", "http://[]/", "http://[::1%]/",
        "http://[::1%a$b]/", "[::1%]:443",
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

    // Parity: HM-048
    @Test func convertsToURLs() {
        #expect(("/a?b" as RequestTarget).url?.relativeString == "/a?b")
        #expect(("http://a.example/b" as RequestTarget).url?.absoluteString == "http://a.example/b")
        #expect(RequestTarget.asterisk.url == nil)
    }
}
