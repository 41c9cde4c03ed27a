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
        try pair.client.sendTrailers(["X-Sum": "5"], on: stream, now: .zero)
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
        try pair.server.sendTrailers(["x-end": "1"], on: stream, now: .zero)
        pair.server.close(stream, now: .zero)
        try pair.exchange(inPiecesOf: size)
        let answer = pair.client.takeEvents()
        #expect(answer.count == 5)
        guard case .interim(stream, let hints) = answer[0], case .response(stream, let final) = answer[1] else {
            throw MachinePair.NoRoom()
        }
        #expect(hints.status == .earlyHints && final.status == .created && final.version == .http20)
        #expect(answer[2...] == [.readable(stream), .trailers(stream, ["x-end": "1"]), .ended(stream)])
        #expect(try pair.client.readAll(stream) == (Array("hello".utf8), .ended))
        pair.client.close(stream, now: .zero)
        #expect(pair.client.openStreams == 0 && pair.server.openStreams == 0)
        #expect(pair.client.outputCount == 0 && pair.server.outputCount == 0)
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
            pair.server.close(stream, now: .zero)
            try pair.exchange()
            let events = pair.client.takeEvents()
            #expect(events.contains(.ended(stream)) && events.contains { $0.status(on: stream) == status })
            #expect(try pair.client.readAll(stream) == ([], .ended))
            pair.client.close(stream, now: .zero)
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
}
