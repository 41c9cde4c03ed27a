import HTTPMessage
import Testing

@testable import HTTP2

/// Requests and responses between a client and a server, wired in memory.
struct ExchangeTests {
    @Test(arguments: [1, 2, 7, 1000, Int.max]) func bodiesTrailersAndInterimResponses(inPiecesOf size: Int) throws {
        var pair = MachinePair()
        let head = try MachinePair.head(.post, "/upload?x=1", ["Content-Type": "text/plain", "Cookie": "a=b"])
        let stream = try #require(try pair.client.request(head, endsHere: false, now: .zero))
        try pair.exchange(inPiecesOf: size)
        #expect(pair.client.takeEvents() == [.settings])
        let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        var sent = 0
        var received: [UInt8] = []
        var events: [HTTP2Event] = []
        while sent < body.count {
            let outcome = try pair.client.send(Array(body[sent...]), on: stream, endsHere: false)
            sent += outcome.count
            try pair.exchange(inPiecesOf: size)
            events += pair.server.takeEvents()
            let (bytes, end) = try pair.server.readAll(stream)
            received += bytes
            #expect(end == .blocked)
            try pair.exchange(inPiecesOf: size)
        }
        try pair.client.sendTrailers(["X-Sum": "5"], on: stream)
        try pair.exchange(inPiecesOf: size)
        events += pair.server.takeEvents()
        guard
            case .request(stream, let request) = events.first(where: { if case .request = $0 { true } else { false } })
        else { throw MachinePair.NoRoom() }
        #expect(request.head.method == .post && request.head.target == "/upload?x=1" && request.scheme == "https")
        #expect(request.head.fields[.host] == "example.org" && request.head.fields[.cookie] == "a=b")
        #expect(request.head.version == .http20)
        #expect(events.suffix(2) == [.trailers(stream, ["x-sum": "5"]), .ended(stream)])
        #expect(received == body)
        #expect(try pair.server.readAll(stream).1 == .ended)

        try pair.server.respond(stream, with: HTTPResponse(status: .earlyHints), endsHere: false, now: .zero)
        let response = try HTTPResponse(status: .created, fields: ["Content-Length": "5"])
        try pair.server.respond(stream, with: response, endsHere: false, now: .zero)
        #expect(try pair.server.send(Array("hello".utf8), on: stream, endsHere: false).isComplete)
        try pair.server.sendTrailers(["x-end": "1"], on: stream)
        pair.server.close(stream)
        try pair.exchange(inPiecesOf: size)
        let answer = pair.client.takeEvents()
        #expect(answer.count == 5)
        guard case .interim(stream, let hints) = answer[0], case .response(stream, let final) = answer[1] else {
            throw MachinePair.NoRoom()
        }
        #expect(hints.status == .earlyHints && final.status == .created && final.version == .http20)
        #expect(answer[2...] == [.readable(stream), .trailers(stream, ["x-end": "1"]), .ended(stream)])
        #expect(try pair.client.readAll(stream) == (Array("hello".utf8), .ended))
        pair.client.close(stream)
        #expect(pair.client.openStreams == 0 && pair.server.openStreams == 0)
        #expect(pair.client.outputCount == 0 && pair.server.outputCount == 0)
    }

