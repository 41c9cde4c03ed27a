@_spi(Packages) import HTTPMessage
import Testing

@Suite struct BodyDecoderTests {
    // Parity: HM-075
    @Test(arguments: [
        ("0\r\n\r\n", "", []),
        ("000\r\n\r\n", "", []),
        ("5\r\nhello\r\n0\r\n\r\n", "hello", []),
        ("0A\r\n0123456789\r\n1\r\n\n\r\n0\r\n\r\n", "0123456789\n", []),
        ("5;a;b=c;d=\"e;\\\" \t\"\r\nhello\r\n0;z\r\n\r\n", "hello", []),
        ("1\r\nx\r\n0\r\nA: 1\r\nB:  2 \r\n\r\n", "x", ["A: 1", "B: 2"]),
    ])
    func decodesChunks(text: String, payload: String, trailers: [String]) {
        let outcome = decodeBody(BodyDecoder(.chunked), text + "", atEnd: true)
        #expect(outcome.error == nil)
        #expect(outcome.isComplete)
        #expect(outcome.payload == Array(payload.utf8))
        #expect(outcome.trailers == trailers)
        #expect(outcome.consumed == text.utf8.count)
    }

    @Test func leavesTheNextMessageUnconsumed() {
        let outcome = decodeBody(BodyDecoder(.chunked), "1\r\nx\r\n0\r\nA: 1\r\n\r\nHTTP/1.1 200 OK\r\n")
        #expect(outcome.isComplete)
        #expect(outcome.consumed == 17)
    }

    @Test(
        arguments: [
            ("\r\n", .invalidChunkSize, 0), (" 5\r\n", .invalidChunkSize, 0), ("-5\r\n", .invalidChunkSize, 0),
            ("+5\r\n", .invalidChunkSize, 0), ("0x5\r\n", .invalidChunkSize, 1), ("5_0\r\n", .invalidChunkSize, 1),
            ("g\r\n", .invalidChunkSize, 0), (";a\r\n", .invalidChunkSize, 0),
            ("5\u{c}\r\n", .invalidChunkSize, 1),
            ("10000000000000000\r\n", .invalidChunkSize, 16), ("00000000000000001\r\n", .invalidChunkSize, 16),
            ("8000000000000000\r\n", .invalidChunkSize, 15), ("ffffffffffffffff\r\n", .invalidChunkSize, 15),
            ("5\nhello", .invalidChunkDelimiter, 1), ("5\rhello", .invalidChunkDelimiter, 2),
            ("5\r\r\nhello", .invalidChunkDelimiter, 2),
            ("5;a=\r\n", .invalidChunkExtension, 4),
            ("5;=a\r\n", .invalidChunkExtension, 2), ("5;;=a\r\n", .invalidChunkExtension, 3),
            ("5; a b\r\n", .invalidChunkExtension, 5), ("5; \n", .invalidChunkDelimiter, 3),
            ("5;\"\r\n", .invalidChunkExtension, 2),
            ("5;a=\"b\r\n", .invalidChunkExtension, 6), ("5;a=\"b\"c\r\n", .invalidChunkExtension, 7),
            ("5;a=\"\\\n", .invalidChunkExtension, 6), ("5;a\nb", .invalidChunkDelimiter, 3),
            ("5;a=b\ru\r\n", .invalidChunkDelimiter, 6), ("5;a\0\r\n", .invalidChunkExtension, 3),
            ("1\r\nx\n0\r\n\r\n", .invalidChunkDelimiter, 4), ("1\r\nxy\r\n", .invalidChunkDelimiter, 4),
            ("1\r\nx\rx", .invalidChunkDelimiter, 5), ("1\r\nx0\r\n\r\n", .invalidChunkDelimiter, 4),
            ("1\r\nx\r\n\r\n", .invalidChunkSize, 6),
            ("0\r\n\n", .bareLineFeed, 3), ("0\r\nA: 1\n\r\n", .bareLineFeed, 7),
            ("0\r\n A: 1\r\n", .leadingWhitespace, 3),
            ("0\r\nA\r\n", .missingColon, 4), ("1\r\nx\r\n0\r\nA: \0\r\n", .invalidFieldValue, 12),
        ] as [(String, HTTPMessageError.Code, Int)])
    func rejectsInvalidChunks(text: String, code: HTTPMessageError.Code, offset: Int) {
        let outcome = decodeBody(BodyDecoder(.chunked, leniency: .client), text)
        #expect(outcome.error == HTTPMessageError(code, offset: offset))
        #expect(!outcome.isComplete)
    }

    @Test(arguments: ["5 \r\nhello\r\n", "5 ; a = b ;c\r\nhello\r\n", "5;\t a =\t\"b\" ; c \r\nhello\r\n"])
    func toleratesWhitespaceInChunkLines(text: String) {
        let outcome = decodeBody(BodyDecoder(.chunked, leniency: .whitespaceInChunkLines), text + "0\r\n\r\n")
        #expect(outcome.payload == Array("hello".utf8))
        #expect(outcome.isComplete)
    }

