import FoundationEssentials
@_spi(Packages) import HTTPMessage
import Testing

@Suite struct HTTPResponseTests {
    // Parity: HM-004
    @Test(arguments: [
        (200, "OK"), (404, "Not Found"), (418, "I'm a teapot"), (999, "Unknown Status"), (299, "Success"),
    ])
    func hasStandardPhrases(code: Int, phrase: String) throws {
        let response = try HTTPResponse(status: try #require(HTTPStatus(code)))
        #expect(response.statusLine == "HTTP/1.1 \(code) \(phrase)")
        #expect(response.serialized() == Array("HTTP/1.1 \(code) \(phrase)\r\n\r\n".utf8))
        #expect(response.reason == phrase)
        #expect(response.status.code == code)
    }

    @Test func hasTheGivenFields() throws {
        let response = try HTTPResponse(status: .ok, fields: ["Content-Type": "text/plain", "A": "b"])
        #expect(response.serialized() == Array("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nA: b\r\n\r\n".utf8))
        let url = try #require(URL(string: "http://example.org/x"))
        let request = try HTTPRequest(method: .put, url: url, fields: ["A": "b"])
        #expect(request.serialized() == Array("PUT /x HTTP/1.1\r\nA: b\r\n\r\n".utf8) && request.url == url)
    }

    /// An existential contains three words without memory of its own.
    @Test func aMessageTakesThreeWords() {
        #expect(MemoryLayout<HTTPResponse>.size <= 24 && MemoryLayout<HTTPRequest>.size <= 24)
    }

    @Test func hasTheURLOfItsRequest() throws {
        let url = try #require(URL(string: "http://example.org/x"))
        var response = try HTTPResponse(status: .ok)
        response.setURL(of: try HTTPRequest(method: .get, url: url))
        #expect(response.url == url)
        response.setURL(of: try HTTPRequest(method: .get, target: "http://example.org/y"))
        #expect(response.url?.absoluteString == "http://example.org/y")
        response.setURL(of: try HTTPRequest(method: .options, target: "*"))
        #expect(response.url == nil)
    }

    /// Copies share their parts until one of them changes.
    @Test func copiesAreIndependent() throws {
        let original = try HTTPResponse(status: .ok)
        var copy = original
        copy.body = [1]
        var other = copy
        other.body = [2]
        try other.fields.set("x", for: .location)
        #expect(original.body == [] && copy.body == [1] && other.body == [2])
        #expect(original != copy && copy != other && copy.fields.isEmpty && copy.statusLine == other.statusLine)
    }

    @Test func messagesWithAnEmptyBodyAreEqualToThoseWithout() throws {
        let original = try HTTPResponse(status: .ok)
        var emptied = original
        emptied.body = [1]
        emptied.body = []
        #expect(emptied == original && emptied.hashValue == original.hashValue)
        #expect(emptied.serialized() == original.serialized())
    }

    /// If each piece copied the body, the address of its bytes would change each time.
    @Test func aBodyGrowsInPlace() throws {
        var response = try HTTPResponse(status: .ok)
        var addresses: [UnsafeRawPointer?] = []
        for piece in 0..<1000 {
            response.body.append(UInt8(truncatingIfNeeded: piece))
            addresses.append(response.body.withUnsafeBytes { $0.baseAddress })
        }
        #expect(response.body.count == 1000)
        #expect(zip(addresses, addresses.dropFirst()).count { $0 != $1 } < 50)
    }

    @Test func aParsedResponseKeepsItsStatusLineWithABodyAndOtherFields() throws {
        var parser = HeadParser(.response)
        let bytes = Array("HTTP/1.1 404 Nowhere\r\nA: 1\r\n\r\n".utf8)
        _ = try parser.parse(bytes.span.bytes)
        let parsed = try parser.makeResponse(from: bytes.span.bytes)
        var changed = parsed
        changed.body = [1]
        #expect(changed.statusLine == "HTTP/1.1 404 Nowhere" && changed.serialized() == bytes + [1])
        changed.fields = ["B": "2"]
        #expect(changed.serialized() == Array("HTTP/1.1 404 Nowhere\r\nB: 2\r\n\r\n".utf8) + [1])
        #expect(parsed.serialized() == bytes && parsed.status == .notFound && changed.status == .notFound)
    }

    // Parity: HM-005, HM-051
    @Test func everyStatusHasAPhraseAndAKind() {
        for code in 100...999 {
            #expect(HTTPStatus(code)?.standardPhrase.isEmpty == false)
        }
        for code in [-1, 0, 99, 1000, .max] { #expect(HTTPStatus(code) == nil) }
        #expect(
            ([100, 200, 300, 400, 500, 600] as [HTTPStatus]).map(\.kind)
                == [.informational, .successful, .redirection, .clientError, .serverError, .serverError])
    }

    @Test func theStatusesOfRFC9110HaveNames() {
        let named: [HTTPStatus] = [
            .continue, .switchingProtocols, .ok, .created, .accepted, .nonAuthoritativeInformation, .noContent,
            .resetContent, .partialContent, .multipleChoices, .movedPermanently, .found, .seeOther, .notModified,
            .useProxy, .temporaryRedirect, .permanentRedirect, .badRequest, .unauthorized, .paymentRequired,
            .forbidden, .notFound, .methodNotAllowed, .notAcceptable, .proxyAuthenticationRequired, .requestTimeout,
            .conflict, .gone, .lengthRequired, .preconditionFailed, .contentTooLarge, .uriTooLong,
            .unsupportedMediaType, .rangeNotSatisfiable, .expectationFailed, .misdirectedRequest,
            .unprocessableContent, .upgradeRequired, .internalServerError, .notImplemented, .badGateway,
            .serviceUnavailable, .gatewayTimeout, .httpVersionNotSupported,
        ]
        let codes = [100, 101] + Array(200...206) + Array(300...305) + [307, 308] + Array(400...417)
        #expect(named.map(\.code) == codes + [421, 422, 426] + Array(500...505))
    }

    // Parity: HM-004
    @Test func acceptsAReason() throws {
        #expect(try HTTPResponse(status: 200, reason: "").serialized() == Array("HTTP/1.1 200 \r\n\r\n".utf8))
        #expect(try HTTPResponse(status: 200, reason: "été", version: .http10).reason == "été")
        #expect(throws: HTTPMessageError(.invalidReasonPhrase, offset: 1, fault: .caller)) {
            try HTTPResponse(status: 200, reason: "a\r\nSet-Cookie: x")
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 301 X\r\nLocation: /a\u{e9} b\r\n\r\n", "/a%C3%A9%20b"),
        ("HTTP/1.1 200 X\r\nLocation: /a\r\n\r\n", nil), ("HTTP/1.1 300 X\r\nLocation: /a\r\n\r\n", "/a"),
        ("HTTP/1.1 304 X\r\nLocation: /a\r\n\r\n", nil), ("HTTP/1.1 308 X\r\n\r\n", nil),
        ("HTTP/1.1 302 X\r\nLocation: /a,b\r\nLocation: /c\r\n\r\n", "/a,b"),
        ("HTTP/1.1 302 X\r\nLocation:\r\n\r\n", nil),
    ])
    func returnsTheRedirectLocation(text: String, location: String?) throws {
        #expect(try parse(text).redirectLocation == location)
    }

