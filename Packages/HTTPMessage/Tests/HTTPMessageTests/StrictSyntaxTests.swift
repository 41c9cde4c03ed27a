@_spi(Packages) import HTTPMessage
import Testing

/// Tolerated deviations are reported, and serialization corrects them.
@Suite struct StrictSyntaxTests {
    private static let all = HTTPLeniency(rawValue: .max).subtracting(.headerlessResponse)

    struct Sample: Sendable {
        let head: String
        let toleratedDeviations: HTTPLeniency
        let written: String
    }

    private static let received: [Sample] = [
        Sample(
            head: "HTTP/1.1 200 OK\r\nA:b\r\n\r\n", toleratedDeviations: [], written: "HTTP/1.1 200 OK\r\nA:b\r\n\r\n"),
        Sample(
            head: "HTTP/1.1 200 OK\nX-A: b\n\n", toleratedDeviations: .bareLineFeed,
            written: "HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n"),
        Sample(
            head: "HTTP/1.1 200 OK\r\nX-A: b\r\n\n", toleratedDeviations: .bareLineFeed,
            written: "HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n"),
        Sample(head: "HTTP/1.1 200\n\n", toleratedDeviations: .bareLineFeed, written: "HTTP/1.1 200 \r\n\r\n"),
        Sample(
            head: "HTTP/1.1 200 OK\r\nA: 1\r\n\t2\r\n  3\r\nB: 4\r\n\r\n", toleratedDeviations: .foldedLines,
            written: "HTTP/1.1 200 OK\r\nA: 1 2 3\r\nB: 4\r\n\r\n"),
        Sample(
            head: "HTTP/1.1 200 OK\rA: 1\r\r\n", toleratedDeviations: .bareCarriageReturn,
            written: "HTTP/1.1 200 OK\r\nA: 1\r\n\r\n"),
        Sample(
            head: "HTTP/1.1 200 OK\r\nA : 1\r\n\r\n", toleratedDeviations: .whitespaceBeforeColon,
            written: "HTTP/1.1 200 OK\r\nA: 1\r\n\r\n"),
        Sample(
            head: "HTTP/1.1  200   OK\r\n\r\n", toleratedDeviations: .extraSpacesInStartLine,
            written: "HTTP/1.1 200 OK\r\n\r\n"),
        Sample(
            head: "HTTP/1.1 200 O\u{1}K\r\nA: 1\u{1B}2\r\n\r\n", toleratedDeviations: .controlCharactersInValues,
            written: "HTTP/1.1 200 O K\r\nA: 1 2\r\n\r\n"),
        Sample(head: "HTTP/1.9 200 OK\r\n\r\n", toleratedDeviations: .anyVersion, written: "HTTP/1.9 200 OK\r\n\r\n"),
    ]

    @Test(arguments: received)
    func responses(_ sample: Sample) throws {
        for pieces in everySplit(of: Array(sample.head.utf8)) {
            var parser = HeadParser(.response, leniency: Self.all)
            var seen: [UInt8] = []
            for piece in pieces {
                seen += piece
                if parser.byteCount == nil { _ = try parser.parse(seen.span.bytes) }
            }
            // A head that ends in a lone CR is complete only after the next byte.
            #expect(parser.toleratedDeviations == sample.toleratedDeviations)
            let response = try parser.makeResponse(from: seen.span.bytes)
            #expect(String(decoding: response.serialized(), as: UTF8.self) == sample.written)

            // The same after a change, and with further lines after the fields.
            var changed = response
            try changed.fields.set("z", for: "Z")
            let end = sample.written.index(sample.written.endIndex, offsetBy: -1)
            #expect(String(decoding: changed.serialized(), as: UTF8.self) == sample.written[..<end] + "Z: z\r\n\r\n")
            var open: [UInt8] = []
            response.serializeOpenHead(into: &open)
            #expect(String(decoding: open, as: UTF8.self) == sample.written[..<end])
            // Fields that are assigned to another message lose their deviations.
            var other = try HTTPResponse(status: 204)
            other.fields = response.fields
            var trailers: [UInt8] = []
            try ChunkedEncoder.writeEnd(trailers: response.fields, into: &trailers)
            let lines = sample.written.drop { $0 != "\r\n" }.dropFirst()
            #expect(String(decoding: other.serialized(), as: UTF8.self) == "HTTP/1.1 204 No Content\r\n" + lines)
            #expect(String(decoding: trailers, as: UTF8.self) == "0\r\n" + lines)
        }
    }

    // Parity: HM-013
    @Test(arguments: [
        Sample(
            head: "GET  /a  HTTP/1.1\nHost: a\n\n", toleratedDeviations: [.bareLineFeed, .extraSpacesInStartLine],
            written: "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"),
        Sample(
            head: "GET a HTTP/1.1\r\n\r\n", toleratedDeviations: [.anyTargetForm, .missingHost],
            written: "GET a HTTP/1.1\r\n\r\n"),
        Sample(
            head: "GET /\u{e9} HTTP/1.0\r\n\r\n", toleratedDeviations: .nonASCIITarget,
            written: "GET /\u{e9} HTTP/1.0\r\n\r\n"),
    ])
    func requests(_ sample: Sample) throws {
        let bytes = Array(sample.head.utf8)
        var parser = HeadParser(.request, leniency: Self.all)
        _ = try parser.parse(bytes.span.bytes)
        #expect(parser.toleratedDeviations == sample.toleratedDeviations)
        let request = try parser.makeRequest(from: bytes.span.bytes)
        #expect(String(decoding: request.serialized(), as: UTF8.self) == sample.written)
        var changed = request
        changed.fields.remove("None")
        #expect(String(decoding: changed.serialized(), as: UTF8.self) == sample.written)
        try expectSameInMemory(request)
        try expectSameInMemory(changed)
        changed.fields = ["A": "1", "B": "2"]
        try expectSameInMemory(changed)
    }

    /// The open head in memory that is used again has the same bytes as the appended one, and is refused if it does not fit.
    private func expectSameInMemory(_ request: HTTPRequest) throws {
        var open: [UInt8] = []
        request.serializeOpenHead(into: &open)
        for size in 0...open.count + 3 {
            var memory = [UInt8](repeating: 0x58, count: size)
            var span = memory.mutableSpan
            var bytes = span.mutableBytes
            let count = request.serializeOpenHead(into: &bytes)
            #expect(count == (size < open.count ? nil : open.count))
            if let count { #expect(Array(memory[..<count]) == open && memory[count...].allSatisfy { $0 == 0x58 }) }
        }
    }

    @Test func responseWithoutAHead() throws {
        let bytes = Array("hello".utf8)
        var parser = HeadParser(.response, leniency: [.headerlessResponse, .bareLineFeed])
        _ = try parser.parse(bytes.span.bytes)
        #expect(parser.toleratedDeviations == .headerlessResponse)
        var response = try parser.makeResponse(from: bytes.span.bytes)
        #expect(response.serialized().isEmpty)
        var open: [UInt8] = []
        response.serializeOpenHead(into: &open)
        #expect(open.isEmpty)
        response.fields.remove("A")
        #expect(response.statusLine == "")
    }
}