    /// RFC 9112 §7.1.1 has `BWS` around `;` and `=`.
    @Test(
        "a server's chunk extensions may be padded and empty, a client's may not",
        arguments: [
            ("5; foo=bar", 2), ("5;a = b", 3), ("5;a =b", 3), ("5;a= b", 4), ("5;a ;b", 3), ("5;a=\"b\" ", 7),
            ("5;", 2),
            ("5; ", 2), ("5;;a", 2), ("5 ; ;", 1), ("5;a;", 4), ("5;a=b;;", 6),
        ])
    func oddChunkExtensions(line: String, offset: Int) {
        let text = line + "\r\nhello\r\n0;\r\n\r\n"
        let outcome = decodeBody(BodyDecoder(.chunked, leniency: .client), text)
        #expect(outcome.isComplete && outcome.payload == Array("hello".utf8))
        #expect(decodeBody(BodyDecoder(.chunked), text).error?.offset == offset)
    }

    @Test("a server's chunk sizes may be padded with blanks, a client's may not") func paddedChunkSizes() {
        let text = "6   \r\nhello,\r\n6\t;a=b\r\n hello\r\n0   \r\n\r\n"
        let outcome = decodeBody(BodyDecoder(.chunked, leniency: .client), text)
        #expect(outcome.isComplete && outcome.payload == Array("hello, hello".utf8))
        #expect(decodeBody(BodyDecoder(.chunked), text).error == HTTPMessageError(.invalidChunkSize, offset: 1))
        for other in [" 6\r\n", "6 6\r\n", "6  x\r\n"] {
            #expect(decodeBody(BodyDecoder(.chunked, leniency: .client), other).error != nil)
        }
        var limits = HTTPLimits()
        limits.chunkExtensionLength = 10
        let padded = "6" + String(repeating: " ", count: 11)
        let tooLong = decodeBody(BodyDecoder(.chunked, limits: limits, leniency: .client), padded)
        #expect(tooLong.error?.code == .chunkExtensionsTooLong)
    }

    // Parity: HM-078
    @Test(arguments: [
        (BodyFraming.none, "", "", true), (.length(0), "", "", true), (.length(5), "hello", "hello", true),
        (.untilClose, "hello", "hello", true), (.tunnel, "hello", "hello", true),
    ])
    func decodesOtherFramings(framing: BodyFraming, text: String, payload: String, ends: Bool) {
        let outcome = decodeBody(BodyDecoder(framing), text, atEnd: true)
        #expect(outcome.payload == Array(payload.utf8))
        #expect(outcome.error == nil && outcome.isComplete == ends)
    }

    @Test(arguments: [
        (BodyFraming.length(6), "hello", 5), (.chunked, "6\r\nhello", 8), (.chunked, "", 0),
        (.chunked, "0\r\n", 3), (.chunked, "0\r\nA: 1\r\n", 9),
    ])
    func detectsTruncation(framing: BodyFraming, text: String, offset: Int) {
        let outcome = decodeBody(BodyDecoder(framing), text, atEnd: true)
        #expect(outcome.error == HTTPMessageError(.truncated, offset: offset))
    }

    @Test func stopsAtTheEndOfALength() {
        let outcome = decodeBody(BodyDecoder(.length(3)), "abcdef")
        #expect(outcome.payload == Array("abc".utf8))
        #expect(outcome.consumed == 3)
    }

    @Test func countsPayloadThatTheCallerReads() throws {
        var decoder = BodyDecoder(.chunked)
        let head = Array("a\r\n01".utf8)
        var position = 0
        #expect(try decoder.next(in: head.span.bytes, at: &position) == .payload(3..<5))
        #expect(decoder.expectedPayloadCount == 8)
        try decoder.receivePayload(8)
        #expect(decoder.expectedPayloadCount == 0)
        #expect(decoder.payloadCount == 10)
        let rest = Array("\r\n0\r\n\r\n".utf8)
        position = 0
        #expect(!decoder.isPayloadComplete)
        #expect(try decoder.next(in: rest.span.bytes, at: &position) == .end)
        #expect(decoder.isComplete && decoder.isPayloadComplete && position == rest.count)
        #expect(BodyDecoder(.untilClose).expectedPayloadCount == .max)
        #expect(BodyDecoder(.length(7)).expectedPayloadCount == 7)
    }

