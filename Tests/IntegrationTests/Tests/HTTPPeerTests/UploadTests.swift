import Foundation
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Requests with bodies: framing, progress, early answers, `Expect: 100-continue` (HM-063, HM-064, HM-071, HM-077).
@Suite(.serialized) struct UploadTests {
    // Parity: HM-071
    @Test(arguments: Style.allCases)
    func theFramingOfBodies(_ style: Style) async throws {
        let origin = try Origin { request in .init(body: "\(request.body.count)") }
        let small = Array("name=value".utf8)
        let large = patterned(300_000)
        let bodies: [(HTTPBody?, HTTPMethod, [UInt8], [String], [String])] = [
            (nil, .get, [], [], []),
            (nil, .post, [], ["0"], []),
            (.bytes([]), .post, [], ["0"], []),
            (.bytes(small), .post, small, ["10"], []),
            (.bytes(small), .get, small, ["10"], []),
            (.bytes(large), .put, large, ["300000"], []),
            (.stream(length: 300_000) { ReadStream(bytes: large) }, .put, large, ["300000"], []),
            (.stream(length: nil) { ReadStream(bytes: large) }, .put, large, [], ["chunked"]),
            (.stream(length: 5) { ReadStream(bytes: large) }, .put, Array(large[..<5]), ["5"], []),
            (.stream(once: ReadStream(bytes: small)), .put, small, [], ["chunked"]),
        ]
        for (body, method, expected, length, coding) in bodies {
            let loaded = try await get(origin.url(), style, method: method, body: body)
            #expect(loaded.error == nil)
            #expect(loaded.text == "\(expected.count)")
            let request = try #require(origin.requests.last)
            #expect(request.body == expected)
            #expect(request["Content-Length"] == length)
            #expect(request["Transfer-Encoding"] == coding)
            #expect(loaded.stream[.httpBodyBytesSent] == Int64(expected.count))
        }
    }

    // Parity: HM-072, HM-073
    @Test func fieldsThatTheStreamAdds() async throws {
        let origin = try Origin { _ in .init(body: "x") }
        _ = try await get(
            origin.url("/a?b=c", host: "localhost"),
            fields: [
                (.host, "wrong.example"), (.contentLength, "77"), (.connection, "upgrade"), ("x-CaSe", "kept"),
                (.userAgent, "mine"),
            ])
        let request = try #require(origin.requests.last)
        #expect(request.target == "/a?b=c")
        #expect(request.fields.map(\.name) == ["Host", "x-CaSe", "User-Agent", "Connection"])
        #expect(request["Host"] == ["localhost:\(origin.port)"])
        #expect(request["Connection"] == ["close"])
        #expect(request["User-Agent"] == ["mine"])

        _ = try await get(origin.url())
        #expect(origin.requests.last?.fields.map(\.name) == ["Host", "User-Agent", "Connection"])
    }

    // Parity: HM-061
    @Test("HM-061: the request is copied at creation, so later changes are not sent")
    func theRequestIsCopiedAtCreation() async throws {
        let origin = try Origin { _ in .init(body: "x") }
        var request = try HTTPRequest(method: .put, url: try #require(URL(string: origin.url("/first"))))
        try request.fields.append("first", for: "X-Copy")
        let stream = ReadStream(request: request, body: .bytes([1]))
        try request.setTarget("/second")
        try request.fields.set("second", for: "X-Copy")
        try stream.open()
        _ = try await stream.response()
        stream.close()
        let sent = try #require(origin.requests.last)
        #expect(sent.method == "PUT" && sent.target == "/first" && sent["X-Copy"] == ["first"] && sent.body == [1])
    }

    // Parity: HM-063
    @Test("HM-063: the length stated by the caller is used, and a shorter body fails")
    func theStatedLengthIsUsed() async throws {
        let origin = try Origin { _ in .init(body: "x") }
        let source = ReadStream(bytes: Array("0123456789".utf8))
        _ = try await get(
            origin.url(), method: .put, fields: [(.contentLength, "4")], body: .stream(once: source))
        #expect(origin.requests.last?.body == Array("0123".utf8))
        #expect(origin.requests.last?["Content-Length"] == ["4"])

        let short = try await get(
            origin.url(), method: .put, body: .stream(length: 20) { ReadStream(bytes: Array("0123456789".utf8)) })
        #expect(short.error?.domain == .http)
        #expect(short.error?.description.contains("10 bytes, but 20") == true)
    }

    @Test func unknownLengthInHTTP10() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let request = try HTTPRequest(method: .put, url: url, version: .http10)
        let stream = ReadStream(request: request, body: .stream(length: nil) { ReadStream(bytes: [1]) })
        let loaded = await load(stream)
        #expect(loaded.error?.code == HTTPErrorNumber.badURL.rawValue)
    }

    @Test(arguments: ["failing", "closed", "missing"])
    func failingSources(_ kind: String) async throws {
        let origin = try Origin { _ in .init(body: "x") }
        let body = HTTPBody.stream(length: nil) {
            let stream = ReadStream(path: kind == "missing" ? "/no/such/file" : "/")
            if kind == "closed" { stream.close() }
            return stream
        }
        let loaded = try await get(origin.url(), method: .put, body: body)
        #expect(loaded.error?.domain == .posix)
        #expect(origin.requests.isEmpty)
    }

    /// 100 MiB from a file in both framings, and from a bound pair, to nginx; the reported progress never decreases.
    // Parity: HM-064 (nginx)
    @Test func aLargeUpload() async throws {
        let nginx = try SharedNginx.get()
        let count = 100 << 20
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)").path
        var contents = patterned(1 << 20)
        contents[0] = 99
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let handle = try #require(FileHandle(forWritingAtPath: path))
        for _ in 0..<100 { try handle.write(contentsOf: contents) }
        try handle.close()

