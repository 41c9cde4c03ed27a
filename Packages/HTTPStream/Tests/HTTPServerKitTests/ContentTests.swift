@_spi(Compression) import HTTPStream
import Testing

@testable import HTTPServerKit

@Suite struct ContentTests {
    @Test(
        arguments: [
            (nil, .identity), ("", .identity), ("gzip", .gzip), ("GZip", .gzip), ("x-gzip", .gzip),
            ("deflate, br", .identity),
            ("gzip;q=0", .identity), ("gzip; q=0.0", .identity), ("gzip;q=0.001", .gzip), ("*", .gzip),
            ("*;q=0", .identity),
            ("*, gzip;q=0", .identity), ("*;q=0, gzip", .gzip), ("identity, gzip;q=0.5", .identity),
            ("identity;q=0.5, gzip", .gzip), ("identity, gzip", .gzip), ("br;q=1.0, gzip;q=0.8, *;q=0.1", .gzip),
            ("gzip;q=2", .identity), ("gzip;q=1.001", .identity), ("gzip;q=0.1234", .identity), ("gzip;q=", .identity),
            ("gzip;x=1", .identity), ("gzip;q=.5", .identity), (" gzip \t;\tq=1", .gzip), (",,gzip", .gzip),
        ] as [(String?, ContentCoding)])
    func codings(_ sample: (field: String?, coding: ContentCoding)) {
        #expect(ContentCoding.preferred(sample.field) == sample.coding)
    }

    @Test(
        arguments: [
            (200, ["Content-Type": "text/html; charset=utf-8"], 1024, true),
            (200, ["Content-Type": "text/html"], 1023, false),
            (200, ["Content-Type": "Application/JSON"], nil, true), (200, ["Content-Type": "image/svg+xml"], nil, true),
            (200, ["Content-Type": "image/png"], nil, false), (200, ["Content-Type": "text/event-stream"], nil, false),
            (200, [:], nil, false), (204, ["Content-Type": "text/html"], nil, false),
            (206, ["Content-Type": "text/html"], nil, false), (404, ["Content-Type": "text/html"], nil, false),
            (200, ["Content-Type": "text/html", "Content-Encoding": "br"], nil, false),
            (200, ["Content-Type": "text/html", "Content-Range": "bytes 0-1/2"], nil, false),
            (200, ["Content-Type": "text/html", "Cache-Control": "no-store, No-Transform"], nil, false),
        ] as [(HTTPStatus, [String: String], Int64?, Bool)])
    func applies(_ sample: (status: HTTPStatus, fields: [String: String], length: Int64?, applies: Bool)) throws {
        var response = try HTTPResponse(status: sample.status)
        for (name, value) in sample.fields { try response.fields.set(value, for: name) }
        #expect(ResponseCompression().applies(to: response, length: sample.length) == sample.applies)
    }

    @Test(arguments: [[], [0], [0, 0], [10], [1, 100_000, 0, 300_000], [65536, 65536, 1]])
    func gzip(_ lengths: [Int]) throws {
        let encoder = try GzipEncoder(level: 5)
        var (plain, coded): ([UInt8], [UInt8]) = ([], [])
        var state: UInt64 = 1
        for (index, length) in ([0] + lengths).enumerated() {
            let piece = (0..<length).map { _ -> UInt8 in
                state = state &* 6_364_136_223_846_793_005 &+ 1
                return UInt8(truncatingIfNeeded: state >> 33)
            }
            plain += piece
            coded += try encoder.encode(piece.span.bytes, isLast: index == lengths.count)
        }
        let decoder = try Zlib(inflating: .gzip)
        var output = [UInt8](repeating: 0, count: plain.count + 1)
        let step = try #require(output.withUnsafeMutableBytes { decoder.inflate(coded.span.bytes, into: $0) })
        #expect(step.hasEnded && step.consumed == coded.count)
        #expect(Array(output[..<step.produced]) == plain)
    }

    @Test func vary() throws {
        for (old, new) in [
            (nil, "Accept-Encoding"), ("Origin", "Origin, Accept-Encoding"), ("*", "*"),
            ("a, accept-encoding", "a, accept-encoding"),
        ] {
            var fields = HTTPFields()
            try fields.set(old, for: .vary)
            try ContentCoding.vary(&fields)
            #expect(fields[.vary] == new)
        }
    }

    @Test(arguments: [
        (ServerSentEvent("a"), "data: a\n\n"), (ServerSentEvent(""), "data: \n\n"),
        (ServerSentEvent("a\nb\r\nc\rd\n"), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"),
        (ServerSentEvent("\r\n\r\n"), "data: \ndata: \ndata: \n\n"),
        (
            ServerSentEvent(" x", event: "tick", id: "7", retry: .milliseconds(2500)),
            "event: tick\nid: 7\nretry: 2500\ndata:  x\n\n"
        ),
        (ServerSentEvent("a", id: ""), "id: \ndata: a\n\n"),
        (ServerSentEvent("é", retry: .seconds(-1)), "retry: 0\ndata: é\n\n"),
    ])
    func events(_ sample: (event: ServerSentEvent, text: String)) throws {
        #expect(String(decoding: try sample.event.serialized(), as: UTF8.self) == sample.text)
    }

    @Test(arguments: ["a\nb", "a\rdata: b", "\0"])
    func eventsThatCannotBeSent(_ text: String) {
        #expect(throws: StreamError(posix: 22)) { try ServerSentEvent("a", event: text).serialized() }
        #expect(throws: StreamError(posix: 22)) { try ServerSentEvent("a", id: text).serialized() }
    }

    @Test(arguments: [
        ("a.html", "text/html; charset=utf-8"), ("A.PNG", "image/png"), ("a.tar.gz", "application/gzip"),
        ("README", "application/octet-stream"), ("a.", "application/octet-stream"),
        ("a.xyz", "application/octet-stream"),
    ])
    func mediaTypes(_ sample: (name: String, type: String)) {
        #expect(MediaType.ofFile(sample.name) == sample.type)
    }

    /// Browsers send `text/plain` with any parameter across origins without asking, so that it must not be taken for JSON.
    @Test(arguments: [
        ("Text/HTML; charset=utf-8", "text/html"), (" application/json\t", "application/json"),
        ("text/plain;\u{301}+json", "text/plain"), ("text/plain \u{301}+json", "text/plain"),
        ("text/plain\u{D4E};+json", "text/plain\u{D4E}"),
    ])
    func essence(_ sample: (value: String, type: String)) {
        #expect(MediaType.essence(sample.value) == sample.type)
    }
}
