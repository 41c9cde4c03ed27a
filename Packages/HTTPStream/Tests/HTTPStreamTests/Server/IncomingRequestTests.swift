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
    ])
    func refused(_ head: String, _ status: Int) {
        let refusal = #expect(throws: RequestRefusal.self) { try incoming(head) }
        #expect(refusal?.status.code == status)
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
