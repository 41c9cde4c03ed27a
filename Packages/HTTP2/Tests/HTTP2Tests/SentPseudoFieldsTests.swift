import HPACK
import HTTPMessage
import Testing

@testable import HTTP2

struct SentPseudoFieldsTests {
    /// The fields that a request is sent with, as lines, and the size of their list by the sender's count and by the decoder's.
    private static func sent(_ request: HTTP2Request) throws -> (lines: [String], size: Int, decodedSize: Int) {
        var (block, size) = ([UInt8](), 0)
        try request.withParts { method, authority, path throws(HTTP2Error) in
            let fields = try SentPseudoFields(request, method, authority, path)
            var encoder = HPACKEncoder()
            encoder.beginBlock(into: &block)
            fields.encode(request, method, authority, path, with: &encoder, into: &block)
            size = fields.listSize
        }
        var (decoder, list) = (HPACKDecoder(), HPACKFields())
        try decoder.decode(block.span.bytes, isLast: true, into: &list)
        let text = { (range: Range<Int>) in String(decoding: list.bytes[range], as: UTF8.self) }
        return (list.map { "\(text($0.name)) \(text($0.value))" }, size, list.listSize)
    }

    private static func request(
        _ method: HTTPMethod, _ target: RequestTarget, host: String? = nil, scheme: String = "https",
        protocol name: String? = nil
    ) throws -> HTTP2Request {
        var head = try HTTPRequest(method: method, target: target)
        try head.fields.set(host, for: .host)
        return HTTP2Request(head, scheme: scheme, connectProtocol: name)
    }

    /// RFC 9113 §8.3.1: all of `:method`, `:scheme`, `:authority` and `:path`, and none twice.
    @Test(arguments: [
        ("/a?b=c", "example.org", ":authority example.org", ":path /a?b=c"),
        // The authority of the target is that of the request, whatever the Host beside it is (RFC 9112 §3.2.2).
        ("http://h:8/p?q", "other.example", ":authority h:8", ":path /p?q"),
        ("http://h?q", nil, ":authority h", ":path /?q"),
        ("http://h", nil, ":authority h", ":path /"),
    ])
    func ofARequest(_ target: RequestTarget, _ host: String?, _ authority: String, _ path: String) throws {
        let sent = try Self.sent(Self.request(.get, target, host: host, scheme: "http"))
        #expect(sent.lines == [":method GET", ":scheme http", authority, path])
        #expect(sent.size == sent.decodedSize)
    }

    /// RFC 9113 §8.5: `:scheme` and `:path` are left out.
    @Test func ofAConnect() throws {
        let sent = try Self.sent(Self.request(.connect, "example.org:443", host: "other.example", scheme: ""))
        #expect(sent.lines == [":method CONNECT", ":authority example.org:443"])
        #expect(sent.size == sent.decodedSize)
    }

    /// RFC 8441 §4: all five of them.
    @Test func ofAnExtendedConnect() throws {
        let sent = try Self.sent(Self.request(.get, "/chat", host: "example.org", protocol: "websocket"))
        #expect(
            sent.lines == [
                ":method CONNECT", ":scheme https", ":authority example.org", ":path /chat", ":protocol websocket",
            ])
        #expect(sent.size == sent.decodedSize)
    }

    @Test func mistakes() throws {
        for (request, reason) in [
            (try Self.request(.get, "/"), "the request has neither Host nor an absolute target"),
            (try Self.request(.get, "/", host: ""), "the request has neither Host nor an absolute target"),
            (try Self.request(.get, "/", host: "a b"), "'a b' is not a host with an optional port"),
            (try Self.request(.get, "/", host: "u@a"), "'u@a' is not a host with an optional port"),
            (try Self.request(.get, "/", host: "a", scheme: ""), "the request has no valid scheme"),
            (try Self.request(.get, "/", host: "a", scheme: "1x"), "the request has no valid scheme"),
        ] {
            let error = expectError("RFC 9113 §8.3.1") { try Self.sent(request) }
            #expect(error?.fault == .caller && error?.scope == .call && error?.reason == reason)
        }
    }

    /// What a lenient parser of HTTP/1 has accepted is corrected or refused, so that the peer need not reject it as malformed.
    @Test(arguments: ["/\u{e9}", "/a#b", "/abcdefgh#bcdefgh", "a/b", "*"])
    func toleratedTargetsAreRefused(_ target: String) throws {
        let head = Array("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        var parser = HeadParser(.request, leniency: [.anyTargetForm, .nonASCIITarget])
        _ = try parser.parse(head.span.bytes)
        let request = try parser.makeRequest(from: head.span.bytes)
        var pair = MachinePair()
        let error = #expect(throws: HTTP2Error.self) {
            try pair.client.request(HTTP2Request(request, scheme: "https"), endsHere: true, now: .zero)
        }
        #expect(error?.fault == .caller && error?.rule == "RFC 9113 §8.3.1")
        #expect(pair.client.openStreams == 0)
    }

    /// The authority of a tunnel is its target, never the `Host` beside another one.
    @Test(arguments: ["/public", "*", "a/b", "http://h/p", "h"])
    func aTunnelNeedsATargetInAuthorityForm(_ target: String) throws {
        let head = Array("CONNECT \(target) HTTP/1.1\r\nHost: internal:22\r\n\r\n".utf8)
        var parser = HeadParser(.request, leniency: .anyTargetForm)
        _ = try parser.parse(head.span.bytes)
        let request = try parser.makeRequest(from: head.span.bytes)
        var pair = MachinePair()
        expectMistake("RFC 9113 §8.3.1") {
            try pair.client.request(HTTP2Request(request, scheme: "https"), endsHere: false, now: .zero)
        }
    }

    @Test(arguments: [
        ("http://example.org", "*"), ("http://example.org?q", "/?q"), ("http://example.org/", "/"), ("*", "*"),
    ])
    func optionsOfAWholeServer(_ target: String, _ path: String) throws {
        var pair = MachinePair()
        var head = try HTTPRequest(method: .options, target: #require(RequestTarget(target)))
        try head.fields.set("example.org", for: .host)
        _ = try pair.request(HTTP2Request(head, scheme: "http"))
        var found: [String] = []
        for case .request(_, let request) in pair.server.takeEvents() { found.append("\(request.head.target)") }
        #expect(found == [path])
    }
}