    @Test func aStreamThatIsNotReadDoesNotStarveAnother() throws {
        var pair = MachinePair()
        let (slow, fast) = (try pair.request(), try pair.request())
        try pair.server.respond(slow, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        try pair.server.respond(fast, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        let total = 20 * 1024 * 1024
        let chunk = [UInt8](repeating: 7, count: 65_536)
        var (sentSlow, sentFast, read) = (0, 0, 0)
        while read < total {
            if sentSlow < total { sentSlow += try pair.server.send(chunk, on: slow, endsHere: false).count }
            if sentFast < total { sentFast += try pair.server.send(chunk, on: fast, endsHere: false).count }
            try pair.exchange()
            let (bytes, _) = try pair.client.readAll(fast)
            read += bytes.count
            try pair.exchange()
            _ = pair.server.nextWritable()
            #expect(Int64(sentFast - read) <= HTTP2Limits().maximumStreamWindow)
        }
        #expect(sentSlow == Int(HTTP2Limits().initialStreamWindow))
    }

    @Test func connectOpensATunnel() throws {
        var pair = MachinePair()
        let head = try HTTPRequest(method: .connect, target: "example.com:443")
        let stream = try pair.request(HTTP2Request(head, scheme: ""), endsHere: false)
        let events = pair.server.takeEvents()
        guard case .request(_, let request) = events[1] else { throw MachinePair.NoRoom() }
        #expect(request.head.method == .connect && request.head.target == "example.com:443" && request.scheme.isEmpty)
        try pair.server.respond(stream, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        try pair.exchange()
        for (side, text) in [("client", "hello"), ("server", "welcome")] {
            if side == "client" {
                #expect(try pair.client.send(Array(text.utf8), on: stream, endsHere: false).isComplete)
                try pair.exchange()
                #expect(try pair.server.readAll(stream) == (Array(text.utf8), .blocked))
            } else {
                #expect(try pair.server.send(Array(text.utf8), on: stream, endsHere: true).isComplete)
                try pair.exchange()
                #expect(try pair.client.readAll(stream) == (Array(text.utf8), .ended))
            }
        }
        // The other direction is still open: END_STREAM closes half of a tunnel.
        #expect(try pair.client.send([1], on: stream, endsHere: true).isComplete)
        try pair.exchange()
        #expect(try pair.server.readAll(stream) == ([1], .ended))
        #expect(pair.client.openStreams == 0)
    }

    @Test func extendedConnect() throws {
        var pair = MachinePair(allowsConnectProtocol: true)
        let head = try MachinePair.head(.get, "/chat", ["Sec-WebSocket-Version": "13"])
        let request = HTTP2Request(head.head, scheme: "https", connectProtocol: "websocket")
        expectMistake("RFC 8441 §4") { try pair.client.request(request, endsHere: false, now: .zero) }
        try pair.exchange()
        let stream = try pair.request(request, endsHere: false)
        guard case .request(_, let received) = pair.server.takeEvents()[1] else { throw MachinePair.NoRoom() }
        #expect(received.connectProtocol == "websocket" && received.head.method == .get)
        #expect(received.head.target == "/chat" && received.scheme == "https")
        try pair.server.respond(stream, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        #expect(try pair.server.send([1, 2], on: stream, endsHere: false).isComplete)
        try pair.exchange()
        #expect(try pair.client.readAll(stream) == ([1, 2], .blocked))
    }

    @Test func dataWaitsForTheServersSettings() throws {
        var client = HTTP2ClientMachine(now: .zero)
        let stream = try #require(try client.request(MachinePair.head(.put), endsHere: false, now: .zero))
        #expect(
            try client.send([1, 2, 3], on: stream, endsHere: true) == HTTP2SendOutcome(count: 0, isComplete: false))
        #expect(client.nextWritable() == nil)
        let before = try client.takeParts()
        #expect(!before.contains { if case .begin(let start) = $0 { start.header.kind == .data } else { false } })
        try client.receive(Wire.serverPreface)
        #expect(client.nextWritable() == stream)
        #expect(try client.send([1, 2, 3], on: stream, endsHere: true) == HTTP2SendOutcome(count: 3, isComplete: true))
        #expect(try client.takeParts().first == .settingsAcknowledgment, "the ACK precedes the data")
    }

    @Test func fieldsOfAConnectionAreLeftOutOrRefused() throws {
        var pair = MachinePair()
        let fields: HTTPFields = [
            "Connection": "keep-alive", "Keep-Alive": "timeout=5", "Proxy-Connection": "close", "TE": "trailers",
            "Transfer-Encoding": "chunked", "X-Kept": "1",
        ]
        _ = try pair.request(MachinePair.head(.get, "/", fields))
        guard case .request(_, let request) = pair.server.takeEvents()[1] else { throw MachinePair.NoRoom() }
        #expect(request.head.fields == ["host": "example.org", "te": "trailers", "x-kept": "1"])
        let refused: [HTTPFields] = [
            ["Upgrade": "websocket"], ["Connection": "upgrade"], ["Transfer-Encoding": "gzip"], ["TE": "gzip"],
            ["Content-Length": "x"], ["Transfer-Encoding": "chunked", "Content-Length": "1"],
        ]
        for fields in refused {
            let request = try MachinePair.head(.get, "/", fields)
            let error = #expect(throws: HTTP2Error.self) {
                try pair.client.request(request, endsHere: true, now: .zero)
            }
            #expect(error?.fault == .caller)
        }
        #expect(pair.client.outputCount == 0 && pair.client.openStreams == 1)
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

    @Test func toleratedControlCharactersAreSpaces() throws {
        let head = Array("HTTP/1.1 200 OK\r\nA: \u{1}b\u{7}c\r\nB: d\r\n e\r\n\r\n".utf8)
        var parser = HeadParser(.response, leniency: [.controlCharactersInValues, .foldedLines])
        _ = try parser.parse(head.span.bytes)
        let response = try parser.makeResponse(from: head.span.bytes)
        var pair = MachinePair()
        let stream = try pair.request(MachinePair.head(.get))
        try pair.server.respond(stream, with: response, endsHere: true, now: .zero)
        try pair.exchange()
        let events = pair.client.takeEvents()
        guard case .response(_, let received)? = events.last(where: { if case .response = $0 { true } else { false } })
        else { throw MachinePair.NoRoom() }
        #expect(received.fields == ["a": "b c", "b": "d e"])
    }

    @Test func trailersDoNotFollowDataThatWasNotSent() throws {
        var pair = MachinePair()
        let stream = try pair.request(MachinePair.head(.put), endsHere: false)
        let body = [UInt8](repeating: 1, count: 300_000)
        var sent = try pair.client.send(body, on: stream, endsHere: false).count
        #expect(sent < body.count)
        let error = #expect(throws: HTTP2Error.self) { try pair.client.sendTrailers(["x-a": "1"], on: stream) }
        #expect(error?.fault == .caller && error?.rule == "RFC 9113 §8.1")
        while sent < body.count {
            try pair.exchange()
            _ = try pair.server.readAll(stream)
            try pair.exchange()
            #expect(pair.client.nextWritable() == stream)
            expectMistake("RFC 9113 §8.1") { try pair.client.sendTrailers(["x-a": "1"], on: stream) }
            sent += try pair.client.send(Array(body[sent...]), on: stream, endsHere: false).count
        }
        try pair.client.sendTrailers(["x-a": "1"], on: stream)
        try pair.exchange()
        #expect(pair.server.takeEvents().contains(.trailers(stream, ["x-a": "1"])))
    }

    @Test func headsThatThePeerDoesNotAcceptAreMistakes() throws {
        var limits = HTTP2Limits()
        limits.head.listSize = 400
        var pair = MachinePair(client: limits, server: limits)
        try pair.exchange()
        // The list of a GET for example.org has 42, 44, 53 and 38 bytes, and the field 32 and its length.
        let request = { (length: Int) in
            try MachinePair.head(.get, "/", HTTPFields(["x": String(repeating: "v", count: length)]))
        }
        let error = #expect(throws: HTTP2Error.self) {
            try pair.client.request(request(191), endsHere: true, now: .zero)
        }
        #expect(error?.rule == "RFC 9113 §10.5.1" && error?.scope == .call && error?.fault == .caller)
        #expect(pair.client.outputCount == 0 && pair.client.openStreams == 0)
        let stream = try pair.request(request(190))
        #expect(pair.server.takeEvents().count == 3, "the largest list that is sent is accepted")
        // The field that says the priority counts as well: 32 bytes, its name of 8 and its value of 3.
        var urgent = try request(190 - 43 + 1)
        urgent.priority = HTTP2Priority(urgency: 1)
        let tooLarge = #expect(throws: HTTP2Error.self) {
            try pair.client.request(urgent, endsHere: true, now: .zero)
        }
        #expect(tooLarge?.rule == "RFC 9113 §10.5.1")
        urgent = try request(190 - 43)
        urgent.priority = HTTP2Priority(urgency: 1)
        _ = try pair.request(urgent)
        #expect(pair.server.takeEvents().count == 2, "it is accepted")
        let large = try HTTPFields(["x": String(repeating: "v", count: 400)])
        expectMistake("RFC 9113 §10.5.1") {
            try pair.server.respond(stream, with: HTTPResponse(status: .ok, fields: large), endsHere: false, now: .zero)
        }
        try pair.server.respond(stream, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        expectMistake("RFC 9113 §10.5.1") { try pair.server.sendTrailers(large, on: stream) }
        try pair.server.sendTrailers(["x": "1"], on: stream)
    }

    @Test func contentLengthIsCheckedWhenSent() throws {
        var pair = MachinePair()
        let stream = try pair.request(MachinePair.head(.put, "/", ["Content-Length": "3"]), endsHere: false)
        expectMistake("RFC 9113 §8.1.1") { try pair.client.send([1, 2, 3, 4], on: stream, endsHere: true) }
        expectMistake("RFC 9113 §8.1.1") { try pair.client.send([1, 2], on: stream, endsHere: true) }
        #expect(try pair.client.send([1, 2, 3], on: stream, endsHere: true).isComplete)
        let response = try HTTPResponse(status: .ok, fields: ["Content-Length": "3"])
        expectMistake("RFC 9113 §8.1.1") {
            try pair.server.respond(stream, with: response, endsHere: true, now: .zero)
        }
    }

    /// A head above the size of a frame is continued in CONTINUATION frames (RFC 9113 §6.10), each full but the last one.
    @Test(arguments: [.max, 1, 2, 3, 1000]) func aHeadOfSeveralFrames(inPiecesOf size: Int) throws {
        var pair = MachinePair()
        try pair.exchange()
        let value = String(repeating: "~", count: 40_000)
        let fields = try HTTPFields(["x-large": value])
        let stream = try #require(
            try pair.client.request(MachinePair.head(.get, "/", fields), endsHere: true, now: .zero))
        let output = pair.client.takeOutput()
        var headers: [FrameHeader] = []
        for case .begin(let start) in try Wire.parts(output) { headers.append(start.header) }
        #expect(headers.map(\.kind) == [.headers, .continuation, .continuation])
        #expect(headers.map(\.flags) == [.endStream, [], .endHeaders])
        #expect(headers.map(\.length).dropLast() == [16_384, 16_384])
        try pair.server.receive(output, inPiecesOf: size)
        var found: [String?] = []
        for case .request(_, let request) in pair.server.takeEvents() { found.append(request.head.fields["x-large"]) }
        #expect(found == [value])
        try pair.server.respond(stream, with: HTTPResponse(status: .ok, fields: fields), endsHere: true, now: .zero)
        try pair.client.receive(pair.server.takeOutput(), inPiecesOf: size)
        #expect(pair.client.takeEvents().contains { $0.status(on: stream) == .ok })
    }

    /// Content-Length describes what GET would get: neither side counts it, and neither side has content (RFC 9110 §6.4.1).
    @Test(arguments: [(HTTPMethod.head, HTTPStatus.ok), (.get, .noContent), (.get, .notModified)])
    func aResponseWithoutContent(_ method: HTTPMethod, _ status: HTTPStatus) throws {
        let response = try HTTPResponse(status: status, fields: status == .noContent ? [:] : ["Content-Length": "6"])
        var pair = MachinePair()
        for endsHere in [true, false] {
            let stream = try pair.request(MachinePair.head(method))
            try pair.server.respond(stream, with: response, endsHere: endsHere, now: .zero)
            if !endsHere {
                let error = #expect(throws: HTTP2Error.self) {
                    try pair.server.send(Array("hello\n".utf8), on: stream, endsHere: true)
                }
                #expect(error?.rule == "RFC 9110 §6.4.1" && error?.fault == .caller)
                #expect(try pair.server.send([], on: stream, endsHere: true).isComplete)
            }
            pair.server.close(stream)
            try pair.exchange()
            let events = pair.client.takeEvents()
            #expect(events.contains(.ended(stream)) && events.contains { $0.status(on: stream) == status })
            #expect(try pair.client.readAll(stream) == ([], .ended))
            pair.client.close(stream)
        }
        let stream = try pair.request(MachinePair.head(method))
        let fields = status == .noContent ? [] : [("content-length", "6")]
        let head = Wire.headers(stream.rawValue, ends: false, [(":status", "\(status.code)")] + fields)
        try pair.client.receive(head + Wire.data(stream.rawValue, "hello\n", ends: true))
        guard case .reset(stream, let failure) = pair.client.takeEvents().last,
            case .violation(let error) = failure.cause
        else {
            Issue.record("content was accepted")
            return
        }
        #expect(error.rule == "RFC 9110 §6.4.1" && error.code == .protocolError)
    }

