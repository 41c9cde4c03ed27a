import FoundationEssentials
@_spi(Packages) import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

@Suite struct RequestPreparationTests {
    private func head(
        _ method: HTTPMethod = .get, _ url: String = "http://example.org/a?b", version: HTTPVersion = .http11,
        fields: [(HTTPFieldName, String)] = [], body: HTTPBody? = nil, keeps: Bool = false, decodes: Bool = false,
        host: String? = nil, keepsEmptyUserAgent: Bool = false
    ) throws -> RequestPreparation.Head {
        let url = try #require(URL(string: url))
        var request = try HTTPRequest(method: method, url: url, version: version)
        for (name, value) in fields { try request.fields.append(value, for: name) }
        let preparation = RequestPreparation(
            keepsConnection: keeps, decodesContent: decodes, keepsEmptyUserAgent: keepsEmptyUserAgent)
        let host = try host ?? HTTPOrigin(url).hostField
        let head = try preparation.prepare(request, host: host, body: body)
        // The short way for the usual requests gives the same bytes.
        if !request.hasFields, body == nil {
            #expect(try preparation.head(of: request, host: host, nil, .none) == head.bytes)
        }
        return head
    }

    private func text(_ head: RequestPreparation.Head) -> String { String(decoding: head.bytes, as: UTF8.self) }

