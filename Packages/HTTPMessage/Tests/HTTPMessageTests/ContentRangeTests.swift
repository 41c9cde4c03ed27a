import HTTPMessage
import Testing

@Suite struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-0/1", 0..<1, 1), ("bytes 400-499/1000", 400..<500, 1000),
            ("Bytes 400-999/1000", 400..<1000, 1000),
            ("BYTES\t5-9/*", 5..<10, nil), ("bytes=5-9/10", 5..<10, 10), ("5-9/10", 5..<10, 10),
            ("bytes 5-9", 5..<10, nil),
            ("bytes  5 - 9 / 10", 5..<10, 10), ("bytes 0-9223372036854775805/*", 0..<Int64.max - 1, nil),
        ] as [(String, Range<Int64>, Int64?)])
    func parts(_ value: String, _ range: Range<Int64>, _ length: Int64?) {
        let parsed = ContentRange(value)
        #expect(parsed?.range == range && parsed?.length == length)
        #expect(parsed.map { "\($0)" }.flatMap { ContentRange($0) } == parsed)
    }

    @Test(
        arguments: [
            (206, "bytes 400-999/1000", .part(400..<1000, length: 1000)),
            (206, "bytes 400-499/*", .part(400..<500, length: nil)),
            (206, "bytes 100-400/1000", .part(100..<401, length: 1000)), (206, "bytes 0-399/1000", .unusable),
            (206, "bytes 401-999/1000", .unusable), (206, "bytes */400", .unusable), (206, nil, .unusable),
            (416, "bytes */400", .complete), (416, "bytes */300", .unusable), (416, nil, .unusable),
            // A range that ends at the position contradicts the status.
            (416, "bytes 0-399/400", .unusable), (200, "bytes 400-999/1000", .other), (404, nil, .other),
        ] as [(Int, String?, HTTPResponse.Continuation)])
    func onlyAPartThatContainsThePositionContinues(
        _ status: Int, _ range: String?, _ expected: HTTPResponse.Continuation
    ) throws {
        var response = try HTTPResponse(status: #require(HTTPStatus(status)))
        if let range { try response.fields.set(range, for: .contentRange) }
        #expect(response.continuation(from: 400) == expected)
    }

    @Test func aResponseWithoutAPart() {
        #expect(ContentRange("bytes */400")?.length == 400 && ContentRange("*/400")?.range == nil)
        #expect(ContentRange("bytes */400").map { "\($0)" } == "bytes */400")
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes */*", "*", "bytes 5-4/10", "bytes 5-10/10", "bytes -5/10", "bytes 5-/10",
        "items 0-4/5",
        "bytes 0-4/-5", "bytes 0-4/+5", "bytes +0-4/5", "bytes 0--4/5", "bytes 0-1-2/5", "bytes 0-4/5/6",
        "bytes 0x0-4/5",
        "bytes 0-99999999999999999999/*", "bytes 0-9223372036854775807/*", "bytes 0-4, 6-8/9", "bytes0-4/5",
        "bytesX 0-4/5",
    ])
    func invalid(_ value: String) {
        #expect(ContentRange(value) == nil)
    }

    @Test func madeOfNumbers() {
        #expect(ContentRange(0..<5, of: 5)?.description == "bytes 0-4/5")
        #expect(ContentRange(0..<5)?.description == "bytes 0-4/*")
        for range in [0..<0, -1..<3, 3..<6] as [Range<Int64>] { #expect(ContentRange(range, of: 5) == nil) }
    }

    @Test func theFieldOfAResponse() throws {
        let response = try HTTPResponse(status: .partialContent, fields: ["Content-Range": "bytes 1-2/3"])
        #expect(response.contentRange?.range == 1..<3)
    }
}
