import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Threads that wait in a load, and the calls that are possible meanwhile.
@Suite(.serialized) struct WaitingTests {
    /// Polling a stream takes no bytes from the thread that waits for it, and does not disturb it.
    @Test(arguments: [false, true])
    func pollingDuringABlockedRead(_ isChunked: Bool) async throws {
        let body = patterned(3_000)
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
            var answer = Array("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n".utf8)
            answer += isChunked ? Array("bb8\r\n".utf8) + body + Array("\r\n0\r\n\r\n".utf8) : body
            try connection.send(answer, inPiecesOf: 7)
        }
        let stream = try makeStream(server.url())
        async let loaded = load(stream, .blocking)
        while stream.status != .closed, stream.status != .error, !Task.isCancelled {
            _ = stream.hasBytesAvailable
            await Task.yield()
        }
        #expect(await loaded.error == nil)
        #expect(await loaded.body == body)
    }

    /// Properties can be read while a thread waits.
    @Test func propertiesDuringABlockedRead() async throws {
        let go = Signal()
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
            try connection.wait(for: go)
            try connection.send("cd")
        }
        let stream = try makeStream(server.url())
        try stream.open()
        #expect(try await stream.read(upTo: 10) == Array("ab".utf8))
        async let rest = onThread { Result { try stream.read(upTo: 10) } }
        while stream.status != .reading, !Task.isCancelled { await Task.yield() }
        for _ in 0..<100 {
            #expect(stream[.httpResponse]?.status == .ok)
            #expect(stream[.httpBodyLength] == 4)
            #expect(!stream.hasBytesAvailable)
        }
        go.fire()
        #expect(try await rest.get() == Array("cd".utf8))
        stream.close()
    }
}
