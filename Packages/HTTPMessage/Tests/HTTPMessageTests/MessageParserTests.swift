import HTTPMessage
import Testing

@Suite struct MessageParserTests {
    /// Returns the events as text, with adjacent pieces of a body joined, after a check that every split gives the same.
    private func events(
        _ kind: MessageParser.Kind, _ text: String, _ leniency: HTTPLeniency = .strict, to methods: [HTTPMethod] = [],
        ends: Bool = true
    ) -> [String] {
        let splits = everySplit(of: Array(text.utf8))
        let whole = events(kind, splits[0], leniency, methods, ends)
        for pieces in splits { #expect(events(kind, pieces, leniency, methods, ends) == whole) }
        return whole
    }

    private func events(
        _ kind: MessageParser.Kind, _ pieces: [ArraySlice<UInt8>], _ leniency: HTTPLeniency, _ methods: [HTTPMethod],
        _ ends: Bool
    ) -> [String] {
        var parser = MessageParser(kind, leniency: leniency)
        methods.forEach { parser.expectResponse(to: $0) }
        var result: [String] = []
        func take(_ event: MessageParser.Event) {
            switch event {
            case .request(let request): result.append(request.requestLine)
            case .response(let response): result.append(response.statusLine)
            case .informational(let response): result.append("(\(response.statusLine))")
            case .body(let bytes):
                let text = String(decoding: bytes, as: UTF8.self)
                if result.last?.hasPrefix("=") == true {
                    result[result.count - 1] += text
                } else {
                    result.append("=" + text)
                }
            case .end(let trailers): result.append("end" + trailers.map { " \($0)" }.joined())
            }
        }
        do throws(HTTPMessageError) {
            for piece in pieces {
                try parser.append(piece)
                while let event = try parser.next() { take(event) }
            }
            if ends, let event = try parser.receiveEnd() { take(event) }
        } catch {
            result.append("error \(error.code.rawValue)")
            return result
        }
        let surplus = String(decoding: parser.surplus, as: UTF8.self)
        return surplus.isEmpty ? result : result + ["surplus " + surplus]
    }

    @Test func parsesPipelinedRequests() {
        let text =
            "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
            + "PUT /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n2\r\nyz\r\n0\r\nT: 1\r\n\r\n"
        #expect(
            events(.request, text) == [
                "POST /1 HTTP/1.1", "=abc", "end", "GET /2 HTTP/1.1", "end", "PUT /3 HTTP/1.1", "=xyz", "end T: 1",
            ])
    }

    @Test func reportsInterimResponses() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: 1\r\n\r\nHTTP/1.1 204 Done\r\n\r\n"
        #expect(
            events(.response, text, to: [.put])
                == ["(HTTP/1.1 100 Continue)", "(HTTP/1.1 103 Early)", "HTTP/1.1 204 Done", "end"])
    }

    @Test func framesResponsesByMethod() {
        let text = "HTTP/1.1 200 A\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 B\r\nContent-Length: 1\r\n\r\nx"
        #expect(
            events(.response, text, to: [.head, .get])
                == ["HTTP/1.1 200 A", "end", "HTTP/1.1 200 B", "=x", "end"])
    }

    @Test func readsUntilClose() {
        #expect(
            events(.response, "HTTP/1.0 200 A\r\n\r\nHTTP/1.1 200 B\r\n\r\n")
                == ["HTTP/1.0 200 A", "=HTTP/1.1 200 B\r\n\r\n", "end"])
    }

    @Test func endsBeforeTunneledBytes() {
        #expect(
            events(.response, "HTTP/1.1 200 Go\r\nContent-Length: 5\r\n\r\n\u{16}\u{3}tls", to: [.connect])
                == ["HTTP/1.1 200 Go", "surplus \u{16}\u{3}tls"])
        #expect(
            events(.response, "HTTP/1.1 101 Switch\r\n\r\nframes") == ["HTTP/1.1 101 Switch", "surplus frames"])
        #expect(
            events(.request, "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n\u{16}")
                == ["CONNECT a:1 HTTP/1.1", "surplus \u{16}"])
    }

    @Test func endsWhenTheServerSwitchesProtocols() throws {
        var parser = MessageParser(.request)
        try parser.append(Array("POST / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nContent-Length: 1\r\n\r\nbframes".utf8))
        guard case .request = try parser.next() else {
            Issue.record("no request")
            return
        }
        parser.switchProtocols()
        #expect(try parser.next() == .body(Array("b".utf8)))
        #expect(try parser.next() == .end(trailers: HTTPFields()))
        #expect(try parser.next() == nil)
        #expect(parser.isFinished && parser.surplus == Array("frames".utf8))
    }

    @Test func rejectsDataAfterTheLastMessage() {
        let text = "HTTP/1.1 200 A\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx\r\nmore"
        #expect(events(.response, text) == ["HTTP/1.1 200 A", "=x", "end", "error dataAfterLastMessage"])
        #expect(events(.response, text, .client) == ["HTTP/1.1 200 A", "=x", "end", "surplus \r\nmore"])
        #expect(
            events(.request, "GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n")
                == ["GET / HTTP/1.0", "end", "error dataAfterLastMessage"])
    }

    @Test(arguments: [
        "HTTP/1.1 200", "HTTP/1.1 200 A\r\nContent-Length: 2\r\n\r\nx",
        "HTTP/1.1 200 A\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    ])
    func detectsTruncation(text: String) {
        #expect(events(.response, text).last == "error truncated")
    }

    @Test func rejectsContradictoryFraming() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(events(.request, head + "0\r\n\r\nGET /evil HTTP/1.1\r\n") == ["error conflictingFraming"])
    }

    @Test func staysFailed() throws {
        var parser = MessageParser(.request)
        try parser.append(Array("@".utf8))
        #expect(throws: HTTPMessageError(.invalidMethod, offset: 0)) { try parser.next() }
        #expect(throws: HTTPMessageError(.parserFinished, fault: .caller)) { try parser.next() }
        #expect(throws: HTTPMessageError(.parserFinished, fault: .caller)) { try parser.append([1]) }
        #expect(throws: HTTPMessageError(.parserFinished, fault: .caller)) { try parser.receiveEnd() }
    }

    // Parity: HM-031
    @Test func reportsItsState() throws {
        var parser = MessageParser(.response)
        #expect(parser.isBetweenMessages && !parser.isFinished)
        try parser.append(Array("HTTP/1.1 204 A\r\n\r\nHT".utf8))
        while try parser.next() != nil {}
        #expect(!parser.isBetweenMessages)
        #expect(parser.surplus == Array("HT".utf8))
    }
}

/// The example of the README, verbatim.
@Test func readmeExample() throws {
    var output: [String] = []
    func print(_ items: Any...) { output.append(items.map { "\($0)" }.joined(separator: " ")) }

    var request = try HTTPRequest(method: .get, target: "/index.html")
    try request.fields.set("example.org", for: .host)
    let bytes = request.serialized()

    var parser = MessageParser(.response, leniency: .client)
    parser.expectResponse(to: .get)
    try parser.append(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8))
    while let event = try parser.next() {
        if case .response(let response) = event { print(response.status, response.fields[.contentLength] ?? "") }
        if case .body(let body) = event { print(String(decoding: body, as: UTF8.self)) }
    }

    #expect(output == ["200 5", "hello"])
    #expect(bytes == Array("GET /index.html HTTP/1.1\r\nHost: example.org\r\n\r\n".utf8))
}
