@_spi(Packages) import HTTPMessage
import Testing

@Suite struct BodyFramingTests {
    private func framing(
        response lines: [String], status: Int = 200, to method: HTTPMethod = .get, version: String = "1.1",
        _ leniency: HTTPLeniency = .strict
    ) throws -> BodyFraming {
        let head = Array("HTTP/\(version) \(status) X\r\n\(lines.map { $0 + "\r\n" }.joined())\r\n".utf8)
        var parser = HeadParser(.response, leniency: leniency)
        _ = try parser.parse(head.span.bytes)
        return try .of(try parser.makeResponse(from: head.span.bytes), to: method, leniency: leniency)
    }

    private func framing(
        request lines: [String], version: String = "1.1", _ leniency: HTTPLeniency = .strict
    ) throws -> BodyFraming {
        let head = Array("POST / HTTP/\(version)\r\nHost: a\r\n\(lines.map { $0 + "\r\n" }.joined())\r\n".utf8)
        var parser = HeadParser(.request)
        _ = try parser.parse(head.span.bytes)
        return try .of(try parser.makeRequest(from: head.span.bytes), leniency: leniency)
    }

    @Test(arguments: [
        ([], BodyFraming.none),
        (["Content-Length: 0"], .length(0)),
        (["content-length: 007"], .length(7)),
        (["Content-Length: 9223372036854775807"], .length(.max)),
        (["Transfer-Encoding: chunked"], .chunked),
        (["Transfer-Encoding: \tCHUNKED "], .chunked),
        (["Transfer-Encoding: gzip, chunked"], .chunked),
        (["Transfer-Encoding: gzip;q=1", "transfer-encoding: chunked"], .chunked),
    ])
    func framesRequest(lines: [String], expected: BodyFraming) throws {
        #expect(try framing(request: lines) == expected)
    }

    @Test(arguments: [
        ([], BodyFraming.untilClose),
        (["Content-Length: 5"], .length(5)),
        (["CONTENT-LENGTH: 999999999999999999"], .length(999_999_999_999_999_999)),
        (["Content-Length: 1000000000000000000"], .length(1_000_000_000_000_000_000)),
        (["Content-Length: 00000000000000000000007"], .length(7)),
        (["Content_Length: 5", "Content-Lengt: 6"], .untilClose),
        (["Transfer-Encoding: chunked"], .chunked),
        (["Transfer-Encoding: gzip"], .untilClose),
    ])
    func framesResponse(lines: [String], expected: BodyFraming) throws {
        #expect(try framing(response: lines) == expected)
    }

    // Parity: HM-076
    @Test(arguments: [
        (200, HTTPMethod.head, BodyFraming.none), (100, .get, .none), (103, .get, .none), (204, .get, .none),
        (304, .get, .none), (101, .get, .tunnel), (200, .connect, .tunnel), (299, .connect, .tunnel),
        (407, .connect, .length(5)), (200, .get, .length(5)),
    ])
    func framesByStatusAndMethod(status: Int, method: HTTPMethod, expected: BodyFraming) throws {
        #expect(try framing(response: ["Content-Length: 5"], status: status, to: method) == expected)
    }

