import HTTPMessage
import Testing

@Suite struct HTTPLimitsTests {
    private func limits(_ change: (inout HTTPLimits) -> Void) -> HTTPLimits {
        var limits = HTTPLimits.default
        change(&limits)
        return limits
    }

    // Parity: HM-039
    @Test func limitsLines() {
        let limits = limits { $0.lineLength = 16 }
        let fits = "GET / HTTP/1.0\r\nABCDEFG: 2345678\r\n\r\n"
        #expect(parseHead(.request, fits, limits: limits) != .needMore)
        guard case .head = parseHead(.request, fits, limits: limits) else {
            Issue.record("a line of the allowed length was rejected")
            return
        }
        #expect(
            parseHead(.request, "GET / HTTP/1.0\r\nABCDEFG: 23456789\r\n\r\n", limits: limits)
                == .failure(HTTPMessageError(.lineTooLong, offset: 32)))
        #expect(
            parseHead(.request, "GET /12345 HTTP/1.0\r\n\r\n", limits: limits)
                == .failure(HTTPMessageError(.lineTooLong, offset: 16)))
        #expect(
            parseHead(.request, "GET / HTTP/1.0\r\nABCDEFG: 23456789\0", limits: limits)
                == .failure(HTTPMessageError(.lineTooLong, offset: 32)))
        #expect(
            parseHead(.response, "HTTP/1.1 200 so long a phrase\r\n\r\n", limits: limits)
                == .failure(HTTPMessageError(.lineTooLong, offset: 16)))
    }

    // Parity: HM-039
    @Test func limitsFields() {
        let text = "GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\n\r\n"
        guard case .head = parseHead(.request, text, limits: limits { $0.fieldCount = 2 }) else {
            Issue.record("the allowed number of fields was rejected")
            return
        }
        #expect(
            parseHead(.request, text, limits: limits { $0.fieldCount = 1 })
                == .failure(HTTPMessageError(.tooManyFields, offset: 22)))
    }

    // Parity: HM-039
    @Test func limitsHeads() {
        let text = "GET / HTTP/1.0\r\nA: 1\r\n\r\n"
        guard case .head = parseHead(.request, text, limits: limits { $0.headLength = text.utf8.count }) else {
            Issue.record("a head of the allowed length was rejected")
            return
        }
        #expect(
            parseHead(.request, text, limits: limits { $0.headLength = text.utf8.count - 1 })
                == .failure(HTTPMessageError(.headTooLong, offset: text.utf8.count - 1)))
    }

    // Parity: HM-038
    @Test func limitsEmptyLines() {
        let limits = limits { $0.leadingEmptyLines = 1 }
        guard case .head = parseHead(.request, "\r\nGET / HTTP/1.0\r\n\r\n", limits: limits) else {
            Issue.record("the allowed empty line was rejected")
            return
        }
        #expect(
            parseHead(.request, "\r\n\r\nGET / HTTP/1.0\r\n\r\n", limits: limits)
                == .failure(HTTPMessageError(.tooManyEmptyLines, offset: 2)))
    }

    @Test func limitsChunkExtensions() {
        let decoder = BodyDecoder(.chunked, limits: limits { $0.chunkExtensionLength = 4 })
        #expect(decodeBody(decoder, "1;ab\r\nx\r\n0\r\n\r\n").isComplete)
        let outcome = decodeBody(decoder, "1;ab\r\nx\r\n1;ab\r\nx\r\n0\r\n\r\n")
        #expect(outcome.error?.code == .chunkExtensionsTooLong)
    }

    @Test(arguments: [BodyFraming.length(5), .chunked, .untilClose])
    func limitsBodies(framing: BodyFraming) {
        let text = framing == .chunked ? "5\r\nhello\r\n0\r\n\r\n" : "hello"
        let five = decodeBody(BodyDecoder(framing, limits: limits { $0.bodyLength = 5 }), text, atEnd: true)
        #expect(five.error == nil && five.payload == Array("hello".utf8))
        let outcome = decodeBody(
            BodyDecoder(framing, limits: limits { $0.bodyLength = 4 }), [Array(text.utf8)[...]], atEnd: true)
        #expect(outcome.error?.code == .bodyTooLong)
    }

    @Test func limitsTrailers() {
        let limits = limits { $0.fieldCount = 1 }
        let outcome = decodeBody(BodyDecoder(.chunked, limits: limits), "0\r\nA: 1\r\nB: 2\r\n\r\n")
        #expect(outcome.error == HTTPMessageError(.tooManyFields, offset: 9))
    }

    /// A limit and the error for a message that exceeds it.
    struct Row: Sendable {
        let field: String
        let code: HTTPMessageError.Code
        let change: @Sendable (inout HTTPLimits) -> Void
    }

    private static let rows = [
        Row(field: "lineLength", code: .lineTooLong) { $0.lineLength = 20 },
        Row(field: "headLength", code: .headTooLong) { $0.headLength = 40 },
        Row(field: "fieldCount", code: .tooManyFields) { $0.fieldCount = 1 },
        Row(field: "leadingEmptyLines", code: .tooManyEmptyLines) { $0.leadingEmptyLines = 0 },
        Row(field: "chunkExtensionLength", code: .chunkExtensionsTooLong) { $0.chunkExtensionLength = 3 },
        Row(field: "bodyLength", code: .bodyTooLong) { $0.bodyLength = 1 },
    ]

    /// Parses one message with every limited element: valid within the default limits, and an error for each changed limit.
    @Test(arguments: rows)
    func eachLimitChangesTheOutcome(_ row: Row) throws {
        let text = "\r\nPOST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n0\r\n\r\n"
        func parse(_ limits: HTTPLimits) throws(HTTPMessageError) {
            var parser = MessageParser(.request, limits: limits)
            try parser.append(Array(text.utf8))
            while try parser.next() != nil {}
        }
        try parse(.default)
        let error = #expect(throws: HTTPMessageError.self) { try parse(limits(row.change)) }
        #expect(error?.code == row.code)
    }

    @Test func eachLimitHasARow() {
        let fields = Mirror(reflecting: HTTPLimits()).children.compactMap(\.label)
        #expect(Set(Self.rows.map(\.field)) == Set(fields))
    }
}
