@_spi(Packages) import HTTPStream
import Testing

@testable import HTTPServerKit

@Suite struct AccessLogTests {
    private let now = HTTPDate(secondsSinceEpoch: 784_111_777)

    private func record(_ change: (inout HTTPRequest) throws -> Void = { _ in }) throws -> HTTPServer.Record {
        var request = try HTTPRequest(method: .get, target: "/a?token=secret")
        try change(&request)
        let ip = try #require(IPAddress("192.0.2.7"))
        let address = SocketAddress.ip(ip, port: 1234)
        return HTTPServer.Record(request: request, status: .ok, bodyLength: 12, remoteAddress: address)
    }

    @Test func formats() throws {
        let full = try record {
            try $0.fields.set("http://example.org/?q=1", for: "Referer")
            try $0.fields.set("curl/8", for: .userAgent)
        }
        let common = #"192.0.2.7 - - [06/Nov/1994:08:49:37 +0000] "GET /a HTTP/1.1" 200 12"#
        #expect(AccessLog(.common) { _ in }.line(full, at: now) == common)
        #expect(AccessLog(.combined) { _ in }.line(full, at: now) == common + #" "http://example.org/" "curl/8""#)
        #expect(AccessLog(.combined) { _ in }.line(try record(), at: now) == common + #" "-" "-""#)
        var log = AccessLog(.combined) { _ in }
        log.includesQueries = true
        #expect(log.line(full, at: now).contains(#""GET /a?token=secret HTTP/1.1" 200 12 "http://example.org/?q=1""#))
        let refused = HTTPServer.Record(request: nil, status: 400, bodyLength: 0)
        #expect(log.line(refused, at: now) == #"- - - [06/Nov/1994:08:49:37 +0000] "-" 400 - "-" "-""#)
    }

    /// U+0301 forms one character with the `?` before it, which still begins a query.
    @Test func queryAfterACombiningMark() throws {
        let referred = try record {
            try $0.fields.set(rawValue: Array("http://example.org/?\u{301}&token=secret".utf8), for: "Referer")
        }
        #expect(!AccessLog(.combined) { _ in }.line(referred, at: now).contains("secret"))
    }

    /// The parser refuses CR and LF in fields; the log relies on its own escapes.
    @Test func injection() throws {
        let line = AccessLog(.combined) { _ in }.line(
            try record { try $0.fields.set(rawValue: Array("a\" \\ \t\u{e9}\u{9b}".utf8), for: .userAgent) }, at: now)
        #expect(line.hasSuffix(#" "a\" \\ \x09\xc3\xa9\xc2\x9b""#))
        #expect(AccessLog.escaped("a\r\nb\u{1b}[2J\u{7f}\0") == #"a\x0d\x0ab\x1b[2J\x7f\x00"#)
    }
}