    @Test func anInterimResponseIsNotTheLast() throws {
        var pair = MachinePair()
        let stream = try pair.request()
        for (status, rule) in [(101, "RFC 9113 §8.6"), (103, "RFC 9113 §8.1")] {
            let response = try HTTPResponse(status: #require(HTTPStatus(status)))
            let error = #expect(throws: HTTP2Error.self) {
                try pair.server.respond(stream, with: response, endsHere: true, now: .zero)
            }
            #expect(error?.rule == rule && error?.fault == .caller)
        }
    }

    /// RFC 9110 §8.6: these have no content, and no length that says otherwise.
    @Test(arguments: [(HTTPMethod.get, 103), (.get, 204), (.connect, 200)])
    func aLengthWithoutContentIsAMistake(_ method: HTTPMethod, _ status: Int) throws {
        var pair = MachinePair()
        let request = try MachinePair.head(method, method == .connect ? "a:1" : "/")
        let stream = try pair.request(request, endsHere: method != .connect)
        let response = try HTTPResponse(status: #require(HTTPStatus(status)), fields: ["Content-Length": "5"])
        let error = #expect(throws: HTTP2Error.self) {
            try pair.server.respond(stream, with: response, endsHere: false, now: .zero)
        }
        #expect(error?.rule == "RFC 9110 §8.6" && error?.fault == .caller)
        #expect(pair.server.outputCount == 0)
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

    @Test func aLargeHeadIsAnsweredWith431AndTheConnectionGoesOn() throws {
        var limits = HTTP2Limits()
        limits.head.listSize = 400
        var pair = MachinePair(server: limits)
        let value = String(repeating: "v", count: 300)
        let large = try HTTPFields(["X-Indexed": "1", "X-Large": value])
        let stream = try pair.request(MachinePair.head(.get, "/", large))
        #expect(pair.server.takeEvents() == [.settings])
        guard case .response(stream, let response) = pair.client.takeEvents()[1] else { throw MachinePair.NoRoom() }
        #expect(response.status.code == 431)
        pair.client.close(stream)
        // X-Indexed refers to the dynamic table, which the refused block has filled.
        _ = try pair.request(MachinePair.head(.get, "/", ["X-Indexed": "1"]))
        guard case .request(_, let request) = pair.server.takeEvents()[0] else { throw MachinePair.NoRoom() }
        #expect(request.head.fields["X-Indexed"] == "1")
        #expect(pair.client.openStreams == 1)
    }

    @Test func room() throws {
        var limits = HTTP2Limits()
        limits.maximumConcurrentStreams = 2
        var pair = MachinePair(server: limits)
        #expect(pair.client.room == 100)
        try pair.exchange()
        #expect(pair.client.room == 2)
        let first = try pair.request()
        _ = try pair.request()
        #expect(try pair.client.request(MachinePair.head(), endsHere: true, now: .zero) == nil)
        try pair.server.respond(first, with: HTTPResponse(status: .noContent), endsHere: true, now: .zero)
        pair.server.close(first)
        try pair.exchange()
        #expect(pair.client.takeEvents().contains(.room) && pair.client.room == 1)
    }

    @Test func priorityOrdersResponses() throws {
        var pair = MachinePair()
        var first = try MachinePair.head()
        first.priority = HTTP2Priority(urgency: 5)
        var second = try MachinePair.head()
        second.priority = HTTP2Priority(urgency: 1)
        let (low, high) = (try pair.request(first), try pair.request(second))
        let chunk = [UInt8](repeating: 1, count: 200_000)
        for stream in [low, high] {
            try pair.server.respond(stream, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
            _ = try pair.server.send(chunk, on: stream, endsHere: false)
        }
        _ = pair.server.takeOutput()
        #expect(pair.server.nextWritable() == high)
        _ = try pair.server.send(chunk, on: high, endsHere: false)
        _ = pair.server.takeOutput()
        pair.client.setPriority(HTTP2Priority(urgency: 0), of: low)
        try pair.server.receive(pair.client.takeOutput())
        #expect(pair.server.nextWritable() == low)
    }

    /// RFC 9218 §7: a server keeps the PRIORITY_UPDATE that precedes its request; §5 and RFC 9651 §4.2: lines are one value.
    @Test func prioritiesThatArriveInPartsOrEarly() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface)
        _ = server.takeEvents()
        for (stream, value) in [(UInt32(1), "u=6"), (5, "u=2"), (5, "u=1, i")] {
            try server.receive(Wire.frames { $0.appendPriorityUpdate(StreamID(stream), value) })
        }
        let lines = [("priority", "u=5"), ("priority", "i"), ("priority", "u=4")]
        try server.receive(Wire.get(1) + Wire.get(3, lines) + Wire.get(5, lines) + Wire.get(7))
        var found: [HTTP2Priority] = []
        for case .request(let stream, let request) in server.takeEvents() {
            found.append(request.priority)
            let index = try #require(server.connection.streams.index(of: stream))
            #expect(server.connection.streams[index].priority == request.priority)
        }
        // The last one is kept.
        let expected = [
            HTTP2Priority(), HTTP2Priority(urgency: 4, isIncremental: true),
            HTTP2Priority(urgency: 1, isIncremental: true), HTTP2Priority(),
        ]
        #expect(found == expected)
    }

