import HTTPMessage
import HTTPTypes
import Testing

/// The conversions to and from apple/swift-http-types preserve messages, and no converted value can split a message.
struct HTTPTypesConversionsTests {
    /// Parses a request without a body.
    private func request(_ text: String, leniency: HTTPLeniency = .strict) throws -> HTTPMessage.HTTPRequest {
        var parser = HeadParser(.request, leniency: leniency)
        let bytes = Array(text.utf8)
        guard case .complete = try parser.parse(bytes.span.bytes) else { throw HTTPMessageError(.truncated) }
        return try parser.makeRequest(from: bytes.span.bytes)
    }

    @Test(arguments: [
        "GET /a%20b?q=1 HTTP/1.1\r\nHost: example.org:8080\r\nX-ODD: ü\r\nx-odd:  two \r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: [::1]\r\n\r\n",
        "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\nEmpty:\r\n\r\n",
        "PURGE / HTTP/1.1\r\nHost: h\r\n\r\n",
    ])
    func requestsRoundTrip(_ text: String) throws {
        let original = try request(text)
        let there = try HTTPTypes.HTTPRequest(original, scheme: "https")
        #expect(there.method.rawValue == original.method.name)
        #expect(there.authority == original.fields[.host])
        #expect(there.path == (original.method == .connect ? nil : original.target.description))
        let back = try HTTPMessage.HTTPRequest(there)
        #expect(back.requestLine == original.requestLine)
        #expect(back.fields.map(\.name.name) == original.fields.map(\.name.name))
        #expect(back.fields.map(\.rawValue) == original.fields.map(\.rawValue))
    }

    @Test func everyByteOfAValueRoundTrips() throws {
        for byte in UInt8.min...UInt8.max where byte >= 0x20 && byte != 0x7F || byte == 0x09 {
            var fields = HTTPMessage.HTTPFields()
            try fields.append(rawValue: [0x61, byte, 0x62], for: "X")
            let back = try HTTPMessage.HTTPFields(HTTPTypes.HTTPFields(fields))
            #expect(back.map(\.rawValue) == [[0x61, byte, 0x62]])
        }
    }

    @Test func convertsAbsoluteTargets() throws {
        let original = try request("GET http://a.example:81/p?q HTTP/1.1\r\nHost: b.example\r\n\r\n")
        let there = try HTTPTypes.HTTPRequest(original, scheme: "https")
        #expect(there.scheme == "http" && there.authority == "a.example:81" && there.path == "/p?q")
    }

    @Test func rejectsLossyConversions() throws {
        let control = try request(
            "GET / HTTP/1.1\r\nHost: h\r\nX: a\u{1}b\r\n\r\n", leniency: .controlCharactersInValues)
        #expect(throws: HTTPMessageError.self) { try HTTPTypes.HTTPRequest(control, scheme: "http") }
    }

    /// No part of a foreign request can inject a line.
    @Test(arguments: ["/ HTTP/1.1\r\nEvil: 1", "/a b", "", "x", "/\u{0}", "/\n", "//\r"])
    func hostilePaths(_ path: String) {
        var foreign = HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "h", path: "/")
        foreign.path = path
        check(foreign)
    }

    @Test(arguments: ["h\r\nEvil: 1", "a b", "", "h/../x", "user@h", "h:port", "\u{0}"])
    func hostileAuthorities(_ authority: String) {
        check(HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/"))
    }

    private func check(_ foreign: HTTPTypes.HTTPRequest) {
        guard let made = try? HTTPMessage.HTTPRequest(foreign) else { return }
        let lines = String(decoding: made.serialized(), as: UTF8.self).split(separator: "\r\n")
        #expect(lines.count == 2 && !lines.contains { $0.hasPrefix("Evil") }, "\(made)")
    }

    @Test func rejectsRequestsThatHTTP1CannotExpress() throws {
        var connect = HTTPTypes.HTTPRequest(method: .connect, scheme: "https", authority: "h:443", path: "/chat")
        connect.extendedConnectProtocol = "websocket"
        #expect(throws: HTTPMessageError.self) { try HTTPMessage.HTTPRequest(connect) }
        #expect(throws: HTTPMessageError.self) {
            try HTTPMessage.HTTPRequest(HTTPTypes.HTTPRequest(method: .get, scheme: nil, authority: "h", path: nil))
        }
        var twice = HTTPTypes.HTTPRequest(method: .get, scheme: nil, authority: "h", path: "/")
        twice.headerFields[try #require(HTTPTypes.HTTPField.Name("Host"))] = "other"
        #expect(throws: HTTPMessageError.self) { try HTTPMessage.HTTPRequest(twice) }
    }

    @Test(arguments: [100, 200, 204, 418, 599], ["", "OK", "Fine, thanks", "ü"])
    func responsesRoundTrip(_ code: Int, _ reason: String) throws {
        var original = try HTTPMessage.HTTPResponse(status: try #require(HTTPStatus(code)), reason: reason)
        try original.fields.append("a", for: "X-Two")
        try original.fields.append("b", for: "x-two")
        let there: HTTPTypes.HTTPResponse
        do { there = try HTTPTypes.HTTPResponse(original) } catch {
            #expect(reason == "ü" && error.code == .invalidReasonPhrase)
            return
        }
        #expect(there.status.code == code && there.status.reasonPhrase == reason)
        let back = try HTTPMessage.HTTPResponse(there)
        #expect(back.statusLine == original.statusLine && back.fields == original.fields)
    }

    @Test(arguments: [0, 99, 600, 999]) func convertsValidCodesOnly(_ code: Int) {
        let foreign = HTTPTypes.HTTPResponse(status: .init(code: code))
        guard let made = try? HTTPMessage.HTTPResponse(foreign) else { return }
        #expect(made.status.code == code)
    }
}
