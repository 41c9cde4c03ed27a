import HTTPMessage
import Testing

@testable import HTTP2

/// The rules for fields (RFC 9113 §8.2 and §8.3): each is violated by a list, and only by it.
struct HeadReaderTests {
    /// The lines of `Priority` are one value, unless it is longer than what a PRIORITY_UPDATE may have.
    @Test func prioritiesOfManyLines() throws {
        func priority(_ values: [String]) throws -> HTTP2Priority {
            var server = HTTP2ServerMachine(now: .zero)
            try server.receive(Wire.clientPreface + Wire.get(1, values.map { ("priority", $0) }))
            let index = try #require(server.connection.streams.index(of: StreamID(1)))
            return server.connection.streams[index].priority
        }
        #expect(try priority(["u=1"]) == HTTP2Priority(urgency: 1))
        #expect(try priority(["u=1", "i"]) == HTTP2Priority(urgency: 1, isIncremental: true))
        let long = "x=\"" + String(repeating: "y", count: 300) + "\""
        #expect(try priority(["u=1, " + long]) == HTTP2Priority())
        #expect(try priority([long, "u=1"]) == HTTP2Priority())
    }

    private static let get = Wire.request("GET")

    private static func without(_ name: String) -> [(String, String)] { get.filter { $0.0 != name } }

    private static func with(_ fields: (String, String)...) -> [(String, String)] { get + fields }

    /// The lists of requests, by the rule that they violate.
    private static let requests: [(FieldRule, [(String, String)])] = [
        (.name, with(("na me", "v"))), (.name, with(("", "v"))), (.lowercase, with(("X-Y", "v"))),
        (.lowercase, with(("Connection", "close"))), (.lowercase, with(("Host", "example.org"))),
        (.lowercase, with(("hosT", "other.example"))), (.lowercase, with(("Cookie", "a=b"))),
        (.lowercase, with(("Content-Length", "x"))), (.lowercase, with(("tE", "gzip"))),
        (.value, with(("x", "a\nb"))), (.value, with(("x", " a"))), (.value, with(("x", "a\t"))),
        (.value, with(("x", "a\u{7F}"))),
        (.pseudoFirst, [("x", "y")] + get), (.pseudoKnown, [(":x", "y")] + get),
        (.pseudoKnown, [(":status", "200")] + get),
        (.pseudoOnce, [(":method", "GET")] + get), (.connectionField, with(("connection", "close"))),
        (.connectionField, with(("keep-alive", "1"))), (.connectionField, with(("proxy-connection", "close"))),
        (.connectionField, with(("transfer-encoding", "chunked"))), (.connectionField, with(("upgrade", "h2c"))),
        (.te, with(("te", "gzip"))), (.method, without(":method")),
        (.method, [(":method", "G T")] + without(":method")),
        (.scheme, without(":scheme")), (.scheme, [(":scheme", "1x")] + without(":scheme")), (.path, without(":path")),
        (.path, [(":path", "")] + without(":path")), (.path, [(":path", "x")] + without(":path")),
        (.path, [(":path", "/a b")] + without(":path")), (.path, [(":path", "*")] + without(":path")),
        (.path, [(":path", "http://a/")] + without(":path")), (.path, [(":path", "/#a")] + without(":path")),
        (.authority, [(":authority", "u@a")] + without(":authority")),
        (.authority, [(":authority", "")] + without(":authority")),
        (.authority, without(":authority") + [("host", "a b")]), (.authorityPresent, without(":authority")),
        (.hostEqual, with(("host", "example.com"))),
        (.hostOnce, with(("host", "example.org"), ("host", "example.org"))),
        (.connect, [(":method", "CONNECT")] + without(":method")),
        (.connect, [(":method", "CONNECT"), (":authority", "a")]),
        (.connectProtocol, [(":protocol", "websocket")] + get),
        (.connectProtocol, [(":protocol", "websocket"), (":method", "CONNECT")] + without(":method")),
        (
            .contentLengthForbidden, [(":method", "CONNECT"), (":authority", "a:1"), ("content-length", "3")]
        ),
        (.contentLength, with(("content-length", "+1"))), (.contentLength, with(("content-length", ""))),
        (.contentLengthOnce, with(("content-length", "1"), ("content-length", "1"))),
    ]

    private static let responses: [(FieldRule, [(String, String)])] = [
        (.status, []), (.status, [(":status", "99")]), (.status, [(":status", "+20")]),
        (.status, [(":status", "2000")]),
        (.switchingProtocols, [(":status", "101")]), (.pseudoKnown, [(":path", "/"), (":status", "200")]),
        (.contentLengthForbidden, [(":status", "204"), ("content-length", "5")]),
        (.contentLengthForbidden, [(":status", "103"), ("content-length", "5")]),
    ]

    /// The rule that a list violates; nil if it is accepted.
    private func violation(
        _ list: [(String, String)], _ read: (HPACKFields) throws(FieldRule) -> Void
    ) throws -> FieldRule? {
        var decoder = HPACKDecoder()
        var fields = HPACKFields()
        try decoder.decode(Wire.block(list).span.bytes, isLast: true, into: &fields)
        do throws(FieldRule) { try read(fields) } catch { return error }
        return nil
    }

