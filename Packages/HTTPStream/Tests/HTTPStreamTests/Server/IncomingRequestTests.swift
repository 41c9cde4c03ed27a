import HTTPMessage
import Testing

@testable import HTTPStream

/// The meaning of a request's head for a server, and the statuses of refusals.
@Suite struct IncomingRequestTests {
    private func incoming(_ head: String, bodyLimit: Int64 = 100) throws -> IncomingRequest {
        let bytes = Array(head.utf8)
        var parser = HeadParser(.request)
        #expect(try parser.parse(bytes.span.bytes) == .complete(byteCount: bytes.count))
        return try IncomingRequest(parser.makeRequest(from: bytes.span.bytes), bodyLimit: bodyLimit)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", BodyFraming.none, true, false),
        ("GET / HTTP/1.0\r\n\r\n", .none, false, false),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", .none, true, false),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", .none, false, false),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n", .length(100), true, false),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", .chunked, true, false),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\n", .length(1), true, true),
        // Nothing to wait for.
        ("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n", .none, true, false),
        ("PUT / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n", .length(1), false, false),
    ])
    func understood(_ head: String, _ framing: BodyFraming, _ persists: Bool, _ expects: Bool) throws {
        let found = try incoming(head)
        #expect(found.framing == framing && found.isPersistent == persists)
        #expect((found.exchange.request == .held) == expects)
    }

    @Test(arguments: [
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n", 413),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n", 400),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", 400),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
        ("PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 501),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: a-miracle\r\n\r\n", 417),
        ("GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", 400), ("GET http://a/ HTTP/1.1\r\nHost: a:81\r\n\r\n", 400),
        ("GET http://a:443/ HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET https://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n", 400),
    ])
    func refused(_ head: String, _ status: Int) {
        let refusal = #expect(throws: RequestRefusal.self) { try incoming(head) }
        #expect(refusal?.status.code == status)
    }

    /// RFC 9112 §3.2.2.
    @Test(arguments: [
        ("http://a/x", "a", "a"), ("http://A/x", "a", "A"), ("http://a:80/x", "a", "a:80"), ("http://a/x", "a:80", "a"),
        ("HTTPS://a:443/x", "a", "a:443"), ("http://a:/x", "a", "a:"), ("http://[::1]:81/x", "[::1]:81", "[::1]:81"),
        ("/x", "a:82", "a:82"),
    ])
    func theHostOfTheTargetReplacesTheField(_ target: String, _ host: String, _ authority: String) throws {
        let found = try incoming("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n").request
        #expect(found.fields.values(for: .host) == [authority] && found.authority == authority)
    }

    @Test func anOldRequestGetsTheHostOfItsTarget() throws {
        #expect(try incoming("GET http://a/x HTTP/1.0\r\n\r\n").request.fields[.host] == "a")
    }

    @Test(arguments: [
        (HTTPMessageError.Code.lineTooLong, true, 414), (.lineTooLong, false, 431), (.headTooLong, false, 431),
        (.tooManyFields, false, 431), (.unsupportedVersion, true, 505), (.missingHost, false, 400),
        (.bareLineFeed, true, 400), (.bodyTooLong, false, 413), (.invalidChunkSize, false, 400),
    ])
    func statuses(_ code: HTTPMessageError.Code, _ isInStartLine: Bool, _ status: Int) {
        #expect(RequestRefusal(HTTPMessageError(code), isInStartLine: isInStartLine).status.code == status)
    }
}