    /// `URL` would escape the escapes as well, if it found an invalid character beside them.
    @Test(arguments: [
        ("HTTP/1.1 302 X\r\nLocation: /s?q=a%20b&f[0]=1#[x]\r\n\r\n", "/s?q=a%20b&f%5B0%5D=1#%5Bx%5D"),
        ("HTTP/1.1 302 X\r\nLocation: /a%20b|c^{\"\\`<d>}\r\n\r\n", "/a%20b%7Cc%5E%7B%22%5C%60%3Cd%3E%7D"),
        ("HTTP/1.1 302 X\r\nLocation: /50%off%2\r\n\r\n", "/50%25off%252"),
        ("HTTP/1.1 302 X\r\nLocation: http://[::1]:8/[a]\r\n\r\n", "http://[::1]:8/%5Ba%5D"),
        ("HTTP/1.1 302 X\r\nLocation: //[::1]?[\r\n\r\n", "//[::1]?%5B"),
        ("HTTP/1.1 302 X\r\nLocation: a//[::1]/\r\n\r\n", "a//%5B::1%5D/"),
    ])
    func returnsTheRedirectReference(text: String, location: String) throws {
        let response = try parse(text)
        #expect(response.redirectReference == location)
        #expect(response.redirectLocation?.contains("%5B") == false)
    }

