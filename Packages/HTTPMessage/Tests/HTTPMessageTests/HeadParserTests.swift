import HTTPMessage
import Testing

@Suite struct HeadParserTests {
    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1", ["Host: a"]),
        ("GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0", []),
        ("\r\n\r\nGET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0", []),
        ("OPTIONS * HTTP/1.1\r\nHOST:\r\n\r\n", "OPTIONS * HTTP/1.1", ["HOST: "]),
        (
            "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", "CONNECT a.example:443 HTTP/1.1",
            ["Host: a.example:443"]
        ),
        (
            "GET http://a.example/x?y HTTP/1.1\r\nHost: [::1]:80\r\nX: \t v\tw \t\r\nx:2\r\n\r\n",
            "GET http://a.example/x?y HTTP/1.1", ["Host: [::1]:80", "X: v\tw", "x: 2"]
        ),
        (
            "M-SEARCH /{}|\\\" HTTP/1.0\r\n!#$%&'*+-.^_`|~09azAZ: \u{e9}\r\n\r\n", "M-SEARCH /{}|\\\" HTTP/1.0",
            ["!#$%&'*+-.^_`|~09azAZ: \u{e9}"]
        ),
    ])
    func acceptsRequest(text: String, line: String, fields: [String]) {
        let outcome = parseHead(.request, text + "surplus")
        #expect(outcome == .head(byteCount: text.utf8.count, firstLine: line, fields: fields))
    }

    // Parity: HM-050, HM-052
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK"),
        ("HTTP/1.1 200\r\n\r\n", "HTTP/1.1 200"),
        ("HTTP/1.1 200 \r\n\r\n", "HTTP/1.1 200 "),
        ("HTTP/1.0 999 \u{e9}t\u{e9}\t!\r\n\r\n", "HTTP/1.0 999 \u{e9}t\u{e9}\t!"),
        ("\r\nHTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue"),
    ])
    func acceptsResponse(text: String, line: String) {
        #expect(
            parseHead(.response, text + "HTTP/1.1 200 OK")
                == .head(byteCount: text.utf8.count, firstLine: line, fields: []))
    }

    // Parity: HM-036
    @Test(
        arguments: [
            ("G@T / HTTP/1.1\r\n", .invalidMethod, 1),
            (" GET / HTTP/1.1\r\n", .invalidMethod, 0),
            ("GET\0 / HTTP/1.1\r\n", .invalidMethod, 3),
            ("GET\t/ HTTP/1.1\r\n", .invalidMethod, 3),
            ("GET  / HTTP/1.1\r\n", .malformedStartLine, 4),
            ("GET /\r\n", .malformedStartLine, 5),
            ("GET /\n", .malformedStartLine, 5),
            ("GET / \r\n", .malformedVersion, 6),
            ("GET /  HTTP/1.1\r\n", .malformedVersion, 6),
            ("GET /\u{e9} HTTP/1.1\r\n", .invalidTarget, 5),
            ("GET /\u{7f} HTTP/1.1\r\n", .invalidTarget, 5),
            ("GET a HTTP/1.1\r\n", .invalidTarget, 4),
            ("GET ../a HTTP/1.1\r\n", .invalidTarget, 4),
            ("GET a.example:80 HTTP/1.1\r\n", .invalidTarget, 4),
            ("GET * HTTP/1.1\r\n", .invalidTarget, 4),
            ("GET http:/a HTTP/1.1\r\n", .invalidTarget, 4),
            ("GET http:///a HTTP/1.1\r\n", .invalidTarget, 4),
            ("GET http://u@:80/ HTTP/1.1\r\n", .invalidTarget, 4),
            ("GET http://u@a/ HTTP/1.1\r\n", .invalidTarget, 4),
            ("GET /a#b HTTP/1.1\r\n", .invalidTarget, 6),
            ("GET # HTTP/1.1\r\n", .invalidTarget, 4),
            ("GET /abcdefghijklmnopqrstuvwx#b HTTP/1.1\r\n", .invalidTarget, 29),
            ("GET http://a/#b HTTP/1.1\r\n", .invalidTarget, 13),
            ("GET http://a:x/ HTTP/1.1\r\n", .invalidTarget, 4),
            ("CONNECT / HTTP/1.1\r\n", .invalidTarget, 8),
            ("CONNECT a.example HTTP/1.1\r\n", .invalidTarget, 8),
            ("CONNECT a.example: HTTP/1.1\r\n", .invalidTarget, 8),
            ("CONNECT a.example:0 HTTP/1.1\r\n", .invalidTarget, 8),
            ("CONNECT a.example:65536 HTTP/1.1\r\n", .invalidTarget, 8),
            ("GET / http/1.1\r\n", .malformedVersion, 6),
            ("GET / HTTP/1.10\r\n", .malformedVersion, 14),
            ("GET / HTTP/1.1 \r\n", .malformedVersion, 14),
            ("GET / HTTP/11.1\r\n", .malformedVersion, 12),
            ("GET / HTTP/2.0\r\n", .unsupportedVersion, 11),
            ("GET / HTTP/0.9\r\n", .unsupportedVersion, 11),
            ("GET / HTTP/1.1\n", .bareLineFeed, 14),
            ("GET / HTTP/1.1\rX", .bareCarriageReturn, 14),
            ("\nGET / HTTP/1.1\r\n", .bareLineFeed, 0),
            ("\rGET / HTTP/1.1\r\n", .bareCarriageReturn, 0),
            ("GET / HTTP/1.1\r\n Host: a\r\n", .leadingWhitespace, 16),
            ("GET / HTTP/1.1\r\nHost : a\r\n", .whitespaceBeforeColon, 20),
            ("GET / HTTP/1.1\r\nHost\r\n", .missingColon, 20),
            ("GET / HTTP/1.1\r\n: a\r\n", .invalidFieldName, 16),
            ("GET / HTTP/1.1\r\nA\0: a\r\n", .invalidFieldName, 17),
            ("GET / HTTP/1.1\r\nA\u{e9}: a\r\n", .invalidFieldName, 17),
            ("GET / HTTP/1.1\r\nA: a\0\r\n", .invalidFieldValue, 20),
            ("GET / HTTP/1.1\r\nA: a\u{1}\r\n", .invalidFieldValue, 20),
            ("GET / HTTP/1.1\r\nA: a\nB: b\r\n", .bareLineFeed, 20),
            ("GET / HTTP/1.1\r\nA: a\rB: b\r\n", .bareCarriageReturn, 20),
            ("GET / HTTP/1.1\r\nA: a\r\n b\r\n", .foldedLine, 22),
            ("GET / HTTP/1.1\r\nA: a\r\n\n", .bareLineFeed, 22),
            ("GET / HTTP/1.1\r\nA: a\r\n\rG", .bareCarriageReturn, 22),
            ("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", .repeatedHost, 25),
            ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", .invalidHost, 22),
            ("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", .invalidHost, 22),
            ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .invalidHost, 22),
            ("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", .invalidHost, 22),
        ] as [(String, HTTPMessageError.Code, Int)])
    func rejectsRequest(text: String, code: HTTPMessageError.Code, offset: Int) {
        #expect(parseHead(.request, text) == .failure(HTTPMessageError(code, offset: offset)))
    }

    @Test func rejectsRequestWithoutHost() {
        let text = "GET / HTTP/1.1\r\n\r\n"
        #expect(parseHead(.request, text) == .failure(HTTPMessageError(.missingHost)))
        #expect(
            parseHead(.request, text, .missingHost) == .head(byteCount: 18, firstLine: "GET / HTTP/1.1", fields: []))
    }

    @Test(
        arguments: [
            ("HTTP/1.1\r\n", .malformedStartLine, 8),
            ("HTTP/1.1\t200 OK\r\n", .malformedStartLine, 8),
            ("HTTP/1.1  200 OK\r\n", .invalidStatusCode, 9),
            ("HTTP/1.1 20 OK\r\n", .invalidStatusCode, 11),
            ("HTTP/1.1 2000 OK\r\n", .invalidStatusCode, 12),
            ("HTTP/1.1 000 OK\r\n", .invalidStatusCode, 9),
            ("HTTP/1.1 -12 OK\r\n", .invalidStatusCode, 9),
            ("HTTP/1.1 abc OK\r\n", .invalidStatusCode, 9),
            ("HTTP/1.1 200 O\0K\r\n", .invalidReasonPhrase, 14),
            ("HTTP/1.1 200 OK\n", .bareLineFeed, 15),
            ("HTTP/1.1 200\n", .bareLineFeed, 12),
            ("HTTP/1.1 200 OK\rX", .bareCarriageReturn, 15),
            ("HTTP/11.1 200 OK\r\n", .malformedVersion, 6),
            ("HTTP/1.01 200 OK\r\n", .malformedStartLine, 8),
            ("HTTP/0.9 200 OK\r\n", .unsupportedVersion, 5),
            ("ICY 200 OK\r\n", .malformedVersion, 0),
            ("hello", .malformedVersion, 0),
        ] as [(String, HTTPMessageError.Code, Int)])
    func rejectsResponse(text: String, code: HTTPMessageError.Code, offset: Int) {
        #expect(parseHead(.response, text) == .failure(HTTPMessageError(code, offset: offset)))
    }

    @Test("a client skips whitespace before a colon, except that of a field on which the length depends")
    func whitespaceBeforeColon() {
        guard case .head(_, _, let fields) = parseHead(.response, "HTTP/1.1 200 OK\r\nServer : x\r\n\r\n", .client)
        else {
            Issue.record("rejected")
            return
        }
        #expect(fields == ["Server: x"])
        for name in ["Content-Length", "content-length\t", "Transfer-Encoding"] {
            let head = "HTTP/1.1 200 OK\r\n\(name) : 5\r\n\r\n"
            guard case .failure(let error) = parseHead(.response, head, .client) else {
                Issue.record("\(name) was accepted")
                continue
            }
            #expect(error.code == .whitespaceBeforeColon)
        }
    }

    // Parity: HM-036
    @Test(
        arguments: [
            (.response, "HTTP/1.1 200 OK\nA: 1\r\nB: 2\n\n", .bareLineFeed, ["A: 1", "B: 2"]),
            (.response, "\nHTTP/1.1 200\nA: 1\n\r\n", .bareLineFeed, ["A: 1"]),
            (.response, "HTTP/1.1 200 OK\rA: 1\r\rx", .bareCarriageReturn, ["A: 1"]),
            (
                .request, "GET / HTTP/1.0\r\nA: a\r\n b\r\n\t c \r\nB:\r\n  d\r\nC: \r\n \r\n\r\n", .foldedLines,
                ["A: a b c", "B: d", "C: "]
            ),
            (.request, "GET / HTTP/1.0\nA: a \n b\n\n", [.foldedLines, .bareLineFeed], ["A: a b"]),
            (.response, "ICY 200 OK\r\nicy-name: x\r\n\r\n", .shoutcastStatusLine, ["icy-name: x"]),
            (.response, "HTTP/1.1 200 OK\r\nA \t: 1\r\n\r\n", .whitespaceBeforeColon, ["A: 1"]),
            (.request, "GET   /   HTTP/1.0\r\n\r\n", .extraSpacesInStartLine, []),
            (.response, "HTTP/1.1   202   Fine \r\nA: 1\r\n\r\n", .extraSpacesInStartLine, ["A: 1"]),
            (.request, "GET / HTTP/5.6\r\nHost: a\r\n\r\n", .anyVersion, ["Host: a"]),
            (.request, "GET /\u{e9}/\u{e9} HTTP/1.0\r\n\r\n", .nonASCIITarget, []),
            (.request, "NOTIFY * HTTP/1.0\r\n\r\n", .anyTargetForm, []),
            (.request, "GET a/b HTTP/1.0\r\n\r\n", .anyTargetForm, []),
            (.request, "GET /a#b HTTP/1.0\r\n\r\n", .anyTargetForm, []),
            (.request, "GET /abcdefgh#b#c HTTP/1.0\r\n\r\n", .anyTargetForm, []),
            (.request, "GET http://u:p@a/b HTTP/1.0\r\n\r\n", .anyTargetForm, []),
            (
                .response, "HTTP/1.1 200 O\u{1}K\r\nA: a\u{1}b\u{7f}\r\n\r\n", .controlCharactersInValues,
                ["A: a\u{1}b\u{7f}"]
            ),
            (.response, "hello\r\n\r\n", .headerlessResponse, []),
            (.response, "HTTPS\r\n\r\n", .headerlessResponse, []),
        ] as [(HeadParser.Kind, String, HTTPLeniency, [String])])
    func acceptsDeviationsOnlyWithTheirFlag(
        kind: HeadParser.Kind, text: String, leniency: HTTPLeniency, fields: [String]
    ) {
        guard case .head(_, _, let found) = parseHead(kind, text, leniency) else {
            Issue.record("rejected with its flag")
            return
        }
        #expect(found == fields)
        guard case .failure = parseHead(kind, text, HTTPLeniency(rawValue: ~leniency.rawValue)) else {
            // Without their flags, these are other heads.
            let others: [HTTPLeniency] = [.bareCarriageReturn, .shoutcastStatusLine]
            if !others.contains(leniency) { Issue.record("accepted with every other flag") }
            return
        }
    }

    /// Parses a head of the maximum length that consists of empty folds. With quadratic work, this would take minutes.
    @Test(.timeLimit(.minutes(5)), arguments: [" \n", "\t\r\n", " \n \t\n"], [1, 5, 2000])
    func parsesEmptyFoldsInLinearTime(fold: String, pieces: Int) {
        let start = Array("HTTP/1.1 200 OK\nX: a \n".utf8)
        let end = Array(" b\n \nY:\n \nZ: c\n\n".utf8)
        let room = HTTPLimits.default.headLength - start.count - end.count
        var head = start
        for _ in 0..<room / fold.utf8.count { head += fold.utf8 }
        head += end
        let size = max(1, head.count / pieces)
        var parser = HeadParser(.response, leniency: .client)
        #expect(throws: Never.self) {
            var progress = HeadParser.Progress.needMore
            for count in stride(from: size, to: head.count, by: size) {
                progress = try parser.parse(head.span.bytes.extracting(0..<count))
                #expect(progress == .needMore)
            }
            #expect(try parser.parse(head.span.bytes) == .complete(byteCount: head.count))
            let response = try parser.makeResponse(from: head.span.bytes)
            #expect(response.fields.map(\.name) == ["X", "Y", "Z"])
            #expect(response.fields.first?.value.first == "a" && response.fields.first?.value.last == "b")
            #expect(response.fields["Y"] == "" && response.fields["Z"] == "c")
        }
    }

    /// Every byte that delimits nothing: the value is kept, and a space when it is passed on. A request is refused.
    @Test(arguments: (1...0x1F).filter { $0 != 0x0A && $0 != 0x0D } + [0x7F])
    func aClientKeepsAResponseWithAControlCharacter(byte: UInt8) throws {
        let head = Array("HTTP/1.1 200 OK\r\nA: a\u{1}b\r\nB: c\r\n\r\n".utf8).map { $0 == 1 ? byte : $0 }
        var parser = HeadParser(.response, leniency: .client)
        #expect(try parser.parse(head.span.bytes) == .complete(byteCount: head.count))
        let fields = try parser.makeResponse(from: head.span.bytes).fields
        #expect(
            fields["A"].map { Array($0.utf8) } == [UInt8(ascii: "a"), byte, UInt8(ascii: "b")] && fields["B"] == "c")
        var written: [[UInt8]] = []
        fields.forEachRawField { _, value in written.append(value.withUnsafeBytes { Array($0) }) }
        #expect(written.first == Array((byte == 9 ? "a\tb" : "a b").utf8))
        let request = Array("GET / HTTP/1.0\r\nA: a\u{1}b\r\n\r\n".utf8).map { $0 == 1 ? byte : $0 }
        guard case .failure = parseHead(.request, bytes: request) else { return #expect(byte == 9) }
    }

    @Test func noFlagAllowsNULOrLineEndingsInValues() {
        let all = HTTPLeniency(rawValue: .max)
        #expect(
            parseHead(.response, "HTTP/1.1 200 OK\r\nA: a\0\r\n\r\n", all)
                == .failure(HTTPMessageError(.invalidFieldValue, offset: 21)))
        #expect(
            parseHead(.trailers, "A: a\n\n", all) == .failure(HTTPMessageError(.bareLineFeed, offset: 4)))
    }

    @Test func parsesTrailers() {
        #expect(parseHead(.trailers, "\r\nx") == .head(byteCount: 2, firstLine: "", fields: []))
        #expect(
            parseHead(.trailers, "A: 1\r\nB: 2\r\n\r\n")
                == .head(byteCount: 14, firstLine: "", fields: ["A: 1", "B: 2"]))
    }

    @Test func countsOffsetsAfterEmptyLines() {
        let text = "\r\nGET / HTTP/1.0\r\nA: 1\r\nB: 2\r\n\r\n"
        #expect(
            parseHead(.request, text)
                == .head(byteCount: text.utf8.count, firstLine: "GET / HTTP/1.0", fields: ["A: 1", "B: 2"]))
    }

    @Test func isReusable() throws {
        var parser = HeadParser(.response)
        for status in [200, 404] {
            let bytes = Array("HTTP/1.1 \(status) X\r\nA: \(status)\r\n\r\n".utf8)
            #expect(try parser.parse(bytes.span.bytes) == .complete(byteCount: bytes.count))
            #expect(parser.byteCount == bytes.count)
            #expect(try parser.makeResponse(from: bytes.span.bytes).status.code == status)
            parser.reset()
            #expect(parser.byteCount == nil)
        }
    }

    @Test func copiesAreIndependent() throws {
        let first = Array("HTTP/1.1 200 OK\r\nA: 1\r\n".utf8)
        var one = HeadParser(.response)
        #expect(try one.parse(first.span.bytes) == .needMore)
        var other = one
        let left = first + Array("B: left\r\n\r\n".utf8)
        let right = first + Array("B: right\r\n\r\n".utf8)
        #expect(try one.parse(left.span.bytes) == .complete(byteCount: left.count))
        #expect(try other.parse(right.span.bytes) == .complete(byteCount: right.count))
        #expect(try one.makeResponse(from: left.span.bytes).fields["B"] == "left")
        #expect(try other.makeResponse(from: right.span.bytes).fields["B"] == "right")
    }

    @Test func rejectsFurtherBytesAfterAnError() throws {
        var parser = HeadParser(.request)
        let bad = Array("@".utf8)
        #expect(throws: HTTPMessageError(.invalidMethod, offset: 0)) { try parser.parse(bad.span.bytes) }
        #expect(throws: HTTPMessageError(.parserFinished, fault: .caller)) { try parser.parse(bad.span.bytes) }
        #expect(throws: HTTPMessageError(.incompleteMessage, fault: .caller)) {
            try parser.makeRequest(from: bad.span.bytes)
        }
    }

    /// A parser reuses the memory of its last message only if that message is no longer referenced.
    @Test(arguments: [1, 100, 10_000])
    func reusesMemoryOnlyOfReleasedMessages(length: Int) throws {
        let heads = ["first", "second", "a rather longer third", "4"].map { reason in
            Array("HTTP/1.1 200 \(reason)\r\nName: \(String(repeating: "x", count: length))\(reason)\r\n\r\n".utf8)
        }
        var parser = HeadParser(.response)
        func parse(_ head: [UInt8], with parser: inout HeadParser) throws -> HTTPResponse {
            parser.reset()
            #expect(try parser.parse(head.span.bytes) == .complete(byteCount: head.count))
            return try parser.makeResponse(from: head.span.bytes)
        }
        // All messages kept; all released; only the fields, or only one field, kept; two copies of one parser.
        let kept = try heads.map { try parse($0, with: &parser) }
        for (response, head) in zip(kept, heads) { #expect(response.serialized() == head) }
        for head in heads { #expect(try parse(head, with: &parser).serialized() == head) }
        let fields = try heads.map { try parse($0, with: &parser).fields }
        #expect(fields == kept.map(\.fields))
        let field = try heads.map { try #require(parse($0, with: &parser).fields.first) }
        #expect(field == kept.map { $0.fields[0] })
        var other = parser
        let one = try parse(heads[0], with: &parser)
        let two = try parse(heads[1], with: &other)
        #expect(one.serialized() == heads[0] && two.serialized() == heads[1])
    }

    @Test func changesDoNotAffectTheNextMessage() throws {
        let head = Array("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\n\r\n".utf8)
        var parser = HeadParser(.response)
        for _ in 0..<3 {
            parser.reset()
            _ = try parser.parse(head.span.bytes)
            var response = try parser.makeResponse(from: head.span.bytes)
            #expect(response.serialized() == head)
            response.fields.remove("A")
            try response.fields.set("other", for: "B")
            #expect(response.fields.count == 1)
        }
    }
}