    @Test func settingsThatTheFirstSettingsLeaveOut() throws {
        var client = HTTP2ClientMachine(now: .zero)
        #expect(client.peerSettings.ignoresRFC7540Priorities == nil)
        try client.receive(Wire.serverPreface)
        #expect(client.peerSettings.ignoresRFC7540Priorities == false)
    }

    /// Streams that wait for the same urgency and have credit: each call of the driver sends something, until all is sent.
    @Test(arguments: [false, true]) func streamsOfOneUrgencyTakeTurns(isIncremental: Bool) throws {
        var pair = MachinePair()
        var left: [StreamID: Int] = [:]
        let chunk = [UInt8](repeating: 1, count: 200_000)
        for _ in 0..<3 {
            var head = try MachinePair.head()
            head.priority = HTTP2Priority(isIncremental: isIncremental)
            let stream = try pair.request(head)
            try pair.server.respond(stream, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
            left[stream] = chunk.count - (try pair.server.send(chunk, on: stream, endsHere: true)).count
        }
        var calls = 0
        while left.values.contains(where: { $0 > 0 }), calls < 1000 {
            while let stream = pair.server.nextWritable(), calls < 1000 {
                let rest = Array(chunk.prefix(left[stream] ?? 0))
                left[stream] = rest.count - (try pair.server.send(rest, on: stream, endsHere: true)).count
                calls += 1
            }
            try pair.client.receive(pair.server.takeOutput(), inPiecesOf: .max, now: .zero)
            var memory = [UInt8](repeating: 0, count: 1_000_000)
            for stream in left.keys {
                var span = memory.mutableSpan
                var target = span.mutableBytes
                _ = try pair.client.read(stream, into: &target, now: .zero)
            }
            try pair.server.receive(pair.client.takeOutput())
        }
        #expect(calls < 100 && left.values.allSatisfy { $0 == 0 })
    }
}
