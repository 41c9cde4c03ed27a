import HTTPMessage
import Testing

@testable import HTTP2

/// What this side sends: heads, data, trailers, and their order (RFC 9113 §6.1, §6.2, §8.1 and §8.2.2, RFC 9218 §5).
struct SendingTests {
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
        #expect(sent == HTTP2Limits().maximumOutput)
        let error = #expect(throws: HTTP2Error.self) {
            try pair.client.sendTrailers(["x-a": "1"], on: stream, now: .zero)
        }
        #expect(error?.fault == .caller && error?.rule == "RFC 9113 §8.1")
        while sent < body.count {
            try pair.exchange()
            _ = try pair.server.readAll(stream)
            try pair.exchange()
            #expect(pair.client.nextWritable() == stream)
            expectMistake("RFC 9113 §8.1") { try pair.client.sendTrailers(["x-a": "1"], on: stream, now: .zero) }
            sent += try pair.client.send(Array(body[sent...]), on: stream, endsHere: false).count
        }
        try pair.client.sendTrailers(["x-a": "1"], on: stream, now: .zero)
        try pair.exchange()
        #expect(pair.server.takeEvents().contains(.trailers(stream, ["x-a": "1"])))
    }

    @Test func headsThatThePeerDoesNotAcceptAreMistakes() throws {
        var limits = HTTP2Limits()
        limits.fieldSection.listSize = 400
        var pair = MachinePair(client: limits, server: limits)
        try pair.exchange()
        // The list of a GET for example.org has 42, 44, 53 and 38 bytes, and the field 32 and its length.
        let request = { (length: Int) in
            try MachinePair.head(.get, "/", HTTPFields(["x": String(repeating: "v", count: length)]))
        }
        let error = #expect(throws: HTTP2Error.self) {
            try pair.client.request(request(191), endsHere: true, now: .zero)
        }
        #expect(error?.rule == "RFC 9113 §10.5.1" && error?.scope == .call && error?.fault == .peer)
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
        let response = try HTTPResponse(status: .ok, fields: large)
        let tooLargeFor = { (body: () throws -> Void) in
            let error = #expect(throws: HTTP2Error.self) { try body() }
            #expect(error?.rule == "RFC 9113 §10.5.1" && error?.scope == .call && error?.fault == .peer)
        }
        tooLargeFor { try pair.server.check(response, on: stream, endsHere: false) }
        tooLargeFor { try pair.server.respond(stream, with: response, endsHere: false, now: .zero) }
        try pair.server.check(HTTPResponse(status: .ok), on: stream, endsHere: false)
        #expect(pair.server.outputCount == 0)
        try pair.server.respond(stream, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        tooLargeFor { try pair.server.sendTrailers(large, on: stream, now: .zero) }
        try pair.server.sendTrailers(["x": "1"], on: stream, now: .zero)
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
        pair.client.setPriority(HTTP2Priority(urgency: 0), of: low, now: .zero)
        try pair.server.receive(pair.client.takeOutput())
        #expect(pair.server.nextWritable() == low)
    }

    /// Streams that wait for the same urgency and have credit: each call of the driver sends something, until all is sent.
    @Test(arguments: [(false, 11), (true, 35)])
    func streamsOfOneUrgencyTakeTurns(isIncremental: Bool, count: Int) throws {
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
        // One call sends 16 KiB of an incremental response, and otherwise as much as the output takes.
        #expect(calls == count && left.values.allSatisfy { $0 == 0 })
    }

    @Test func aSmallRestOfAWindowWaitsForMore() throws {
        var client = HTTP2ClientMachine(now: .zero)
        let stream = try #require(try client.request(MachinePair.head(.put), endsHere: false, now: .zero))
        try client.receive(Wire.serverPreface, now: .zero)
        _ = client.takeOutput()
        let body = [UInt8](repeating: 0, count: 70_000)
        // 65,535 bytes of window: 65,000 leave, and 535 are not worth a frame.
        #expect(try client.send(Array(body[..<65_000]), on: stream, endsHere: false, now: .zero).count == 65_000)
        _ = client.takeOutput()
        #expect(try client.send(Array(body[65_000...]), on: stream, endsHere: true, now: .zero).count == 0)
        #expect(client.nextWritable() == nil && client.nextDeadline == .milliseconds(50))
        try client.tick(now: .milliseconds(50))
        #expect(client.nextWritable() == stream)
        #expect(
            try client.send(Array(body[65_000...]), on: stream, endsHere: true, now: .milliseconds(50)).count == 535)
        try client.receive(Wire.windowUpdate(0, 10_000) + Wire.windowUpdate(1, 10_000), now: .milliseconds(60))
        #expect(client.nextWritable() == stream)
        let rest = try client.send(Array(body[65_535...]), on: stream, endsHere: true, now: .milliseconds(60))
        #expect(rest == HTTP2SendOutcome(count: 4465, isComplete: true))
    }

    @Test(arguments: [0, 1] as [UInt32]) func creditEndsTheWaitForALargerWindow(on stream: UInt32) throws {
        var client = HTTP2ClientMachine(now: .zero)
        let body = [UInt8](repeating: 0, count: 70_000)
        let id = try #require(try client.request(MachinePair.head(.put), endsHere: false, now: .zero))
        // The other window is large already.
        try client.receive(Wire.serverPreface + Wire.windowUpdate(1 - stream, 1 << 20), now: .zero)
        _ = client.takeOutput()
        #expect(try client.send(Array(body[..<65_000]), on: id, endsHere: false, now: .zero).count == 65_000)
        _ = client.takeOutput()
        #expect(try client.send(Array(body[65_000...]), on: id, endsHere: true, now: .zero).count == 0)
        #expect(client.nextWritable() == nil)
        try client.receive(Wire.windowUpdate(stream, 10_000), now: .zero)
        #expect(client.nextWritable() == id)
    }

    @Test func theEndOfABodyDoesNotWait() throws {
        var client = HTTP2ClientMachine(now: .zero)
        let stream = try #require(try client.request(MachinePair.head(.put), endsHere: false, now: .zero))
        try client.receive(Wire.serverPreface, now: .zero)
        let body = [UInt8](repeating: 0, count: 65_535)
        #expect(try client.send(Array(body[..<65_000]), on: stream, endsHere: false, now: .zero).count == 65_000)
        _ = client.takeOutput()
        #expect(try client.send(Array(body[65_000...]), on: stream, endsHere: true, now: .zero).isComplete)
    }
}
