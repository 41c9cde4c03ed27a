import Testing

@testable import HTTPServerKit

@Suite struct ByteRangesTests {
    @Test(
        arguments: [
            (nil, .whole), ("bytes=0-0", .parts([0..<1])), ("bytes=0-", .parts([0..<100])),
            ("bytes=-1", .parts([99..<100])),
            ("bytes=-500", .parts([0..<100])), ("bytes=50-500", .parts([50..<100])), ("Bytes=1-2", .parts([1..<3])),
            ("bytes=1-2, 5-6", .parts([1..<3, 5..<7])), ("bytes=5-6,1-2", .parts([5..<7, 1..<3])),
            ("bytes=,1-2,", .parts([1..<3])), ("bytes=0-99999999999999999999", .parts([0..<100])),
            ("bytes=1-2,200-300", .parts([1..<3])), ("bytes=100-", .unsatisfiable), ("bytes=-0", .unsatisfiable),
            ("bytes=99999999999999999999-", .unsatisfiable), ("bytes=200-300,400-", .unsatisfiable),
            // Without effect: malformed, another unit, overlapping.
            ("bytes=2-1", .whole), ("bytes=", .whole), ("bytes=,", .whole), ("bytes=a-b", .whole), ("bytes=1", .whole),
            ("bytes=-", .whole), ("bytes=1-2-3", .whole), ("bytes=+1-2", .whole), ("items=0-1", .whole),
            ("bytes", .whole),
            ("bytes=0-10,5-15", .whole), ("bytes=0-,0-,0-", .whole), ("bytes=-5--1", .whole),
        ] as [(String?, ByteRanges)])
    func parse(_ sample: (value: String?, ranges: ByteRanges)) {
        #expect(ByteRanges.parse(sample.value, length: 100) == sample.ranges)
    }

    @Test func limits() {
        let many = (0...16).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
        #expect(ByteRanges.parse("bytes=\(many)", length: 100) == .whole)
        #expect(ByteRanges.parse("bytes=0-", length: 0) == .unsatisfiable)
        #expect(ByteRanges.parse("bytes=-5", length: 0) == .unsatisfiable)
    }

    @Test func multipart() {
        let parts = MultipartRanges([0..<1, 5..<9], type: "text/plain", length: 10, boundary: "b")
        var body: [UInt8] = []
        for (head, range) in parts.parts {
            body += head + Array("0123456789".utf8)[Int(range.lowerBound)..<Int(range.upperBound)]
        }
        body += parts.end
        #expect(Int64(body.count) == parts.byteCount)
        #expect(
            String(decoding: body, as: UTF8.self)
                == "--b\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-0/10\r\n\r\n0\r\n"
                + "--b\r\nContent-Type: text/plain\r\nContent-Range: bytes 5-8/10\r\n\r\n5678\r\n--b--\r\n")
    }
}