    @Test(arguments: [
        ("1.1", "ETag: \"x\"", true), ("1.1", "ETag: \"x\"y\"", false), ("1.1", "ETag: \"a b\"", false),
        ("1.1", "ETag: \"\u{e9}\"", false), ("1.1", "ETag: \"\(String(repeating: "x", count: 1023))\"", false),
        ("1.0", "ETag: \"x\"", false), ("1.1", "ETag: W/\"x\"", false),
        ("1.1", "Date: Wed, 28 Nov 2007 01:40:10 GMT\r\nLast-Modified: Wed, 28 Nov 2007 01:39:10 GMT", true),
        ("1.1", "Date: Wed, 28 Nov 2007 01:40:10 GMT\r\nLast-Modified: Wed, 28 Nov 2007 01:39:11 GMT", false),
        ("1.1", "A: 1", false),
    ])
    func detectsStrongValidators(version: String, lines: String, strong: Bool) throws {
        #expect(try parse("HTTP/\(version) 200 OK\r\n\(lines)\r\n\r\n").hasStrongValidators == strong)
    }

    @Test(arguments: [
        ("1.1", [], true), ("1.0", [], false), ("1.1", ["Connection: close"], false),
        ("1.0", ["Connection: Keep-Alive"], true), ("1.1", ["Connection: keep-alive, CLOSE"], false),
        ("1.1", ["Connection: a", "Connection: b ,close"], false), ("1.1", ["Connection: closed"], true),
        ("1.1", ["Proxy-Connection: close"], false), ("1.0", ["Proxy-Connection: keep-alive"], false),
        ("1.1", ["Connection: keep-alive", "Proxy-Connection: close"], true),
        ("1.1", ["Transfer-Encoding: chunked", "Content-Length: 1"], false),
        ("1.0", ["Connection: keep-alive", "Transfer-Encoding: chunked"], false),
    ])
    func determinesPersistence(version: String, lines: [String], persistent: Bool) throws {
        let text = "HTTP/\(version) 200 OK\r\n\(lines.map { $0 + "\r\n" }.joined())\r\n"
        #expect(try parse(text).isPersistent == persistent)
    }

    /// Only the case of ASCII letters is ignored: the Kelvin sign in lower case is k.
    @Test func connectionOptions() throws {
        let response = try parse("HTTP/1.1 200 OK\r\nConnection: Close, \u{212A}eep-alive\r\nConnection: X\r\n\r\n")
        #expect(response.fields.connectionOptions == ["close", "\u{212A}eep-alive", "x"])
        #expect(!response.fields.connectionOptions.contains("keep-alive"))
    }

    private func parse(_ text: String) throws -> HTTPResponse {
        let bytes = Array(text.utf8)
        var parser = HeadParser(.response)
        _ = try parser.parse(bytes.span.bytes)
        return try parser.makeResponse(from: bytes.span.bytes)
    }

    /// The property and the URL do not affect each other, and a copy keeps its own.
    @Test func isFileComplete() throws {
        var response = try HTTPResponse(status: .rangeNotSatisfiable)
        let url = URL(string: "http://a/b")
        #expect(!response.isFileComplete)
        response.isFileComplete = true
        #expect(response.isFileComplete && response.url == nil)
        response.url = url
        #expect(response.isFileComplete && response.url == url)
        let copy = response
        response.isFileComplete = false
        #expect(!response.isFileComplete && response.url == url && copy.isFileComplete && copy == response)
        var other = copy
        other.url = nil
        #expect(other.isFileComplete && other.url == nil)
        try other.setURL(of: HTTPRequest(method: .get, url: #require(url)))
        #expect(!other.isFileComplete && other.url == url)
    }
}
