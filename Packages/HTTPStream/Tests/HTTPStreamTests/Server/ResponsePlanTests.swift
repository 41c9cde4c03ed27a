import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// The framing of responses, for every kind of request.
@Suite struct ResponsePlanTests {
    private func plan(
        _ status: HTTPStatus = .ok, _ fields: HTTPFields = HTTPFields(), length: Int64?,
        request: String = "GET / HTTP/1.1", persists: Bool = true
    ) throws -> (plan: ResponsePlan, head: String) {
        let bytes = Array("\(request)\r\nHost: a\r\n\r\n".utf8)
        var parser = HeadParser(.request)
        _ = try parser.parse(bytes.span.bytes)
        let incoming = try IncomingRequest(parser.makeRequest(from: bytes.span.bytes), maximumBodyLength: 100)
        var response = try HTTPResponse(status: status)
        response.fields = fields
        var output: [UInt8] = []
        let plan = try ResponsePlan(
            response, length: length, to: incoming, mayPersist: persists, date: Array("now".utf8), into: &output)
        return (plan, String(decoding: output, as: UTF8.self))
    }

    @Test func heads() throws {
        var found = try plan(length: 5)
        #expect(found.head == "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 5\r\n\r\n")
        #expect(found.plan.body == .length(5) && found.plan.keepsConnection)
        found = try plan(length: nil)
        #expect(found.head == "HTTP/1.1 200 OK\r\nDate: now\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(found.plan.body == .chunked && found.plan.keepsConnection)
        found = try plan(length: nil, request: "GET / HTTP/1.0")
        #expect(found.head == "HTTP/1.1 200 OK\r\nDate: now\r\nConnection: close\r\n\r\n")
        #expect(found.plan.body == .untilClose && !found.plan.keepsConnection)
        found = try plan(length: 5, persists: false)
        #expect(found.head.hasSuffix("Content-Length: 5\r\nConnection: close\r\n\r\n"))
        #expect(!found.plan.keepsConnection)
        found = try plan(.ok, ["Connection": "close", "Date": "then"], length: 0)
        #expect(found.head == "HTTP/1.1 200 OK\r\nConnection: close\r\nDate: then\r\nContent-Length: 0\r\n\r\n")
        #expect(!found.plan.keepsConnection)
    }

    /// A response that was received leniently is sent in strict form, with its framing on lines of its own.
    @Test(arguments: [
        "HTTP/1.1 200 OK\nX-A: b\n\n", "HTTP/1.1 200 OK\r\nX-A: b\n\r\n", "HTTP/1.1 200 OK\nX-A:\n b\n\n",
    ])
    func responsesReceivedLeniently(_ text: String) throws {
        let bytes = Array(text.utf8)
        var parser = HeadParser(.response, leniency: .client)
        _ = try parser.parse(bytes.span.bytes)
        let received = try parser.makeResponse(from: bytes.span.bytes)
        let request = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        var requests = HeadParser(.request)
        _ = try requests.parse(request.span.bytes)
        let incoming = try IncomingRequest(requests.makeRequest(from: request.span.bytes), maximumBodyLength: 100)
        var output: [UInt8] = []
        _ = try ResponsePlan(
            received, length: 5, to: incoming, mayPersist: true, date: Array("now".utf8), into: &output)
        #expect(
            String(decoding: output, as: UTF8.self)
                == "HTTP/1.1 200 OK\r\nX-A: b\r\nDate: now\r\nContent-Length: 5\r\n\r\n")
    }

    @Test func aResponseWithoutAHead() throws {
        let bytes = Array("hello".utf8)
        var parser = HeadParser(.response, leniency: .headerlessResponse)
        _ = try parser.parse(bytes.span.bytes)
        let received = try parser.makeResponse(from: bytes.span.bytes)
        let request = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        var requests = HeadParser(.request)
        _ = try requests.parse(request.span.bytes)
        let incoming = try IncomingRequest(requests.makeRequest(from: request.span.bytes), maximumBodyLength: 100)
        var output: [UInt8] = []
        #expect(throws: StreamError.self) {
            _ = try ResponsePlan(received, length: 5, to: incoming, mayPersist: true, date: [], into: &output)
        }
        #expect(output.isEmpty)
    }

    @Test func withoutABody() throws {
        for (status, request, line) in [
            (HTTPStatus.ok, "HEAD / HTTP/1.1", "Content-Length: 5\r\n"), (.notModified, "GET / HTTP/1.1", ""),
            (.noContent, "GET / HTTP/1.1", ""), (.noContent, "HEAD / HTTP/1.1", ""),
        ] {
            let isHead = request.hasPrefix("HEAD")
            let found = try plan(status, length: isHead ? 5 : 0, request: request)
            #expect(found.plan.body == .none && found.plan.keepsConnection)
            #expect(found.head.hasSuffix("Date: now\r\n\(line)\r\n"), "\(found.head)")
        }
        // The response's own length is kept where it states the length for a GET.
        let head = try plan(.ok, ["Content-Length": "70"], length: nil, request: "HEAD / HTTP/1.1")
        #expect(head.plan.body == .none && head.head.contains("Content-Length: 70\r\n"))
    }

    @Test func unsendable() throws {
        let cases: [(HTTPStatus, HTTPFields, Int64?)] = [
            (.continue, [:], 0), (.switchingProtocols, [:], nil), (.ok, ["Transfer-Encoding": "chunked"], nil),
            (.ok, ["Content-Length": "4"], 5), (.ok, ["Content-Length": "x"], nil),
            (.ok, ["Content-Length": "-1"], nil), (.ok, ["Content-Length": "1", "content-length": "1"], nil),
            (.noContent, ["Content-Length": "0"], 0), (.noContent, [:], 1), (.notModified, [:], 3),
        ]
        for (status, fields, length) in cases {
            let error = #expect(throws: StreamError.self) { try plan(status, fields, length: length) }
            #expect(error?.isPOSIX(22) == true && error?.description.contains("cannot be sent") == true)
        }
    }
}