    @Test(arguments: 1...12)
    func decodesIntoTheCallersMemory(room: Int) throws {
        var decoder = BodyDecoder(.chunked)
        var input = Array("5\r\nhello\r\n6\r\n world\r\n0\r\nA: 1\r\n\r\nnext".utf8)
        var payload: [UInt8] = []
        while !decoder.isComplete {
            let piece = try [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                var output = OutputRawSpan(buffer: UnsafeMutableRawBufferPointer(buffer), initializedCount: 0)
                let (consumed, written) = try decoder.decode(input.span.bytes, into: &output)
                count = output.finalize(for: UnsafeMutableRawBufferPointer(buffer))
                #expect(count == written)
                input.removeFirst(consumed)
            }
            payload += piece
        }
        #expect(payload == Array("hello world".utf8))
        #expect(input == Array("next".utf8))
        #expect(decoder.trailers["a"] == "1")
    }

    @Test func staysFailed() {
        var decoder = BodyDecoder(.chunked)
        let bad = Array("x".utf8)
        var position = 0
        #expect(throws: HTTPMessageError(.invalidChunkSize, offset: 0)) {
            try decoder.next(in: bad.span.bytes, at: &position)
        }
        #expect { try decoder.next(in: bad.span.bytes, at: &position) } throws: {
            ($0 as? HTTPMessageError)?.code == .parserFinished
        }
    }

    /// RFC 9110 §6.5.1: fields that frame, route or authenticate are an error, or are dropped and stored separately.
    @Test(arguments: [
        "Content-Length: 5", "transfer-encoding: chunked", "Host: b", "Authorization: Basic eDp5", "Set-Cookie: a=b",
        "Cookie: a=b", "WWW-Authenticate: Basic", "Proxy-Authenticate: Basic", "Proxy-Authorization: Basic eDp5",
        "Connection: close", "TE: trailers", "Upgrade: x", "Expect: 100-continue",
    ])
    func rejectsOrDropsForbiddenTrailers(line: String) throws {
        let body = Array("2\r\nab\r\n0\r\nA: 1\r\n\(line)\r\n\(line)\r\nB: 2\r\n\r\n".utf8)
        for pieces in everySplit(of: body) {
            var strict = BodyDecoder(.chunked)
            #expect(throws: HTTPMessageError(.forbiddenTrailer, offset: 16)) { try Self.feed(pieces, to: &strict) }
            #expect(strict.trailers.isEmpty)
            var client = BodyDecoder(.chunked, leniency: .client)
            try Self.feed(pieces, to: &client)
            #expect(client.isComplete)
            #expect(client.trailers.map(\.description) == ["A: 1", "B: 2"])
            #expect(client.droppedTrailers.map(\.description) == [line, line])
        }
    }

    private static func feed(_ pieces: [ArraySlice<UInt8>], to decoder: inout BodyDecoder) throws {
        for piece in pieces {
            var position = 0
            while case .payload = try decoder.next(in: piece.span.bytes, at: &position) {}
        }
    }

    @Test func keepsOtherTrailers() throws {
        let body = Array(
            "0\r\nVary: *\r\nTrailer: a\r\nContent-Type: text/plain\r\nAuthentication-Info: a=1\r\n\r\n".utf8)
        var decoder = BodyDecoder(.chunked)
        var position = 0
        #expect(try decoder.next(in: body.span.bytes, at: &position) == .end)
        #expect(decoder.trailers.count == 4 && decoder.droppedTrailers.isEmpty)
    }
}

@Suite struct ChunkedEncoderTests {
    @Test func writesChunks() throws {
        var output: [UInt8] = []
        for text in ["hello", "", String(repeating: "x", count: 26)] {
            ChunkedEncoder.write(Array(text.utf8).span.bytes, into: &output)
        }
        try ChunkedEncoder.writeEnd(trailers: ["A": "1"], into: &output)
        let expected = "5\r\nhello\r\n1a\r\n\(String(repeating: "x", count: 26))\r\n0\r\nA: 1\r\n\r\n"
        #expect(String(decoding: output, as: UTF8.self) == expected)
        let outcome = decodeBody(BodyDecoder(.chunked), expected)
        #expect(outcome.isComplete && outcome.trailers == ["A: 1"] && outcome.payload.count == 31)
    }

    @Test(arguments: [(1, "1"), (15, "f"), (16, "10"), (255, "ff"), (4096, "1000"), (Int.max, "7fffffffffffffff")])
    func writesSizes(count: Int, text: String) {
        var output: [UInt8] = []
        ChunkedEncoder.writeHead(of: count, into: &output)
        #expect(output == Array("\(text)\r\n".utf8))
    }

    @Test(arguments: [HTTPFieldName.contentLength, .transferEncoding, .host, .authorization, .trailer])
    func rejectsForbiddenTrailers(name: HTTPFieldName) throws {
        var trailers = HTTPFields()
        try trailers.append("1", for: name)
        var output: [UInt8] = []
        #expect(throws: HTTPMessageError(.invalidFieldName, fault: .caller)) {
            try ChunkedEncoder.writeEnd(trailers: trailers, into: &output)
        }
        #expect(output.isEmpty)
    }
}