    @Test(
        arguments: [
            (["Content-Length: "], .invalidContentLength), (["Content-Length: +5"], .invalidContentLength),
            (["Content-Length: -5"], .invalidContentLength), (["Content-Length: 5 5"], .invalidContentLength),
            (["Content-Length: 0x5"], .invalidContentLength), (["Content-Length: 1_0"], .invalidContentLength),
            (["Content-Length: 5."], .invalidContentLength),
            (["Content-Length: 9223372036854775808"], .invalidContentLength),
            (["Content-Length: 40000000000000000000"], .invalidContentLength),
            (["Content-Length: 5", "Content-Length: 5"], .repeatedContentLength),
            (["Content-Length: 5, 5"], .repeatedContentLength), (["Content-Length: 5,"], .invalidContentLength),
            (["Content-Length: 5", "Content-Length: 6"], .repeatedContentLength),
            (["Content-Length: 5", "Transfer-Encoding: chunked"], .conflictingFraming),
            (["Transfer-Encoding: "], .invalidTransferEncoding),
            (["Transfer-Encoding: chunked, chunked"], .invalidTransferEncoding),
            (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], .invalidTransferEncoding),
            (["Transfer-Encoding: chunked, gzip"], .invalidTransferEncoding),
            (["Transfer-Encoding: ,chunked"], .invalidTransferEncoding),
            (["Transfer-Encoding: chunked,"], .invalidTransferEncoding),
            (["Transfer-Encoding: chunked;a=b"], .invalidTransferEncoding),
            (["Transfer-Encoding: \"chunked\""], .invalidTransferEncoding),
            (["Transfer-Encoding: chun ked"], .invalidTransferEncoding),
            (["Transfer-Encoding: gzip;a, chunked"], .invalidTransferEncoding),
            (["Transfer-Encoding: gzip;a=b=c, chunked"], .invalidTransferEncoding),
        ] as [([String], HTTPMessageError.Code)])
    func rejectsInvalidFraming(lines: [String], code: HTTPMessageError.Code) {
        #expect { try framing(request: lines) } throws: { ($0 as? HTTPMessageError)?.code == code }
        #expect { try framing(response: lines) } throws: { ($0 as? HTTPMessageError)?.code == code }
        #expect { try framing(response: lines, status: 304) } throws: { ($0 as? HTTPMessageError)?.code == code }
    }

    @Test("a client takes the coding identity for none, a server does not")
    func identity() throws {
        for value in ["identity", "Identity, identity"] {
            let lines = ["Transfer-Encoding: \(value)", "Content-Length: 5"]
            #expect(try framing(response: lines, .client) == .length(5))
            #expect(throws: HTTPMessageError.self) { try framing(request: lines) }
            #expect(try framing(response: [lines[0]], .client) == .untilClose)
        }
        #expect(try framing(response: ["Transfer-Encoding: identity, chunked"], .client) == .chunked)
    }

    @Test(arguments: [["Transfer-Encoding: gzip"], ["Transfer-Encoding: identity"]])
    func rejectsRequestsWithoutAnEnd(lines: [String]) {
        #expect { try framing(request: lines) } throws: {
            ($0 as? HTTPMessageError)?.code == .invalidTransferEncoding
        }
    }

    @Test func rejectsUnknownCodings() throws {
        for lines in [["Transfer-Encoding: xchunked"], ["Transfer-Encoding: bogus, chunked"]] {
            #expect { try framing(request: lines) } throws: {
                ($0 as? HTTPMessageError)?.code == .unknownTransferCoding
            }
            #expect { try framing(response: lines, .client) } throws: {
                ($0 as? HTTPMessageError)?.code == .unknownTransferCoding
            }
        }
        #expect(try framing(request: ["Transfer-Encoding: bogus, chunked"], .unknownTransferCodings) == .chunked)
    }

    @Test(
        "a control character in a framing field is never skipped",
        arguments: [
            "Content-Length: 5\u{1}", "Content-Length: \u{C}5", "Transfer-Encoding: chunked\u{B}",
            "Transfer-Encoding: \u{B}chunked",
        ])
    func controlCharacters(line: String) {
        #expect(throws: HTTPMessageError.self) { try framing(response: [line], .client) }
    }

    @Test func toleratesRepeatedEqualLengths() throws {
        #expect(
            try framing(response: ["Content-Length: 6,6", "Content-Length: 6 , 6"], .repeatedContentLength)
                == .length(6))
        // The same number in other digits is another value for a parser that reads octal numbers.
        for other in [
            ["Content-Length: 6, 7"], ["Content-Length: 30, 030"], ["Content-Length: 030", "Content-Length: 30"],
        ] {
            #expect { try framing(response: other, .repeatedContentLength) } throws: {
                ($0 as? HTTPMessageError)?.code == .repeatedContentLength
            }
        }
    }

    @Test(
        "a client skips empty transfer codings, a server does not",
        arguments: [
            (["Transfer-Encoding: chunked,"], .chunked), (["Transfer-Encoding: , chunked"], .chunked),
            (["Transfer-Encoding: gzip,\t,chunked , "], .chunked),
            (["Transfer-Encoding: ", "Transfer-Encoding: chunked"], .chunked),
            (["Transfer-Encoding: chunked", "Transfer-Encoding: ,"], .chunked),
            // Browsers refuse them in a length.
            (["Content-Length: 5,"], nil), (["Content-Length: ,5 , 5"], nil),
            (["Content-Length: ", "Content-Length: 5"], nil),
            (["Transfer-Encoding: "], nil), (["Transfer-Encoding: ,"], nil), (["Content-Length: ,"], nil),
            (["Content-Length: "], nil), (["Transfer-Encoding: chunked,,chunked"], nil),
            (["Transfer-Encoding: ;a=b, chunked"], nil), (["Content-Length: 5,,6"], nil),
        ] as [([String], BodyFraming?)])
    func skipsEmptyElements(lines: [String], expected: BodyFraming?) {
        #expect((try? framing(response: lines, .client)) == expected)
        #expect(throws: HTTPMessageError.self) { try framing(request: lines) }
        #expect(throws: HTTPMessageError.self) { try framing(response: lines) }
    }

    @Test func prefersTransferEncodingIfAllowed() throws {
        #expect(
            try framing(
                response: ["Content-Length: 6", "Transfer-Encoding: chunked"], .transferEncodingOverridesLength)
                == .chunked)
    }

    @Test func rejectsTransferEncodingInHTTP10() throws {
        let lines = ["Transfer-Encoding: chunked"]
        #expect { try framing(response: lines, version: "1.0") } throws: {
            ($0 as? HTTPMessageError)?.code == .transferEncodingInHTTP10
        }
        #expect { try framing(request: lines, version: "1.0") } throws: {
            ($0 as? HTTPMessageError)?.code == .transferEncodingInHTTP10
        }
        #expect(try framing(response: lines, version: "1.0", .transferEncodingInHTTP10) == .chunked)
    }

    @Test func rejectsFoldedLength() {
        #expect { try framing(response: ["Content-Length: 4", " 2"], .client) } throws: {
            ($0 as? HTTPMessageError)?.code == .invalidContentLength
        }
    }

    @Test func listsTransferCodings() throws {
        let fields: HTTPFields = ["Transfer-Encoding": "GZip , deflate;a=b", "Transfer-Encoding": "chunked"]
        #expect(try fields.transferCodings == ["gzip", "deflate", "chunked"])
    }

    /// RFC 9112 §7.4.
    @Test(
        arguments: [
            ("chunked", nil), ("Chunked", nil), ("identity, chunked", nil), ("gzip, chunked", "gzip, chunked"),
            ("gzip", "gzip"), ("chunked;a=b", "chunked;a=b"), ("chun\u{212A}ed", "chun\u{212A}ed"),
        ] as [(String, String?)])
    func findsFurtherTransferCodings(_ value: String, _ found: String?) throws {
        var response = try HTTPResponse(status: .ok)
        #expect(response.furtherTransferCoding(.untilClose) == nil)
        try response.fields.set(value, for: .transferEncoding)
        #expect(response.furtherTransferCoding(.chunked) == found)
        #expect(response.furtherTransferCoding(.untilClose) == found)
        // Without a framed body, nothing is coded.
        #expect(response.furtherTransferCoding(.none) == nil)
    }
}