    // Parity: HM-072, HM-074
    @Test func plainGet() throws {
        #expect(
            try text(head())
                == "GET /a?b HTTP/1.1\r\nHost: example.org\r\nUser-Agent: NetKit/0.1\r\nConnection: close\r\n\r\n")
        #expect(
            try text(head(keeps: true, decodes: true))
                == "GET /a?b HTTP/1.1\r\nHost: example.org\r\nUser-Agent: NetKit/0.1\r\nConnection: keep-alive\r\n"
                + "Accept-Encoding: gzip, deflate, br, zstd\r\n\r\n")
    }

    @Test func aRangeIsNotOfACodedBody() throws {
        let text = try text(head(fields: [(.range, "bytes=5-")], decodes: true))
        #expect(text.contains("\r\nRange: bytes=5-\r\n") && !text.contains("Accept-Encoding"))
    }

    @Test(arguments: [
        ("http://example.org:80/", "example.org:80"), ("http://EXAMPLE.org/", "example.org"),
        ("http://user:secret@example.org:8080/", "example.org:8080"), ("http://[::1]:8080/", "[::1]:8080"),
        ("http://[fe80::1%25lo]/", "[fe80::1]"), ("http://127.0.0.1/", "127.0.0.1"),
    ])
    func host(_ url: String, _ host: String) throws {
        let text = try text(head(.get, url))
        #expect(text.contains("\r\nHost: \(host)\r\n"))
        #expect(!text.contains("secret"))
    }

    @Test func aHostOfTheCaller() throws {
        let text = try text(head(fields: [(.host, "evil.example"), (.accept, "*/*")], host: "www.example.net:8080"))
        #expect(text.hasPrefix("GET /a?b HTTP/1.1\r\nHost: www.example.net:8080\r\nAccept: */*\r\n"))
    }

    @Test(arguments: [
        "", "a b", "a/b", "user@a", "a:b", "a:99999", "[::1", "a\r\nX: y", "a#b", "a?b", "bücher.example", "a\\b",
    ])
    func invalidHosts(_ host: String) throws {
        let stream = try ReadStream(httpURL: try #require(URL(string: "http://example.org/")))
        #expect(throws: StreamError.invalidHost("")) { try stream.set(.http(\.host), to: host) }
        #expect(stream[.http(\.host)] == nil)
        for valid in ["a", "a:80", "127.0.0.1", "[::1]:8080"] {
            try stream.set(.http(\.host), to: valid)
            #expect(stream[.http(\.host)] == valid)
        }
    }

    @Test func theCallersLinesStayAsTheyAre() throws {
        let text = try text(
            head(
                fields: [("x-b", "1"), ("X-A", "2"), ("x-b", "3"), (.userAgent, "me"), (.acceptEncoding, "br")],
                decodes: true))
        #expect(
            text == "GET /a?b HTTP/1.1\r\nHost: example.org\r\nx-b: 1\r\nX-A: 2\r\nx-b: 3\r\nUser-Agent: me\r\n"
                + "Accept-Encoding: br\r\nConnection: close\r\n\r\n")
    }

    /// An empty `User-Agent`, which would be invalid, stands for none.
    @Test func noUserAgent() throws {
        let text = try text(head(fields: [("user-agent", ""), ("X-A", "")]))
        #expect(text == "GET /a?b HTTP/1.1\r\nHost: example.org\r\nX-A: \r\nConnection: close\r\n\r\n")
        #expect(
            try self.text(head(fields: [(.userAgent, "")]))
                == "GET /a?b HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n")
    }

    @Test func anEmptyUserAgentOfACFHTTPMessage() throws {
        for fields: [(HTTPFieldName, String)] in [[(.userAgent, "")], [(.host, "other"), (.userAgent, "")]] {
            #expect(
                try text(head(fields: fields, keepsEmptyUserAgent: true))
                    == "GET /a?b HTTP/1.1\r\nHost: example.org\r\nUser-Agent: \r\nConnection: close\r\n\r\n")
        }
    }

    // Parity: HM-073
    @Test func theStreamsOwnFieldsAreReplaced() throws {
        let text = try text(
            head(
                fields: [
                    (.host, "evil.example"), (.connection, "upgrade"), (.transferEncoding, "gzip"),
                    (.contentLength, "5"), (.accept, "*/*"),
                ]))
        #expect(
            text == "GET /a?b HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\nUser-Agent: NetKit/0.1\r\n"
                + "Connection: close\r\n\r\n")
    }

    // Parity: HM-071
    @Test func framing() throws {
        #expect(try text(head(.post)).contains("Content-Length: 0\r\n"))
        #expect(try text(head(.delete)).contains("Content-Length") == false)
        let known = try head(.get, body: .bytes([1, 2, 3]))
        #expect(text(known).contains("Content-Length: 3\r\n") && known.bodyLength == 3)
        let unknown = try head(.put, body: .stream(length: nil) { ReadStream(bytes: []) })
        #expect(text(unknown).contains("Transfer-Encoding: chunked\r\n") && unknown.bodyLength == nil)
        let stated = try head(
            .put, fields: [(.contentLength, "7")], body: .stream(length: nil) { ReadStream(bytes: []) })
        #expect(text(stated).contains("Content-Length: 7\r\n") && stated.bodyLength == 7)
        for nonsense in ["+7", "-7", "7 7", "0x7", "99999999999999999999"] {
            let head = try head(
                .put, fields: [(.contentLength, nonsense)], body: .stream(length: nil) { ReadStream(bytes: []) })
            #expect(text(head).contains("chunked") && !text(head).contains("Content-Length"))
        }
    }

    /// A head that is too long for the usual memory is prepared in memory of its own.
    @Test func longHeads() throws {
        let preparation = RequestPreparation(keepsConnection: true, decodesContent: true)
        for count in 0...600 {
            let url = try #require(URL(string: "http://a/" + String(repeating: "x", count: count)))
            let request = try HTTPRequest(method: .get, url: url)
            let head = try preparation.head(of: request, host: "a", nil, .none)
            #expect(try preparation.prepare(request, host: "a", body: nil).bytes == head)
        }
    }

    // Parity: HM-003
    @Test func versions() throws {
        #expect(try text(head(version: .http10)).hasPrefix("GET /a?b HTTP/1.0\r\n"))
        #expect(throws: StreamError.self) {
            _ = try head(.put, body: .stream(length: -5) { ReadStream(bytes: []) })
        }
        #expect(throws: StreamError.self) {
            _ = try head(.put, version: .http10, body: .stream(length: nil) { ReadStream(bytes: []) })
        }
        #expect(throws: Never.self) {
            _ = try head(.put, version: .http10, body: .stream(length: 3) { ReadStream(bytes: []) })
        }
    }

    @Test func expectations() throws {
        let expect: [(HTTPFieldName, String)] = [(.expect, "100-Continue")]
        #expect(try head(.put, fields: expect, body: .bytes([1])).expectsContinue)
        #expect(try !head(.put, fields: expect).expectsContinue)
        #expect(try !head(.put, fields: expect, body: .bytes([])).expectsContinue, "nothing waits")
        #expect(try !head(.put, version: .http10, fields: expect, body: .bytes([1])).expectsContinue)
        #expect(try !head(.put, fields: [(.expect, "other")], body: .bytes([1])).expectsContinue)
    }

    @Test func theSentHeadIsParsedAgain() throws {
        let url = try #require(URL(string: "http://example.org/a?b"))
        let head = try head(.put, fields: [("X-A", "1")], body: .bytes([1]))
        let request = try #require(RequestPreparation.parsed(head.bytes)?.at(url))
        #expect(request.method == .put)
        #expect(request.url == url)
        #expect(request.fields.map(\.name.name) == ["Host", "X-A", "User-Agent", "Content-Length", "Connection"])
    }

    @Test func http2HasNoFieldsOfAConnection() throws {
        let url = try #require(URL(string: "http://example.org/a?b"))
        let preparation = RequestPreparation(keepsConnection: true, decodesContent: false)
        var request = try HTTPRequest(method: .put, url: url)
        func names(_ request: HTTPRequest, _ body: HTTPBody?) throws -> [String] {
            let sent = try preparation.prepareForHTTP2(request, host: "example.org", body: body).request
            #expect(sent.method == .put && sent.target.description == "/a?b" && sent.fields[.host] == "example.org")
            return sent.fields.map(\.name.name)
        }
        #expect(try names(request, nil) == ["host", "user-agent", "content-length"])
        let stream = HTTPBody.stream(length: nil) { ReadStream(bytes: []) }
        #expect(try names(request, stream) == ["host", "user-agent"])
        for (name, value): (HTTPFieldName, String) in [
            ("X-A", "1"), (.connection, "X-A"), (.upgrade, "h2c"), ("Keep-Alive", "timeout=5"), (.te, "gzip"),
            (.transferEncoding, "chunked"), (.proxyConnection, "close"), (.host, "evil.example"),
        ] {
            try request.fields.append(value, for: name)
        }
        #expect(try names(request, stream) == ["host", "x-a", "user-agent"])
        try request.fields.set("trailers", for: .te)
        #expect(try names(request, nil) == ["host", "x-a", "te", "user-agent", "content-length"])
    }

    @Test func http2HasTheBytesOfAForwardedField() throws {
        let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX-A: b".utf8) + [0xE9, 13, 10, 13, 10]
        let request = try #require(RequestPreparation.parsed(bytes))
        let preparation = RequestPreparation(keepsConnection: true, decodesContent: false)
        let sent = try preparation.prepareForHTTP2(request, host: "a", body: nil).request
        var values: [[UInt8]] = []
        sent.fields.forEachRawField { _, value in values.append(value.withUnsafeBytes { Array($0) }) }
        #expect(values == [Array("a".utf8), [0x62, 0xE9], Array("NetKit/0.1".utf8)])
    }

    /// What a lenient parser has let pass reaches HTTP/2 in strict form, or is refused as the caller's.
    @Test func forwardedRequestsAreStrict() throws {
        func forwarded(_ text: String) throws -> HTTPRequest {
            let bytes = Array(text.utf8)
            var parser = HeadParser(
                .request,
                leniency: [.foldedLines, .controlCharactersInValues, .whitespaceBeforeColon, .anyTargetForm])
            _ = try parser.parse(bytes.span.bytes)
            return try parser.makeRequest(from: bytes.span.bytes)
        }
        let preparation = RequestPreparation(keepsConnection: true, decodesContent: false)
        let odd = "GET / HTTP/1.1\r\nHost: a\r\nX-A : \u{1}b\u{2}c\u{3}\r\nX-B:\r\n d\r\n e\r\n\r\n"
        let sent = try preparation.prepareForHTTP2(try forwarded(odd), host: "a", body: nil).request
        #expect(sent.fields["X-A"] == "b c" && sent.fields["X-B"]?.hasPrefix("d") == true && sent.fields.count == 4)
        let error = #expect(throws: StreamError.self) {
            try preparation.prepareForHTTP2(
                try forwarded("GET a:1 HTTP/1.1\r\nHost: a\r\n\r\n"), host: "a", body: nil)
        }
        #expect(error == StreamError(HTTPMessageError(.invalidTarget, fault: .caller)))
    }

    /// Both versions follow the same rules.
    @Test(arguments: [false, true], [HTTPMethod.get, .post, .delete])
    func bothVersionsHaveTheSameFields(_ decodes: Bool, _ method: HTTPMethod) throws {
        let url = try #require(URL(string: "http://example.org/"))
        let preparation = RequestPreparation(keepsConnection: true, decodesContent: decodes)
        let bodies: [HTTPBody?] = [
            nil, .bytes([1, 2, 3]), .bytes([]), .stream(length: nil) { ReadStream(bytes: []) },
            .multipart(MultipartForm()),
        ]
        let own: [[(HTTPFieldName, String)]] = [
            [], [(.userAgent, "")], [(.userAgent, "mine")], [(.contentType, "a/b"), ("X-A", "1"), ("X-A", "2")],
            [(.range, "bytes=1-")],
            [(.acceptEncoding, "identity"), (.expect, "100-continue")], [(.contentLength, "3")],
        ]
        for body in bodies {
            for fields in own {
                var request = try HTTPRequest(method: method, url: url)
                for (name, value) in fields { try request.fields.append(value, for: name) }
                let head = try preparation.prepare(request, host: "example.org", body: body)
                var expected = try #require(RequestPreparation.parsed(head.bytes)).fields
                expected.remove(.connection)
                expected.remove(.transferEncoding)
                let (sent, rest) = try preparation.prepareForHTTP2(request, host: "example.org", body: body)
                #expect(
                    rest.bytes.isEmpty && rest.bodyLength == head.bodyLength
                        && rest.expectsContinue == head.expectsContinue)
                #expect(
                    sent.fields.map { "\($0.name.name): \($0.value)" }
                        == expected.map { "\($0.name.name.lowercased()): \($0.value)" })
            }
        }
    }
}
