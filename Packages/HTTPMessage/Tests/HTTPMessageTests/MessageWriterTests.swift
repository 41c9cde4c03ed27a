import HTTPMessage
import Testing

@Suite struct MessageWriterTests {
    /// Passes bytes through a parser and a writer.
    private func relay(
        _ kind: MessageParser.Kind, _ text: String, to methods: [HTTPMethod] = [], ends: Bool = false
    ) throws -> String {
        var parser = MessageParser(kind)
        var writer = MessageWriter()
        for method in methods {
            parser.expectResponse(to: method)
            writer.expectResponse(to: method)
        }
        var output: [UInt8] = []
        try parser.append(Array(text.utf8))
        while let event = try parser.next() {
            try writer.write(event, into: &output)
            // Both see the same framing.
            if let framing = writer.framing { #expect(framing == parser.framing) }
        }
        if ends, let event = try parser.receiveEnd() { try writer.write(event, into: &output) }
        #expect(parser.isFinished == writer.isFinished)
        return String(decoding: output, as: UTF8.self)
    }

    @Test(
        "messages pass unchanged",
        arguments: [
            (
                .request,
                "GET / HTTP/1.1\r\nHost: a\r\n\r\nPUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", []
            ),
            (
                .request,
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n", []
            ),
            (.request, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", []),
            (.request, "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", []),
            (
                .response,
                "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", [.get]
            ),
            (
                .response, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n",
                [.head, .get]
            ),
            (.response, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", [.get]),
        ] as [(MessageParser.Kind, String, [HTTPMethod])])
    func unchanged(_ kind: MessageParser.Kind, _ text: String, _ methods: [HTTPMethod]) throws {
        #expect(try relay(kind, text, to: methods) == text)
    }

    /// An intermediary that tolerates deviations passes none on: it corrects or rejects the head.
    @Test(
        arguments: [
            (.request, "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n", .nonASCIITarget, .invalidTarget),
            (.request, "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", .anyTargetForm, .invalidTarget),
            (.request, "GET a/b HTTP/1.1\r\nHost: a\r\n\r\n", .anyTargetForm, .invalidTarget),
            (.request, "GET * HTTP/1.1\r\nHost: a\r\n\r\n", .anyTargetForm, .invalidTarget),
            (.request, "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", .anyTargetForm, .invalidTarget),
            (.response, "hello", .headerlessResponse, .unsupportedVersion),
            (
                .response, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                .transferEncodingOverridesLength, .conflictingFraming
            ),
        ] as [(MessageParser.Kind, String, HTTPLeniency, HTTPMessageError.Code)])
    func toleratedHeadsAreNotPassedOn(
        _ kind: MessageParser.Kind, _ text: String, _ flag: HTTPLeniency, _ code: HTTPMessageError.Code
    ) throws {
        var parser = MessageParser(kind, leniency: flag)
        try parser.append(Array(text.utf8))
        var event = try parser.next()
        // A further field moves the start line to its own bytes.
        for isChanged in [false, true] {
            if isChanged, case .request(var request) = event {
                try request.fields.set("1.1 proxy", for: "Via")
                event = .request(request)
            }
            let head = try #require(event)
            var (strict, output) = (MessageWriter(), [] as [UInt8])
            let error = #expect(throws: HTTPMessageError.self) { try strict.write(head, into: &output) }
            #expect(error?.code == code && output.isEmpty)
            var lenient = MessageWriter(leniency: flag)
            try lenient.write(head, into: &output)
        }
    }

    @Test func toleratedSyntaxIsCorrected() throws {
        let text = "HTTP/1.1 200 O\u{1}K\nA : \u{1}b\u{7}c\u{1}\nC: d\n e\nContent-Length: 0\n\n"
        var parser = MessageParser(
            .response,
            leniency: [.bareLineFeed, .foldedLines, .whitespaceBeforeColon, .controlCharactersInValues])
        try parser.append(Array(text.utf8))
        var (writer, output) = (MessageWriter(), [] as [UInt8])
        try writer.write(try #require(try parser.next()), into: &output)
        let strict = "HTTP/1.1 200 O K\r\nA: b c\r\nC: d e\r\nContent-Length: 0\r\n\r\n"
        #expect(String(decoding: output, as: UTF8.self) == strict)
    }

    @Test func aBodyUntilTheCloseEndsTheWriter() throws {
        let text = "HTTP/1.1 200 OK\r\n\r\nall the rest"
        #expect(try relay(.response, text, to: [.get], ends: true) == text)
    }

    @Test func eventsThatCannotFollowAreRefused() throws {
        var request = try HTTPRequest(method: .put, target: "/")
        try request.fields.set("a", for: .host)
        try request.fields.set("2", for: .contentLength)
        for (events, code) in [
            ([.body([1])], .outOfOrder), ([.end(trailers: HTTPFields())], .outOfOrder),
            ([.request(request), .request(request)], .outOfOrder),
            ([.request(request), .body([1, 2, 3])], .outOfOrder),
            ([.request(request), .body([1]), .end(trailers: HTTPFields())], .truncated),
            ([.informational(try HTTPResponse(status: .ok))], .outOfOrder),
        ] as [([MessageParser.Event], HTTPMessageError.Code)] {
            var writer = MessageWriter()
            var output: [UInt8] = []
            for event in events.dropLast() { try writer.write(event, into: &output) }
            let before = output
            let last = try #require(events.last)
            let error = #expect(throws: HTTPMessageError.self) { try writer.write(last, into: &output) }
            #expect(error?.code == code && error?.fault == .caller && output == before)
            #expect(throws: HTTPMessageError.self) { try writer.write(.body([]), into: &output) }
        }
    }

    @Test func contradictoryFramingIsRefused() throws {
        var request = try HTTPRequest(method: .put, target: "/")
        try request.fields.set("2", for: .contentLength)
        try request.fields.set("chunked", for: .transferEncoding)
        var writer = MessageWriter()
        var output: [UInt8] = []
        #expect(throws: HTTPMessageError.self) { try writer.write(.request(request), into: &output) }
        #expect(output.isEmpty)
    }
}
