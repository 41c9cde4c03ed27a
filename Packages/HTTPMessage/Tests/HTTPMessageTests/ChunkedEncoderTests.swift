import HTTPMessage
import Testing

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
