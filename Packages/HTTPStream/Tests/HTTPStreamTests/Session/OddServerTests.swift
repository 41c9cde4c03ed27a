import FoundationEssentials
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// Responses of servers that people meet, which are not quite right, and what a session makes of them.
@Suite(.timeLimit(.minutes(5))) struct OddServerTests {
    private func load(_ response: String) async throws -> (body: String, remaining: String?) {
        let server = try TurnServer([response])
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        let request = try HTTPRequest(
            method: .get, url: #require(URL(string: "http://127.0.0.1:\(server.port)/")))
        let stream = try await HTTPSession(configuration).open(request)
        defer { stream.close() }
        let body = try await stream.readAll(limit: 1000)
        return (String(decoding: body, as: UTF8.self), stream[.httpRemainingContentCoding])
    }

    @Test("chunk sizes padded to four columns") func paddedChunkSizes() async throws {
        let response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5   \r\nhello\r\n0   \r\n\r\n"
        #expect(try await load(response).body == "hello")
    }

    @Test("a radio stream begins with ICY and ends with the connection") func shoutcast() async throws {
        let server = try TurnServer(["ICY 200 OK\r\nicy-name: x\r\nContent-Length: 5\r\n\r\nmusic"])
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let stream = ReadStream(request: try HTTPRequest(method: .get, url: url))
        defer { stream.close() }
        try stream.open()
        #expect(try await stream.readAll(limit: 1000) == Array("music".utf8))
        #expect(stream[.httpResponse]?.status == .ok && stream[.httpResponse]?.fields["icy-name"] == "x")
        #expect(stream[.httpResponse]?.version == .http10)
    }

    @Test("the same length in other digits is refused") func octalLength() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 05\r\n\r\nhello"
        await #expect(throws: StreamError.self) { try await load(head) }
    }

    @Test(
        "codings that cannot be removed are named, and the body is delivered as it is",
        arguments: [
            ("identity", nil), ("None", nil), ("none, identity", nil), (", ,", nil), ("utf-8", "utf-8"),
            ("Compress, identity", "compress"),
            ("gzip, compress", "gzip, compress"),
        ] as [(String, String?)])
    func codings(_ coding: String, _ remaining: String?) async throws {
        let result = try await load(
            "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: 5\r\n\r\nhello")
        #expect(result.body == "hello" && result.remaining == remaining)
    }

    @Test(
        "the body of a redirect or a challenge is not used, so it may be invalid",
        arguments: [
            "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX",
            "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n|hello",
        ],
        ["302 Found\r\nLocation: /b", "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\""])
    func invalidBodyOfAnInterimAnswer(_ rest: String, _ start: String) async throws {
        let server = try TurnServer([
            "HTTP/1.1 \(start)\r\n\(rest)", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        ])
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        let url = try #require(URL(string: "http://u:p@127.0.0.1:\(server.port)/"))
        let stream = try await HTTPSession(configuration).open(try HTTPRequest(method: .get, url: url))
        defer { stream.close() }
        #expect(try await stream.readAll(limit: 1000) == Array("ok".utf8))
    }

    @Test("an invalid body is the error of a read, not of the head before it", arguments: ["", "|"])
    func invalidBodyBehindAHead(_ split: String) async throws {
        let server = try TurnServer([
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\(split)hello"
        ])
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let stream = ReadStream(request: try HTTPRequest(method: .get, url: url))
        defer { stream.close() }
        try stream.set(.http(\.decodesContent), to: true)
        try stream.open()
        #expect(try await stream.response().status == .ok)
        await #expect(throws: StreamError.self) { try await stream.readAll(limit: 1000) }
    }

    /// A server that ends an idle connection with 408 has not seen the request (RFC 9110 §15.5.9).
    @Test(
        "a 408 on a reused connection has crossed the request, which is sent again",
        arguments: [
            (HTTPMethod.get, true, [200, 200], 2), (.get, false, [408], 1), (.post, true, [200, 408], 1),
        ])
    func crossedTimeout(_ method: HTTPMethod, _ isReused: Bool, _ statuses: [Int], _ connections: Int) async throws {
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let late = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlate"
        let server = try TurnServer(isReused ? [ok, late, ok] : [late, ok])
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        let session = HTTPSession(configuration)
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        var found: [Int] = []
        for _ in statuses {
            let stream = try await session.open(try HTTPRequest(method: method, url: url))
            let body = try await stream.readAll(limit: 1000)
            let status = stream[.httpResponse]?.status.code ?? 0
            #expect(body == Array((status == 200 ? "ok" : "late").utf8))
            found.append(status)
            stream.close()
        }
        #expect(found == statuses && server.connections == connections)
    }
}