        for length in [Int64(count), nil] {
            let name = "/upload/large-\(length == nil ? "chunked" : "length")"
            let stream = try makeStream(
                nginx.url(.plain, name), method: .put, body: .stream(length: length) { ReadStream(path: path) })
            async let loading = load(stream)
            var last: Int64 = 0
            for _ in 0..<2000 where stream.status != .closed {
                let sent = stream[.httpBodyBytesSent] ?? 0
                #expect(sent >= last)
                last = sent
                await Task.yield()
            }
            let loaded = await loading
            #expect(loaded.error == nil)
            #expect(loaded.status == 201)
            #expect(loaded.stream[.httpBodyBytesSent] == Int64(count))
            let sums = try await Command("sha256sum", path, fileOfNginx(nginx, name)).run().text.split(separator: "\n")
            #expect(Set(sums.map { $0.prefix(64) }).count == 1 && sums.count == 2)
        }

        let pair = StreamPair.bound(bufferSize: 10_000)
        try pair.output.open()
        let stream = try makeStream(
            nginx.url(.plain, "/upload/pair"), method: .put, body: .stream(once: pair.input))
        async let loading = load(stream)
        for _ in 0..<10 { try await pair.output.writeAll(contents) }
        pair.output.close()
        #expect(await loading.status == 201)
        #expect(try nginx.read("upload/pair").count == 10 << 20)
    }

    private func fileOfNginx(_ nginx: Nginx, _ name: String) throws -> String {
        let process = try #require(nginx.process.pid)
        let arguments = try String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
        let words = arguments.split(separator: "\0").flatMap { $0.split(separator: " ") }.map(String.init)
        let prefix = try #require(words.firstIndex(of: "-p").map { words[$0 + 1] })
        return "\(prefix)/files\(name)"
    }

    // MARK: Early answers

    /// The server refuses in the middle of the body, and continues to read or not: the client receives its response.
    @Test(arguments: Style.allCases)
    func aRefusalDuringTheUpload(_ style: Style) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.read(100_000)
            try connection.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nno!")
            try connection.readToEnd()
        }
        for isSlow in [false, true] {
            let pair = StreamPair.bound()
            try pair.output.open()
            let body: HTTPBody =
                isSlow ? .stream(once: pair.input) : .stream(length: 1 << 30) { ReadStream(path: "/dev/zero") }
            async let loading = get(server.url(), style, method: .put, body: body) { stream in
                try stream.set(.http(\.keepsConnection), to: true)
            }
            // A source that pauses: the response arrives while there is nothing to send.
            if isSlow { try await pair.output.writeAll(patterned(100_000)) }
            let loaded = try await loading
            #expect(loaded.error == nil)
            #expect(loaded.status == 413)
            #expect(loaded.text == "no!")
            pair.close()
        }
        try await server.finished(connections: 2)
    }

    /// A server that responds while it reads, and stops reading unless its response is read.
    @Test(arguments: Style.allCases)
    func aServerThatRespondsWhileItReads(_ style: Style) async throws {
        let bytes = patterned(3_000_000)
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n")
            for _ in 0..<100 { try connection.send(try connection.read(30_000)) }
        }
        let loaded = try await get(
            server.url(), style, method: .post, body: .stream(length: Int64(bytes.count)) { ReadStream(bytes: bytes) })
        #expect(loaded.error == nil)
        #expect(loaded.body == bytes)
    }

    // MARK: Expect: 100-continue

    private func expecting(_ url: String, _ style: Style, limit: Duration = .seconds(20)) async throws -> Loaded {
        try await get(
            url, style, method: .put, fields: [(.expect, "100-continue")], body: .bytes(Array("body".utf8))
        ) { try $0.set(.http(\.continueTimeout), to: limit) }
    }

    @Test(arguments: Style.allCases)
    func theBodyFollows100Continue(_ style: Style) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 103 Early Hints\r\n\r\n")
            try connection.awaitDelivery()
            try connection.send("HTTP/1.1 100 Continue\r\n\r\n")
            try connection.expect("body")
            try connection.send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        }
        let loaded = try await expecting(server.url(), style)
        #expect(loaded.error == nil)
        #expect(loaded.status == 201)
        #expect(loaded.stream[.httpInterimResponses]?.map(\.status.code) == [103, 100])
        #expect(loaded.stream[.httpBodyBytesSent] == 4)
        try await server.finished()
    }

    @Test(arguments: Style.allCases)
    func aFinalResponseInsteadOf100Continue(_ style: Style) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
            try connection.readToEnd()
        }
        let loaded = try await expecting(server.url(), style)
        #expect(loaded.status == 401)
        #expect(loaded.stream[.httpBodyBytesSent] == 0)
        #expect(try await server.finished().first?.text.hasSuffix("\r\n\r\n") == true)
    }

    @Test(arguments: Style.allCases)
    func theBodyFollowsAfterTheWaitFor100Continue(_ style: Style) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.expect("body")
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let loaded = try await expecting(server.url(), style, limit: .milliseconds(20))
        #expect(loaded.error == nil)
        #expect(loaded.status == 200)
    }

    /// After a 417, the request is repeated without the expectation (RFC 9110 §10.1.1).
    @Test(arguments: Style.allCases)
    func aRequestAfter417HasNoExpectation(_ style: Style) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            let head = try connection.readHead()
            if head.contains("Expect") {
                return try connection.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
            }
            try connection.expect("body")
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let loaded = try await expecting(server.url(), style)
        #expect(loaded.error == nil)
        #expect(loaded.status == 200)
        try await server.finished(connections: 2)
    }
}
