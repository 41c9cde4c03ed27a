import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// The meaning of a request's head for a server, and the statuses of refusals.
@Suite struct IncomingRequestTests {
    private func incoming(_ head: String, maximumBodyLength: Int64 = 100, isSecure: Bool = false) throws
        -> IncomingRequest
    {
        let bytes = Array(head.utf8)
        var parser = HeadParser(.request)
        #expect(try parser.parse(bytes.span.bytes) == .complete(byteCount: bytes.count))
        return try IncomingRequest(
            parser.makeRequest(from: bytes.span.bytes), maximumBodyLength: maximumBodyLength, isSecure: isSecure)
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

    /// The bytes of the body that have been read, and the most bytes to drop.
    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0, 0, true),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", 9, 0, true),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", 4, 5, true),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", 4, 4, false),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 0, true),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", 0, 9, false),
    ])
    func anotherRequestFollowsAShortRest(_ head: String, _ read: Int, _ limit: Int64, _ isPermitted: Bool) throws {
        let incoming = try incoming(head)
        var decoder = BodyDecoder(incoming.framing)
        if read > 0 { try decoder.receivePayload(read) }
        #expect(incoming.permitsAnother(incoming.exchange, after: decoder, unread: limit) == isPermitted)
    }

    /// RFC 9110 §15.5.9: an idle connection is closed without a response.
    @Test func onlyALateRequestIsRefused() {
        #expect(RequestRefusal(after: .timedOut, hasBegun: true)?.status == .requestTimeout)
        #expect(RequestRefusal(after: .timedOut, hasBegun: false) == nil)
        #expect(RequestRefusal(after: .closed, hasBegun: true) == nil)
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
        ("GET http://a:443/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n", 400),
    ])
    func refused(_ head: String, _ status: Int) {
        let refusal = #expect(throws: RequestRefusal.self) { try incoming(head) }
        #expect(refusal?.status.code == status)
    }

    /// RFC 9112 §3.2.2.
    @Test(arguments: [
        ("http://a/x", "a", "a"), ("http://A/x", "a", "A"), ("http://a:80/x", "a", "a:80"), ("http://a/x", "a:80", "a"),
        ("http://a:/x", "a", "a:"), ("http://[::1]:81/x", "[::1]:81", "[::1]:81"),
        ("/x", "a:82", "a:82"),
    ])
    func theHostOfTheTargetReplacesTheField(_ target: String, _ host: String, _ authority: String) throws {
        let found = try incoming("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n").request
        #expect(found.fields.values(for: .host) == [authority] && found.authority == authority)
    }

    /// RFC 9110 §7.4: another program, such as a cache, could take the response for one of the other scheme.
    @Test(
        arguments: [
            ("http://a/", false, nil), ("http://a/", true, nil), ("HTTPS://a:443/", true, nil),
            ("https://a:80/", true, 400),
            ("https://a/", false, 421), ("HTTPS://b/", false, 421), ("ftp://a/", false, 421), ("ftp://a/", true, 421),
            ("httpx://a/", false, 421),
        ] as [(String, Bool, Int?)])
    func theSchemeOfTheTargetIsTheConnections(_ target: String, _ isSecure: Bool, _ status: Int?) {
        let result = Result { try incoming("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n", isSecure: isSecure) }
        switch result {
        case .success(let found): #expect(status == nil && found.request.authority?.hasPrefix("a") == true)
        case .failure(let error): #expect((error as? RequestRefusal)?.status.code == status)
        }
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