    private func request(_ list: [(String, String)], allowsConnectProtocol: Bool = false) throws -> FieldRule? {
        try violation(list) { fields throws(FieldRule) in
            var traits = HeadReader.RequestTraits()
            _ = try HeadReader.request(fields, allowsConnectProtocol: allowsConnectProtocol, &traits)
        }
    }

    @Test func eachRuleIsViolated() throws {
        var visited: Set<FieldRule> = []
        for (rule, list) in Self.requests {
            #expect(try request(list) == rule, "\(list)")
            visited.insert(rule)
        }
        for (rule, list) in Self.responses {
            let found = try violation(list) { fields throws(FieldRule) in
                var contentLength: Int64?
                _ = try HeadReader.response(fields, &contentLength)
            }
            #expect(found == rule, "\(list)")
            visited.insert(rule)
        }
        let trailers = try violation([("a", "b"), (":path", "/")]) { fields throws(FieldRule) in
            _ = try HeadReader.trailers(fields)
        }
        #expect(trailers == .pseudoInTrailers)
        visited.insert(.pseudoInTrailers)
        #expect(visited == Set(FieldRule.allCases))
        for rule in FieldRule.allCases { #expect(rule.text.section.hasPrefix("RFC ") && !rule.text.reason.isEmpty) }
    }

    @Test func whatIsAccepted() throws {
        let accepted: [[(String, String)]] = [
            Self.get, Self.with(("te", "trailers")), Self.with(("host", "EXAMPLE.org")),
            Self.without(":authority") + [("host", "a:8")],
            [(":method", "OPTIONS"), (":path", "*"), (":scheme", "http"), (":authority", "[::1]:80")],
            [(":method", "CONNECT"), (":authority", "a:443")], Self.with(("x", "")), Self.with(("x", "a\tb é")),
            Self.with(("content-length", "0")), [(":path", "//a/..")] + Self.without(":path"),
        ]
        for list in accepted { #expect(try request(list) == nil, "\(list)") }
        let extended = [(":method", "CONNECT"), (":protocol", "websocket")] + Self.without(":method")
        #expect(try request(extended, allowsConnectProtocol: true) == nil)
    }

    @Test(arguments: ["", "web socket", "a\r\nx: y", "é"]) func theProtocolIsAToken(_ name: String) throws {
        let extended = [(":method", "CONNECT"), (":protocol", name)] + Self.without(":method")
        #expect(try request(extended, allowsConnectProtocol: true) == .connectProtocol)
        var pair = MachinePair(allowsConnectProtocol: true)
        try pair.exchange()
        let head = try HTTP2Request(MachinePair.head().head, scheme: "https", connectProtocol: name)
        let error = #expect(throws: HTTP2Error.self) { try pair.client.request(head, endsHere: false, now: .zero) }
        #expect(error?.fault == .caller && error?.scope == .call && pair.client.outputCount == 0)
    }

    @Test func anExtendedConnectHasNoLength() throws {
        let extended = [(":method", "CONNECT"), (":protocol", "websocket")] + Self.without(":method")
        let list = extended + [("content-length", "3")]
        #expect(try request(list, allowsConnectProtocol: true) == .contentLengthForbidden)
        var client = HTTP2ClientMachine(now: .zero)
        let connect = try MachinePair.head(.connect, "a:1", ["Content-Length": "3"])
        let error = #expect(throws: HTTP2Error.self) { try client.request(connect, endsHere: false, now: .zero) }
        #expect(error?.rule == "RFC 9110 §8.6" && error?.fault == .caller)
    }

    @Test func crumbsOfCookiesAreJoined() throws {
        var server = HTTP2ServerMachine(now: .zero)
        let crumbs = [("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"), ("cookie", ""), ("cookie", "c=3")]
        try server.receive(Wire.clientPreface + Wire.get(1, crumbs))
        guard case .request(_, let request) = server.takeEvents()[1] else { throw MachinePair.NoRoom() }
        #expect(request.head.fields.values(for: .cookie) == ["a=1; b=2; c=3"])
        #expect(request.head.fields["x"] == "y")
    }

    @Test func fieldsThatFrameAreLeftOutOfTrailers() throws {
        var server = HTTP2ServerMachine(now: .zero)
        let trailers = [("content-length", "9"), ("x-sum", "1"), ("authorization", "secret"), ("host", "b")]
        try server.receive(Wire.clientPreface + Wire.post(1) + Wire.headers(1, ends: true, trailers))
        #expect(server.takeEvents().contains(.trailers(StreamID(1), ["x-sum": "1"])))
    }

    @Test func descriptionsHideSecrets() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.get(1, [("authorization", "Basic secret"), ("cookie", "secret")]))
        guard case .request(_, let request) = server.takeEvents()[1] else { throw MachinePair.NoRoom() }
        #expect(!"\(request.head)".contains("secret"))
    }
}
